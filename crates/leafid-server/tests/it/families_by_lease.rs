//! Guards that TSID and CosId on a store for several servers take their bits for a server from its
//! lease: two servers make no two alike, and without a fitting lease the kinds are refused.

use std::collections::HashSet;
use std::sync::Arc;

use leafid::store::{LeaseStore, MemoryJournal, MemoryLeaseStore, MemoryStore};
use leafid::{Family, Layout, RegistryStage, WorkerChoice};
use leafid_formats::decode;
use leafid_server::{Config, Limits, Workers};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::test_server::{TestServer, eventually};

/// On a store that counts as one for several servers.
fn server(
    store: &Arc<MemoryStore>,
    leases: Option<&Arc<MemoryLeaseStore>>,
    layout: Layout,
) -> TestServer {
    let mut config = Config {
        store: vec!["mysql://db/leaf".to_owned()],
        allow_weak_store: true,
        ..Config::default()
    };
    config.workers.layout = layout;
    let workers = leases.map(|leases| Workers {
        leases: Some(Arc::clone(leases) as Arc<dyn LeaseStore>),
        journal: Arc::new(MemoryJournal::new()),
        choice: WorkerChoice::Any,
        preferred: None,
        worker_node: None,
    });
    let has_workers = workers.is_some();
    let (runtime, store) = (Runtime::new().unwrap(), Arc::clone(store));
    let server = TestServer::with_workers(runtime, &config, Limits::default(), store, workers);
    server.wait_until_ready();
    eventually("holding", || {
        let status = server.service.worker_status();
        let is_held = |stage| matches!(stage, RegistryStage::Holding { .. });
        !has_workers || status.is_some_and(|status| is_held(status.stage))
    });
    server
}

fn create(server: &TestServer, kind: &str) -> u16 {
    let body = json!({"tag": kind, "kind": kind}).to_string();
    server.ask_with("POST /v1/tags", &body).status
}

#[test]
fn two_servers_make_no_two_alike() {
    let (store, leases) = (Arc::default(), Arc::default());
    let servers = [(), ()].map(|()| server(&store, Some(&leases), Layout::LEAF));
    let node = |server: &TestServer| {
        let lease = server.service.worker_status().unwrap().lease.unwrap();
        lease.worker.to_string()
    };
    assert_ne!(node(&servers[0]), node(&servers[1]));
    for (family, part) in [(Family::Tsid, "node"), (Family::CosId, "machine")] {
        let name = family.name();
        assert_eq!(create(&servers[0], name), 201);
        let mut all = HashSet::new();
        for server in &servers {
            let ids = server
                .ask(&format!("GET /v1/tags/{name}/ids?count=5000"))
                .json();
            let ids = ids["ids"].as_array().unwrap().iter();
            let ids: Vec<String> = ids.map(|id| id.as_str().unwrap().to_owned()).collect();
            assert!(ids.is_sorted_by(|a, b| a < b), "{name}");
            for id in &ids {
                let decoded = decode(family, id).unwrap();
                let found = decoded.part(part).map(ToString::to_string);
                assert_eq!(found, Some(node(server)), "{id}");
            }
            all.extend(ids);
        }
        assert_eq!(all.len(), 10_000, "{name}");
    }
}

#[test]
fn without_a_lease_that_fits_they_are_refused() {
    let (store, leases) = (Arc::default(), Arc::default());
    let no_registry = server(&store, None, Layout::LEAF);
    assert_ne!(create(&no_registry, "tsid"), 201);
    let wide = server(&store, Some(&leases), Layout::WIDE);
    assert_ne!(create(&wide, "tsid"), 201);
    assert_ne!(create(&wide, "cosid"), 201);
    assert_eq!(create(&wide, "ulid"), 201);
}
