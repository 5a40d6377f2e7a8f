//! Guards never-twice for worker ids: a registry that could lose a lease is refused, with the
//! setting to change, while segment ids continue.

use std::sync::Arc;

use leafid::store::{MemoryJournal, MemoryLeaseStore};
use leafid::{RegistryStage, WorkerChoice};
use leafid_server::{Config, Limits, Workers};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::test_server::{TestServer, eventually};

/// A server, and the folder of its segments.
fn server(allow_weak_store: bool) -> (TestServer, TempDir) {
    let config = Config {
        allow_weak_store,
        ..Config::default()
    };
    // A store in memory is weak, and a registry there too.
    let workers = Workers {
        leases: Some(Arc::new(MemoryLeaseStore::new())),
        journal: Arc::new(MemoryJournal::new()),
        choice: WorkerChoice::Any,
        preferred: None,
        worker_node: None,
    };
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = leafid_stores::StoreUrl::sqlite(folder.path().join("leafid.db"));
    let options = leafid_stores::StoreOptions::default();
    let store = runtime.block_on(leafid_stores::open(&url, &options));
    let server = TestServer::with_workers(
        runtime,
        &config,
        Limits::default(),
        store.unwrap(),
        Some(workers),
    );
    (server, folder)
}

fn stage(server: &TestServer) -> RegistryStage {
    server.service.worker_status().unwrap().stage
}

#[test]
fn a_weak_registry_is_refused_and_segments_continue() {
    let (server, _folder) = server(false);
    server.wait_until_ready();
    eventually("refused", || {
        matches!(stage(&server), RegistryStage::Refused { .. })
    });
    let reply = server.ask("GET /api/snowflake/get/x");
    assert_eq!(reply.status, 500);
    for part in [
        "could give a worker id twice",
        "set allow-weak-store = true",
    ] {
        assert!(reply.body.contains(part), "{part}: {reply:?}");
    }
    assert_eq!(server.ask("GET /v1/tags").status, 200);
}

#[test]
fn a_weak_registry_is_used_where_that_is_allowed() {
    let (server, _folder) = server(true);
    server.wait_until_ready();
    eventually("holding", || {
        matches!(stage(&server), RegistryStage::Holding { .. })
    });
    assert_eq!(server.ask("GET /api/snowflake/get/x").status, 200);
}
