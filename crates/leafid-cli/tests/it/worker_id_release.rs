//! Guards that a server that is stopped gives its worker id back every time, even under load, and
//! after admins have just used the registry through each of its threads: the next server gets it at
//! once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use leafid_testbed::{shared_mariadb, shared_postgres, shared_redis};
use tempfile::tempdir;

use crate::server_process::{Server, run, until};
use crate::snowflake_load::{Callers, check_unique};

/// How often a server is stopped.
const STOPS: usize = 12;
/// Connections of admins, enough for each thread of the server to have some.
const OPERATORS: usize = 8;

/// Waits until a server holds a worker id.
fn wait_until_it_holds(server: &Server) {
    until("worker id", || {
        (server.json("/v1/worker")["stage"] == "holding").then_some(())
    });
}

/// Lists all worker ids, over connections of its own, until told to end.
fn operate(server: &Server, is_over: &AtomicBool) {
    let url = format!("{}/v1/workers", server.url);
    let agent = ureq::Agent::new_with_defaults();
    while !is_over.load(Ordering::Relaxed) {
        // The end of the server is not an error.
        if let Ok(mut answer) = agent.get(&url).call() {
            let _ = answer.body_mut().read_to_string();
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn check(kind: &str, registry: &str) {
    let mut given = Vec::new();
    for _ in 0..STOPS {
        // Without the journal of the previous server, with which it would get the worker id anyway.
        let folder = tempdir().unwrap();
        let arguments = ["--segment=false", "--threads", "4", "--worker-id", "5"];
        let arguments = [&arguments[..], &["--registry", registry]].concat();
        let mut server = Server::start_unready(folder.path(), &arguments);
        wait_until_it_holds(&server);
        let callers = Callers::start(&server);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..OPERATORS {
                scope.spawn(|| operate(&server, &is_over));
            }
            callers.wait_for_ids(2000);
            server.signal("TERM");
            until("end", || server.try_get("/livez").is_err().then_some(()));
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(server.wait().code(), Some(0), "{}", server.log());
        let log = server.log();
        assert!(log.contains("worker id given back"), "{kind}: {log}");
        given.extend(callers.stop().given);
    }
    println!("{kind}: {STOPS} stops, {} ids", check_unique(&given));
}

#[test]
fn a_server_that_is_stopped_under_load_gives_its_worker_id_back() {
    let initialised = |url: String| {
        run(
            tempdir().unwrap().path(),
            &["store", "init", "--store", &url],
        )
        .ok();
        url
    };
    let mariadb = initialised(shared_mariadb().create_database().url);
    let postgres = initialised(shared_postgres().create_database().url);
    let redis = shared_redis().create_database().url;
    thread::scope(|scope| {
        scope.spawn(|| check("mariadb", &mariadb));
        scope.spawn(|| check("postgres", &postgres));
        scope.spawn(|| check("redis", &redis));
    });
}
