//! Guards backup and restore of the embedded store, on the real binary: no issued id repeats.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use leafid_testbed::{shared_mariadb, shared_postgres};
use tempfile::tempdir;

use crate::server_process::{Run, Server, ids, run};

const FIXED: [&str; 2] = ["--policy=fixed", "--step=1000"];
const BATCH: &str = "/v1/tags/order/ids?count=1000";

fn next(folder: &Path, tag: &str, store: &[&str]) -> Run {
    run(folder, &[&["next", tag], store].concat())
}

fn take(server: &Server, given: &mut HashSet<u64>, batches: usize) {
    for _ in 0..batches {
        for id in ids(&server.get(BATCH).1) {
            assert!(given.insert(id), "{id} came twice");
        }
    }
}

/// Guards the obvious copy: that of the file alone, after a stop.
#[test]
fn after_a_clean_stop_the_file_alone_is_the_store() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &FIXED);
    let mut given = HashSet::new();
    take(&server, &mut given, 5);
    server.stop();
    let check = |name: &str| {
        let copy = folder.path().join(name);
        fs::copy(folder.path().join("leafid-data/leafid.db"), &copy).unwrap();
        let store = format!("sqlite:{}", copy.display());
        let id: u64 = next(folder.path(), "order", &["--store", &store])
            .ok()
            .trim()
            .parse()
            .unwrap();
        id
    };
    let id = check("copy.db");
    assert!(!given.contains(&id), "{id} came twice");
    // The same for a command that needs no server.
    let own: u64 = next(folder.path(), "order", &["--data-dir", "leafid-data"])
        .ok()
        .trim()
        .parse()
        .unwrap();
    assert!(check("other.db") > own);
}

/// Guards a store that is reached through a link: the restored file is the one that all use.
#[test]
fn a_copy_comes_back_behind_a_link() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    for name in ["a", "b"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    let [real, link] = ["a/leafid.db", "b/leafid.db"].map(|path| folder.join(path));
    assert_eq!(next(folder, "order", &["--data-dir", "a"]).ok(), "1\n");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let own = ["--data-dir", "b"];
    run(
        folder,
        &[&["store", "backup", "copy.db"], &own[..]].concat(),
    )
    .ok();
    let restore = ["store", "restore", "copy.db", "--margin", "100"];
    run(folder, &[&restore[..], &own].concat()).ok();
    assert!(link.is_symlink(), "the link was replaced");
    let last: u64 = next(folder, "order", &own).ok().trim().parse().unwrap();
    let real: u64 = next(folder, "order", &["--data-dir", "a"])
        .ok()
        .trim()
        .parse()
        .unwrap();
    assert!(real > last && last > 100, "{real} after {last}");
}

/// Guards the whole procedure: a backup beside a server under load, ids after it, the loss of the
/// folder.
#[test]
fn a_copy_brought_back_gives_no_id_twice() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &FIXED);
    let mut given = HashSet::new();
    take(&server, &mut given, 5);
    let backup = run(folder.path(), &["store", "backup", "monday.db"]).ok();
    assert!(backup.contains("with 1 tags to monday.db"), "{backup}");
    let copy = folder.path().join("monday.db");
    let mode = fs::metadata(&copy).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    take(&server, &mut given, 5);
    let (status, _) = server.get("/v1/tags/later/ids?count=1000");
    assert_eq!(status, 200);
    let again = run(folder.path(), &["store", "backup", "monday.db"]);
    again.check_failed(1, "monday.db", "");
    let restore = ["store", "restore", "monday.db", "--margin", "20000"];
    run(folder.path(), &restore).check_failed(1, "stop it first", "");
    take(&server, &mut given, 1);
    server.kill();

    fs::remove_dir_all(folder.path().join("leafid-data")).unwrap();
    let told = run(folder.path(), &restore).ok();
    println!("{told}");
    assert!(told.contains("raised order: from "), "{told}");
    assert!(told.contains("no former file"), "{told}");
    let server = Server::start(folder.path(), &FIXED);
    take(&server, &mut given, 5);
    // A tag that is not in the backup starts above the margin too.
    assert_eq!(server.get("/api/segment/get/later").1, "20001");
    server.stop();
}

/// Guards that an existing file is taken into account, whatever the margin is, and is kept, even
/// when it is its own copy.
#[test]
fn the_former_file_is_kept_and_counts() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &FIXED);
    let mut given = HashSet::new();
    take(&server, &mut given, 2);
    run(folder.path(), &["store", "backup", "monday.db"]).ok();
    take(&server, &mut given, 8);
    assert_eq!(server.get("/api/segment/get/later").1, "1");
    server.stop();
    for (copy, aside) in [
        ("monday.db", "before-1"),
        ("leafid-data/leafid.db", "before-2"),
    ] {
        let told = run(folder.path(), &["store", "restore", copy, "--margin", "1"]).ok();
        assert!(told.contains(aside) && told.contains("had all"), "{told}");
        let server = Server::start(folder.path(), &FIXED);
        take(&server, &mut given, 3);
        let later: u64 = server.get("/api/segment/get/later").1.parse().unwrap();
        assert!(later > 1000, "{later}");
        server.stop();
    }
    let former = folder.path().join("leafid-data/leafid.db.before-1");
    assert!(former.exists());
}

/// Guards that a tag which became a snowflake tag after the copy was made does not come back as a
/// segment tag, deleted or not.
#[test]
fn a_snowflake_tag_does_not_come_back_as_a_segment_tag() {
    let folder = tempdir().unwrap();
    let leafid = |words: &[&str]| {
        let place = ["--data-dir", "leafid-data"];
        run(folder.path(), &[words, &place].concat())
    };
    leafid(&["tag", "create", "trace"]).ok();
    leafid(&["store", "backup", "monday.db"]).ok();
    for tag in ["trace", "span"] {
        if tag == "trace" {
            leafid(&["tag", "delete", tag]).ok();
        }
        leafid(&["tag", "create", tag, "--kind", "snowflake"]).ok();
    }
    leafid(&["tag", "delete", "span"]).ok();
    leafid(&["store", "restore", "monday.db", "--margin", "1"]).ok();
    let shown = leafid(&["tag", "show", "trace", "--json"]).json();
    assert_eq!(shown["kind"], "snowflake");
    let span = leafid(&["tag", "create", "span"]);
    span.check_failed(1, "had the kind snowflake", "");
    leafid(&["tag", "create", "span", "--kind", "snowflake"]).ok();
}

/// Guards the restore after a copy was put in place by hand, and of a damaged one.
#[test]
fn what_is_no_copy_changes_nothing() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &FIXED);
    let mut given = HashSet::new();
    take(&server, &mut given, 2);
    server.stop();
    fs::write(folder.path().join("text"), "x".repeat(5000)).unwrap();
    let restore = |copy: &str| run(folder.path(), &["store", "restore", copy]);
    restore("text").check_failed(1, "not a complete copy of a store", "");
    restore("nothing.db").check_failed(1, "not a complete copy of a store", "");
    let server = Server::start(folder.path(), &FIXED);
    take(&server, &mut given, 2);
    server.stop();
}

/// Guards that a worker id cannot be claimed within a lease that was extended after the backup.
#[test]
fn worker_ids_stay_taken_for_as_long_as_a_lease() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &["--segment=false"]);
    run(folder.path(), &["store", "backup", "monday.db"]).ok();
    let held = server.json("/v1/worker")["worker"].as_u64().unwrap();
    server.kill();
    fs::remove_dir_all(folder.path().join("leafid-data")).unwrap();
    run(folder.path(), &["store", "restore", "monday.db"]).ok();
    let server = Server::start(folder.path(), &["--segment=false"]);
    let now = server.json("/v1/worker")["worker"].as_u64().unwrap();
    assert!(now > held + 30, "{held}, then {now}");
    server.stop();
}

/// Guards that a tag can be raised above ids that were issued elsewhere, and never lowered, in
/// every store and through a server.
#[test]
fn a_tag_is_raised_and_never_lowered() {
    let folder = tempdir().unwrap();
    let stores = [
        format!("sqlite:{}/ids.db", folder.path().display()),
        shared_mariadb().create_database().url,
        shared_postgres().create_database().url,
    ];
    for store in &stores {
        run(folder.path(), &["store", "init", "--store", store]).ok();
        let tag = |words: &[&str]| {
            let words = [&["tag"], words, &["order", "--store", store]].concat();
            run(folder.path(), &words)
        };
        tag(&["create"]).ok();
        assert!(tag(&["set", "--next", "5000"]).ok().contains("from 5000"));
        tag(&["set", "--next", "5000"]).check_failed(1, "can only be raised", "");
        let behind = tag(&["set", "--step", "77", "--next", "4000"]);
        behind.check_failed(1, "can only be raised", "");
        let beyond = tag(&["set", "--limit", "9999", "--next", "10001"]);
        beyond.check_failed(1, "its limit is 9999", "");
        let row = tag(&["show", "--json"]).ok();
        assert!(
            row.contains("\"step\":1000,") && !row.contains("9999"),
            "{store}: {row}"
        );
        assert_eq!(
            next(folder.path(), "order", &["--store", store]).ok(),
            "5000\n"
        );
        let server = Server::start(folder.path(), &["--store", store]);
        let raise = |next: &str| {
            let words = [
                "tag",
                "set",
                "order",
                "--next",
                next,
                "--server",
                &server.url,
            ];
            run(folder.path(), &words)
        };
        assert!(raise("9000").ok().contains("from 9000"), "{store}");
        raise("8000").check_failed(1, "can only be raised", "");
        assert_eq!(server.get("/api/segment/get/order").1, "9000", "{store}");
        server.stop();
    }
}
