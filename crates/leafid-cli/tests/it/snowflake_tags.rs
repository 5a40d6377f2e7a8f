//! Guards tags of kind snowflake on the real binary, through a server and directly on its store.

use std::collections::HashSet;

use leafid::Layout;
use serde_json::json;
use tempfile::tempdir;

use crate::server_process::{Server, run};

#[test]
fn a_snowflake_tag_issues_through_a_server_only() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &["--data-dir", "ids"]);
    let place = ["--server", &server.url];
    let leafid = |words: &[&str]| run(folder.path(), &[words, &place].concat());
    let create = ["tag", "create", "trace", "--kind", "snowflake"];
    let created = leafid(&create).ok();
    assert!(created.contains("kind            snowflake"), "{created}");
    assert!(!created.contains("step"), "{created}");
    leafid(&["tag", "create", "order"]).ok();
    let listed = leafid(&["tag", "list"]).ok();
    assert!(
        listed.contains("segment") && listed.contains("snowflake"),
        "{listed}"
    );

    // The server may not have its worker id yet; the call waits for it.
    let taken = leafid(&["next", "trace", "-n", "25000"]).ok();
    let ids: HashSet<u64> = taken.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(ids.len(), 25_000);
    let (_, own) = server.get("/v1/worker");
    let own: serde_json::Value = serde_json::from_str(&own).unwrap();
    let workers: HashSet<u32> = ids
        .iter()
        .map(|id| Layout::LEAF.decompose(*id).worker.get())
        .collect();
    assert_eq!(json!(workers), json!([own["worker"]]));

    let both = [&create[..], &["--step", "5"]].concat();
    leafid(&both).check_failed(2, "have no step", "--step");
    leafid(&["tag", "create", "x", "--kind", "uuid"]).check_usage();
    server.stop();

    let on_store = |words: &[&str]| run(folder.path(), &[words, &["--data-dir", "ids"]].concat());
    let next = on_store(&["next", "trace"]);
    next.check_failed(1, "only a running server makes", "--server");
    let set = on_store(&["tag", "set", "trace", "--step", "5"]);
    set.check_failed(2, "have no step", "--step");
    let shown = on_store(&["tag", "show", "trace", "--json"]).json();
    assert_eq!(
        (&shown["kind"], &shown["max_id"]),
        (&json!("snowflake"), &json!(null))
    );
}
