//! The table of ns4_gear_idgen as a store, beside its programs.

mod conforms;
mod refusals;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leafid::format::{CompileFormat as _, FormatContext};
use leafid::store::{SegmentStore, StoreError, TagPatch, TagRecord, TagSpec};
use leafid::{Generators, Limit, Options, Segment};
use leafid_formats::{Formats, GearKey};
use leafid_stores::{LeaseOptions, StoreOptions, init, open_leases};
use leafid_testbed::{Database, MariaDb, shared_mariadb};
use sqlx::Connection as _;

use crate::{check_disjoint, create, open_at, tag, take, url_of, wish};

/// As ns4_gear_idgen has it, at b271bfb: `gear_key.sql`.
const GEAR_SQL: &str = "CREATE TABLE `gear_key` (\
    `id` int(10) NOT NULL AUTO_INCREMENT, `key_name` varchar(50) DEFAULT NULL, \
    `key_value` decimal(50,0) DEFAULT NULL, `key_length` decimal(10,0) DEFAULT NULL, \
    `key_cache` decimal(20,0) DEFAULT NULL, `key_prefix` varchar(20) DEFAULT NULL, \
    `key_suffix` varchar(20) DEFAULT NULL, `creator` varchar(20) DEFAULT NULL, \
    `create_time` datetime NOT NULL DEFAULT CURRENT_TIMESTAMP, \
    `updator` varchar(20) DEFAULT NULL, \
    `update_time` datetime NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, \
    `key_digit` varchar(5) DEFAULT NULL, `version` bigint(20) DEFAULT NULL, \
    PRIMARY KEY (`id`), UNIQUE KEY `key_name_unique` (`key_name`) USING BTREE\
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8";

/// Some of the rows that ns4_gear_idgen ships.
const SHIPPED: &str = "INSERT INTO gear_key (key_name, key_value, key_length, key_cache, \
    key_prefix, key_suffix, key_digit, version) VALUES \
    ('TEST-KEY', 520216, 20, 1000, '${date6}', '', '10', 2725), \
    ('TEST-KEY4', 181577, 22, 1, '${date14}', NULL, '10', 9), \
    ('TEST-KEY7', 181533, 26, 1, '${date17}', NULL, '10', 9), \
    ('TEST-KEY8', 181490, 26, 1, 'T${date12}', '$', '10', 9), \
    ('TEST-KEY9', 181686, 16, 1, 'TS${date6}', NULL, '10', 9)";

/// A database with this table.
fn with(server: &MariaDb, statements: &[&str]) -> Database {
    let mut database = server.create_database();
    for statement in statements {
        server.sql(&database.name, statement);
    }
    database.url.push_str("?table=gear_key&zone=Asia/Shanghai");
    database
}

async fn record(store: &dyn SegmentStore, name: &str) -> TagRecord {
    store.read(&[tag(name)]).await.unwrap().remove(0)
}

/// The next id of a tag at 2019-10-11 23:22:18.079 in Shanghai.
async fn next(store: &dyn SegmentStore, name: &str) -> String {
    let format = record(store, name).await.format.unwrap();
    let format = Formats::new().compile(&tag(name), &format).unwrap();
    let number = take(store, name, 1).await.start();
    let context = FormatContext {
        unix_ms: 1_570_807_338_079,
        worker_id: None,
    };
    let mut text = String::new();
    format.write(number, &context, &mut text).unwrap();
    assert_eq!(format.read(&text).unwrap(), number);
    text
}

/// Guards that the rows of ns4_gear_idgen continue as there: its own sample texts.
#[tokio::test]
async fn shipped_rows_continue() {
    let database = with(shared_mariadb(), &[GEAR_SQL, SHIPPED]);
    let store = open_at(&database.url).await;
    let row = record(&*store, "TEST-KEY").await;
    assert_eq!((row.max_id, row.settings.step), (520_217, 1000));
    assert!(row.updated_ms.is_some());
    let listed = store.list(None, 100).await.unwrap();
    let names: Vec<&str> = listed.iter().map(|row| row.tag.as_str()).collect();
    let all = [
        "TEST-KEY",
        "TEST-KEY4",
        "TEST-KEY7",
        "TEST-KEY8",
        "TEST-KEY9",
    ];
    assert_eq!(names, all);
    for (name, text) in [
        ("TEST-KEY", "19101100000000520217"),
        ("TEST-KEY4", "2019101123221800181578"),
        ("TEST-KEY7", "20191011232218079000181534"),
        ("TEST-KEY8", "T191011232218000000181491$"),
        ("TEST-KEY9", "TS19101100181687"),
    ] {
        assert_eq!(next(&*store, name).await, text);
    }
    let select = "SELECT key_value, version FROM gear_key WHERE key_name = 'TEST-KEY'";
    let row = shared_mariadb().sql(&database.name, select);
    assert_eq!(row, "520217\t2726");
    assert!(store.read(&[tag("test-key")]).await.unwrap().is_empty());
    let none = store.reserve(&wish("test-key", 1)).await.unwrap_err();
    assert!(matches!(none, StoreError::UnknownTag), "{none:?}");
}

/// Guards that a row has the format of `leafid_formats::GearKey`.
#[tokio::test]
async fn formats_are_those_of_the_formats_crate() {
    let database = with(shared_mariadb(), &[GEAR_SQL]);
    let store = open_at(&database.url).await;
    for (prefix, suffix, digit) in [
        ("", "", "10"),
        ("TS${date6}", "", "36"),
        (" T$", "${date17}x ", "62"),
        ("A${foo}B", "{}", "7"),
        ("a}${date8", "$", "10"),
        ("${a${date6}}", "", "10"),
    ] {
        let insert = format!(
            "REPLACE INTO gear_key (key_name, key_value, key_length, key_cache, key_prefix, \
            key_suffix, key_digit) VALUES ('k', 1, 40, 1, '{prefix}', '{suffix}', '{digit}')"
        );
        shared_mariadb().sql(&database.name, &insert);
        let (length, radix) = (40, digit.parse().unwrap());
        let key = GearKey {
            prefix,
            suffix,
            length,
            radix,
        };
        let format = record(&*store, "k").await.format.unwrap();
        assert_eq!(*format, key.template("Asia/Shanghai"));
        assert!(Formats::new().compile(&tag("k"), &format).is_ok());
    }
}

/// A program as ns4_gear_idgen: takes ranges until it is told to stop, and returns them.
async fn gear_program(url: String, name: &'static str, stop: Arc<AtomicBool>) -> Vec<Segment> {
    let mut server = sqlx::MySqlConnection::connect(&url).await.unwrap();
    let mut ranges = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let select = "SELECT CAST(key_value AS SIGNED), CAST(key_cache AS SIGNED), version \
            FROM gear_key WHERE key_name = ?";
        let row: (i64, i64, i64) = sqlx::query_as(select)
            .bind(name)
            .fetch_one(&mut server)
            .await
            .unwrap();
        let (value, cache, version) = row;
        let update = "UPDATE gear_key SET key_value = ?, version = ? \
            WHERE key_name = ? AND version = ?";
        let done = sqlx::query(update)
            .bind(value + cache)
            .bind(version + 1)
            .bind(name)
            .bind(version)
            .execute(&mut server)
            .await
            .unwrap();
        if done.rows_affected() == 1 {
            let (start, end) = (value.unsigned_abs() + 1, (value + cache).unsigned_abs() + 1);
            ranges.push(Segment::new(start, end).unwrap());
        }
        tokio::task::yield_now().await;
    }
    ranges
}

/// Guards that programs of ns4_gear_idgen and servers of ours share rows without a number twice,
/// and that each change has a version of its own.
#[tokio::test(flavor = "multi_thread")]
async fn programs_of_gear_run_beside_us() {
    let database = with(shared_mariadb(), &[GEAR_SQL, SHIPPED]);
    let stop = Arc::new(AtomicBool::new(false));
    let plain = database.url.split_once('?').unwrap().0.to_owned();
    let programs: Vec<_> = (0..2)
        .map(|_| tokio::spawn(gear_program(plain.clone(), "TEST-KEY", Arc::clone(&stop))))
        .collect();
    let mut servers = Vec::new();
    for _ in 0..3 {
        let store = open_at(&database.url).await;
        servers.push(tokio::spawn(async move {
            let (generators, driver) = Generators::open(store, Options::default());
            let driver = tokio::spawn(driver);
            let mut segments = Vec::new();
            for count in 1..=100 {
                // One that lost ten times in a row is refused, and takes nothing.
                segments.extend(generators.reserve(&tag("TEST-KEY"), count).await.ok());
            }
            generators.stop();
            driver.await.unwrap();
            segments
        }));
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for server in servers {
        let segments = server.await.unwrap();
        assert!(segments.len() > 50, "{}", segments.len());
        ours.extend(segments);
    }
    stop.store(true, Ordering::Relaxed);
    for program in programs {
        theirs.extend(program.await.unwrap());
    }
    assert!(!theirs.is_empty());
    let changes = ours.len() + theirs.len();
    let taken: u64 = ours.iter().chain(&theirs).map(Segment::len).sum();
    check_disjoint([ours, theirs].concat());
    let select = "SELECT version - 2725, key_value - 520216 FROM gear_key \
        WHERE key_name = 'TEST-KEY'";
    let row = shared_mariadb().sql(&database.name, select);
    assert_eq!(row, format!("{changes}\t{taken}"));
}

/// Guards that a program that was faster is a conflict, which changes nothing, even where the row
/// has no version.
#[tokio::test]
async fn versions_are_those_that_gear_can_read() {
    let database = with(shared_mariadb(), &[GEAR_SQL, SHIPPED]);
    let store = open_at(&database.url).await;
    let sql = |statement: &str| shared_mariadb().sql(&database.name, statement);
    let version = || sql("SELECT version FROM gear_key WHERE key_name = 'TEST-KEY'");
    for (before, after) in [
        ("NULL", "0"),
        ("2147483646", "2147483647"),
        ("2147483647", "0"),
    ] {
        sql(&format!("UPDATE gear_key SET version = {before}"));
        take(&*store, "TEST-KEY", 10).await;
        assert_eq!(version(), after);
    }
}

/// Guards that a tag made here is a row that ns4_gear_idgen can use.
#[tokio::test]
async fn a_new_row_is_one_of_gear() {
    let database = with(shared_mariadb(), &[GEAR_SQL]);
    let store = open_at(&database.url).await;
    let format = "{zone Asia/Shanghai}TS${date6}{number radix=36 total=20}$";
    let mut spec = TagSpec {
        start: 1000,
        format: Some(format.into()),
        ..TagSpec::new(tag("order"))
    };
    spec.settings.step = 50;
    // As Generators::create_tag sets it.
    spec.settings.limit = Limit::new(36_u64.pow(11) - 1).unwrap();
    let created = store.create(&spec).await.unwrap();
    assert_eq!((created.max_id, created.settings.step), (1000, 50));
    assert_eq!(created.format.as_deref(), Some(format));
    let select = "SELECT key_name, key_value, key_length, key_cache, key_prefix, key_suffix, \
        key_digit, version FROM gear_key";
    let row = shared_mariadb().sql(&database.name, select);
    assert_eq!(row, "order\t999\t20\t50\tTS${date6}\t$\t36\t0");
    let exists = store.create(&spec).await.unwrap_err();
    assert!(matches!(exists, StoreError::TagExists), "{exists:?}");
    assert_eq!(take(&*store, "order", 50).await.start(), 1000);
    let patch = TagPatch {
        step: Some(70),
        ..TagPatch::default()
    };
    let updated = store.update(&tag("order"), &patch).await.unwrap();
    assert_eq!(updated.settings.step, 70);
    create(&*store, "plain").await;
    assert_eq!(record(&*store, "plain").await.format, None);
}

/// Guards that the error without the table says what to do, and that this makes what is missing
/// beside it: not Leaf's table.
#[tokio::test]
async fn init_makes_the_table_and_a_registry_beside_it() {
    let database = with(shared_mariadb(), &[]);
    let store = open_at(&database.url).await;
    let error = store.read(&[tag("order")]).await.unwrap_err().to_string();
    assert!(error.contains("call leafid_stores::init"), "{error}");
    assert!(
        error.contains("?table=gear_key: a table is missing"),
        "{error}"
    );
    let (url, options) = (url_of(&database.url), StoreOptions::default());
    let report = init(&url, &options).await.unwrap();
    let made = ["leafid_worker", "leafid_pool", "leafid_audit", "gear_key"];
    assert_eq!(report.created, made);
    let again = init(&url, &options).await.unwrap();
    assert_eq!(
        (again.created.len(), &again.found[..]),
        (0, &report.created[..])
    );
    create(&*store, "order").await;
    assert_eq!(take(&*store, "order", 10).await.start(), 1);
    let registry = open_leases(&url, &LeaseOptions::new("shop"), &options)
        .await
        .unwrap();
    assert_eq!(registry.bind("leaf").await.unwrap(), "leaf");
    let report = store.inspect().await.unwrap();
    assert!(
        report.product.ends_with(" with the table gear_key"),
        "{report:?}"
    );
    assert!(
        !report.has_own_table && report.weaknesses.is_empty(),
        "{report:?}"
    );
    assert_eq!(store.probe().await.unwrap(), report.location);
}

/// Guards that times are in the zone in which the programs of the table write them.
#[tokio::test]
async fn times_are_those_of_the_server() {
    let server = MariaDb::start_with(&["--default-time-zone=+08:00"]);
    let database = with(&server, &[GEAR_SQL, SHIPPED]);
    server.sql(
        &database.name,
        "UPDATE gear_key SET update_time = '2019-10-11 23:22:18'",
    );
    let store = open_at(&database.url).await;
    let before = record(&*store, "TEST-KEY").await;
    assert_eq!(before.updated_ms, Some(1_570_807_338_000));
    take(&*store, "TEST-KEY", 10).await;
    let select = "SELECT ABS(TIMESTAMPDIFF(SECOND, update_time, NOW())) < 60 FROM gear_key \
        WHERE key_name = 'TEST-KEY'";
    assert_eq!(server.sql(&database.name, select), "1");
}
