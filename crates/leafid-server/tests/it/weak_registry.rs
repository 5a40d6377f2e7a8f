//! Guards never-twice L0 for worker ids: a registry that may forget is refused, with the setting
//! to change, while segments go on.

use std::sync::Arc;

use leafid::store::{MemoryJournal, MemoryLeaseStore};
use leafid::{RegistryStage, WorkerChoice};
use leafid_server::{Config, Limits, Workers};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::test_server::{TestServer, eventually};

/// A server, and the folder of its segments.
fn site(allow_weak_store: bool) -> (TestServer, TempDir) {
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
    };
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = leafid_stores::StoreUrl::sqlite(folder.path().join("leafid.db"));
    let options = leafid_stores::StoreOptions::default();
    let store = runtime.block_on(leafid_stores::open(&url, &options));
    let site = TestServer::with_workers(
        runtime,
        &config,
        Limits::default(),
        store.unwrap(),
        Some(workers),
    );
    (site, folder)
}

fn stage(site: &TestServer) -> RegistryStage {
    site.service.worker_status().unwrap().stage
}

#[test]
fn a_weak_registry_is_refused_and_segments_go_on() {
    let (site, _folder) = site(false);
    site.wait_until_ready();
    eventually("refused", || {
        matches!(stage(&site), RegistryStage::Refused { .. })
    });
    let reply = site.ask("GET /api/snowflake/get/x");
    assert_eq!(reply.status, 500);
    for part in [
        "could give a worker id twice",
        "set allow-weak-store = true",
    ] {
        assert!(reply.body.contains(part), "{part}: {reply:?}");
    }
    assert_eq!(site.ask("GET /v1/tags").status, 200);
}

#[test]
fn a_weak_registry_is_used_where_that_is_allowed() {
    let (site, _folder) = site(true);
    site.wait_until_ready();
    eventually("holding", || {
        matches!(stage(&site), RegistryStage::Holding { .. })
    });
    assert_eq!(site.ask("GET /api/snowflake/get/x").status, 200);
}
