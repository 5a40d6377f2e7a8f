//! Guards the move from Leaf: its own file starts us, and we share its table with it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use leafid_testbed::{Database, JavaLeaf, LEAF_ALLOC, LEAF_ALLOC_SURROGATE, shared_mariadb};
use tempfile::tempdir;

use crate::server_process::{Server, ids, run};

/// A database with Leaf's table and one tag, as Leaf's own instructions make it.
fn leaf_database(table: &str) -> Database {
    let database = shared_mariadb().create_database();
    let insert = "INSERT INTO leaf_alloc (biz_tag, max_id, step) \
                  VALUES ('leaf-segment-test', 1, 2000)";
    shared_mariadb().sql(&database.name, &format!("{table}; {insert}"));
    database
}

/// Leaf's own file for that database, with a password as Java wants it.
fn write_leaf_properties(folder: &Path, database: &Database) {
    let port = shared_mariadb().port();
    let [password, _] = shared_mariadb().passwords();
    let password = password.replace('\\', "\\\\");
    let text = format!(
        "leaf.name=com.sankuai.leaf.opensource.test\n\
         leaf.segment.enable = true\n\
         leaf.jdbc.url: jdbc:mysql://127.0.0.1:{port}/{}?useUnicode=true\\\n    \
         &characterEncoding=utf8&useSSL=false\n\
         leaf.jdbc.username leafid\n\
         leaf.jdbc.password={password}\n\n\
         leaf.snowflake.enable=true\n\
         #leaf.snowflake.zk.address=\n\
         #leaf.snowflake.port=\n",
        database.name
    );
    std::fs::write(folder.join("leaf.properties"), text).unwrap();
}

#[test]
fn a_server_starts_from_leafs_own_file() {
    for table in [LEAF_ALLOC, LEAF_ALLOC_SURROGATE] {
        let folder = tempdir().unwrap();
        let database = leaf_database(table);
        write_leaf_properties(folder.path(), &database);
        let flags = ["--leaf-properties", "leaf.properties"];
        let server = Server::start(folder.path(), &flags);
        for expected in ["1", "2", "3"] {
            let answer = server.get("/api/segment/get/leaf-segment-test");
            assert_eq!(answer, (200, expected.to_owned()));
        }
        // No tag is created on first use; a snowflake id takes any key.
        assert_eq!(server.get("/api/segment/get/other").0, 500);
        assert_eq!(server.get("/api/snowflake/get/other").0, 200);
        let log = server.log();
        assert!(log.contains("without leaf.snowflake.zk.address"), "{log}");
        assert!(log.contains("characterEncoding"), "{log}");
        server.stop();
        let next = [&["next", "leaf-segment-test"], &flags[..]].concat();
        assert_eq!(run(folder.path(), &next).ok(), "2001\n");
        let show = [&["config", "show", "--origin"], &flags[..]].concat();
        let shown = run(folder.path(), &show).ok();
        assert!(shown.contains("# leaf.properties:3"), "{shown}");
        assert!(shown.contains("policy = \"leaf\""), "{shown}");
    }
}

/// Guards the move to a registry that never saw Java Leaf: the number recorded on this machine is
/// kept, and an unreadable record prevents no start.
#[test]
fn the_number_that_leaf_noted_down_is_a_hint() {
    let folder = tempdir().unwrap();
    let text = "leaf.name=leaf.test\nleaf.snowflake.enable=true\nleaf.snowflake.port=8080\n";
    std::fs::write(folder.path().join("leaf.properties"), text).unwrap();
    let tmp = folder.path().join("tmp");
    let noted = tmp.join("leaf.test/leafconf/8080");
    std::fs::create_dir_all(&noted).unwrap();
    let start = |own, note| {
        std::fs::write(noted.join("workerID.properties"), note).unwrap();
        let own = ["--leaf-properties", "leaf.properties", "--data-dir", own];
        Server::start_with(folder.path(), &own, &[("TMPDIR", tmp.to_str().unwrap())])
    };
    let worker = |server: &Server| {
        let answer: serde_json::Value = serde_json::from_str(&server.get("/v1/worker").1).unwrap();
        answer["worker"].as_u64()
    };
    let server = start("a", "#a comment\nworkerID=7\n");
    assert_eq!(worker(&server), Some(7), "{}", server.log());
    server.stop();
    // Now its journal knows better.
    let again = start("a", "workerID=8");
    assert_eq!(worker(&again), Some(7), "{}", again.log());
    again.stop();
    let broken = start("b", "workerID=seven");
    assert_eq!(worker(&broken), Some(0));
    let log = broken.log();
    assert!(log.contains("leafconf/8080/workerID.properties"), "{log}");
    broken.stop();
}

/// Ids of each caller.
const IDS_PER_CALLER: u64 = 1_000_000;
/// Callers of each of the two servers, and of the stand-in for Java Leaf.
const CALLERS: [usize; 3] = [7, 7, 2];
const BATCH: u64 = 1000;
/// Every few batches an id is taken singly, through Leaf's own API.
const BATCHES_PER_SINGLE: u64 = 10;
const TAG: &str = "leaf-segment-test";

/// One bit for each number: whether it was issued.
struct Given {
    words: Vec<AtomicU64>,
}

impl Given {
    fn new(largest: usize) -> Self {
        let words = (0..=largest / 64).map(|_| AtomicU64::new(0)).collect();
        Self { words }
    }

    /// `false` if it was issued before.
    fn insert(&self, id: u64) -> bool {
        let word = &self.words[usize::try_from(id / 64).unwrap()];
        let bit = 1 << (id % 64);
        word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    fn len(&self) -> u64 {
        let ones = |word: &AtomicU64| u64::from(word.load(Ordering::Relaxed).count_ones());
        self.words.iter().map(ones).sum()
    }
}

/// Guards the main promise on a shared table: two servers and a stand-in for Java Leaf (Leaf's
/// very statements), 16 callers, a million ids each: no id twice, each server ascending.
#[test]
fn two_servers_and_java_leaf_share_a_table_without_a_duplicate() {
    let folder = tempdir().unwrap();
    let database = leaf_database(LEAF_ALLOC);
    let start = |own| {
        let own = ["--data-dir", own, "--store", &database.url];
        Server::start(folder.path(), &own)
    };
    let servers = [start("a"), start("b")];
    // Far more numbers than are requested: segments in memory at the end are gaps.
    let given = Given::new(1 << 28);
    thread::scope(|scope| {
        let given = &given;
        for (server, callers) in servers.iter().zip(CALLERS) {
            for _ in 0..callers {
                scope.spawn(|| call_server(server, given));
            }
        }
        for _ in 0..CALLERS[2] {
            scope.spawn(|| call_java_leaf(&database.url, given));
        }
    });
    let callers: usize = CALLERS.iter().sum();
    assert_eq!(callers, 16);
    assert_eq!(
        given.len(),
        IDS_PER_CALLER * u64::try_from(callers).unwrap()
    );
    for server in servers {
        let series = metrics(&server.get("/metrics").1);
        assert!(series.values().all(|value| value.is_finite()), "{series:?}");
        server.stop();
    }
}

fn call_server(server: &Server, given: &Given) {
    let mut last = 0;
    let mut take = |path: &str| {
        let (status, body) = server.get(path);
        assert_eq!(status, 200, "{body}");
        let taken = if body.starts_with('{') {
            ids(&body)
        } else {
            vec![body.parse().unwrap()]
        };
        for id in &taken {
            assert!(*id > last, "{id} after {last}: not ascending");
            assert!(given.insert(*id), "{id} came twice");
            last = *id;
        }
        u64::try_from(taken.len()).unwrap()
    };
    let (mut missing, mut batches) = (IDS_PER_CALLER, 0);
    while missing > 0 {
        batches += 1;
        missing -= if batches % BATCHES_PER_SINGLE == 0 {
            take(&format!("/api/segment/get/{TAG}"))
        } else {
            take(&format!("/v1/tags/{TAG}/ids?count={}", missing.min(BATCH)))
        };
    }
}

fn call_java_leaf(url: &str, given: &Given) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut leaf = runtime.block_on(JavaLeaf::connect(url)).unwrap();
    let mut missing = IDS_PER_CALLER;
    while missing > 0 {
        let segment = runtime.block_on(leaf.take(TAG)).unwrap();
        for id in segment.take(usize::try_from(missing).unwrap()) {
            assert!(given.insert(id), "{id} came twice");
            missing -= 1;
        }
    }
}

/// Guards never-twice on a restored backup: `max_id` is lowered under a running server. No id
/// repeats, and there is one alarm, in the log and in the metrics.
#[test]
fn a_restored_table_raises_one_alarm_and_repeats_no_id() {
    let folder = tempdir().unwrap();
    let database = leaf_database(LEAF_ALLOC);
    let flags = ["--store", &database.url, "--regression-margin", "100000"];
    let server = Server::start(folder.path(), &flags);
    let given = Given::new(1 << 25);
    let take = |batches: usize| {
        for _ in 0..batches {
            let (status, body) = server.get(&format!("/v1/tags/{TAG}/ids?count=500"));
            assert_eq!(status, 200, "{body}");
            for id in ids(&body) {
                assert!(given.insert(id), "{id} came twice");
            }
        }
    };
    take(20);
    shared_mariadb().sql(&database.name, "UPDATE leaf_alloc SET max_id = 1");
    take(400);
    let series = metrics(&server.get("/metrics").1);
    assert_eq!(series["leafid_store_regressions_total"], 1.0);
    let log = server.log();
    assert_eq!(
        log.matches("the store went back in time").count(),
        1,
        "{log}"
    );
    server.stop();
}

/// Series and their values.
fn metrics(text: &str) -> HashMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let series = lines.filter_map(|line| line.rsplit_once(' '));
    series
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

/// Guards the checker itself: it must see a duplicate.
#[test]
fn the_checker_sees_a_duplicate() {
    let given = Given::new(1000);
    assert!(given.insert(64) && given.insert(65) && given.insert(1000));
    assert!(!given.insert(65));
    assert_eq!(given.len(), 3);
}
