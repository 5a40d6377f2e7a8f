//! A million tags in the table, a thousand in use: start-up, memory, statements.

use std::thread;
use std::time::{Duration, Instant};

use leafid_testbed::{LEAF_ALLOC, MariaDb};

use crate::serve::{Serve, get};

const TAGS: u32 = 1_000_000;
const IN_USE: u32 = 1000;
const WATCHED: Duration = Duration::from_secs(180);

pub(crate) fn run() {
    let database = MariaDb::start();
    let few = measure(&database, IN_USE);
    let many = measure(&database, TAGS);
    println!("| | {IN_USE} tags in the table | {TAGS} tags in the table |");
    println!("| --- | --- | --- |");
    println!(
        "| start to first id, ms | {:.1} | {:.1} |",
        few.start_ms, many.start_ms
    );
    println!(
        "| resident after the start, KiB | {} | {} |",
        few.fresh_kib, many.fresh_kib
    );
    println!(
        "| resident with {IN_USE} in use, KiB | {} | {} |",
        few.used_kib, many.used_kib
    );
    println!(
        "| statements a minute | {:.1} | {:.1} |",
        few.a_minute, many.a_minute
    );
    let idle = f64::from(TAGS - IN_USE);
    let bytes = |kib: u64| f64::from(u32::try_from(kib).expect("less than 4 TiB")) * 1024.0;
    let added = bytes(many.used_kib) - bytes(few.used_kib);
    let used = bytes(many.used_kib) - bytes(many.fresh_kib);
    println!("\nmemory an idle tag: {:.3} bytes", added / idle);
    println!(
        "memory a tag in use, connections and all: {:.0} bytes",
        used / f64::from(IN_USE)
    );
}

struct Figures {
    start_ms: f64,
    fresh_kib: u64,
    used_kib: u64,
    a_minute: f64,
}

fn measure(database: &MariaDb, tags: u32) -> Figures {
    let name = database.create_database().name;
    database.sql(&name, LEAF_ALLOC);
    let rows = format!(
        "INSERT INTO leaf_alloc (biz_tag, max_id, step) \
         SELECT CONCAT('tag-', seq), 1, 100000 FROM seq_0_to_{}",
        tags - 1
    );
    database.sql(&name, &rows);
    let serve = Serve::start(&["--store", &database.url(&name)]);
    let start_ms = serve.first_answer("/api/segment/get/tag-0").as_secs_f64() * 1e3;
    let fresh_kib = serve.resident_kib();
    use_all(&serve);
    let used_kib = serve.resident_kib();
    let before = statements(database);
    let started = Instant::now();
    while started.elapsed() < WATCHED {
        use_all(&serve);
        thread::sleep(Duration::from_secs(5));
    }
    let minutes = started.elapsed().as_secs_f64() / 60.0;
    let a_minute = (statements(database) - before) / minutes;
    Figures {
        start_ms,
        fresh_kib,
        used_kib,
        a_minute,
    }
}

fn use_all(serve: &Serve) {
    for tag in 0..IN_USE {
        let answer = get(serve.address, &format!("/api/segment/get/tag-{tag}"));
        assert!(
            answer.is_some_and(|answer| answer.starts_with("HTTP/1.1 200")),
            "tag-{tag}"
        );
    }
}

/// Statements that the database ran for clients, the one that asks included.
fn statements(database: &MariaDb) -> f64 {
    let names = "'Com_select','Com_update','Com_insert','Com_delete','Com_begin','Com_commit',\
                 'Com_set_option'";
    let query = format!(
        "SELECT SUM(VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS \
         WHERE VARIABLE_NAME IN ({names})"
    );
    let text = database.sql("mysql", &query);
    text.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .next_back()
        .expect("a number")
}
