//! Registries of worker ids in each database.

use std::sync::Arc;

use leafid::store::lease_conformance::LeaseHandles;
use leafid::store::{LeaseKey, LeaseRecord, LeaseStore, LeaseSwap, StoreError};
use leafid::{Clock, SystemClock, WorkerId};
use leafid_stores::{LeaseOptions, StoreOptions, init, open_leases};
use leafid_testbed::{
    Database, LEAF_ALLOC, MariaDb, Postgres, Proxy, shared_mariadb, shared_postgres,
};
use tempfile::TempDir;

use crate::{allowing_weak, chain, check_leases_conform, open_with, url_of};

const UNTIL_MS: u64 = 1_900_000_000_000;

async fn registry(url: &str) -> Arc<dyn LeaseStore> {
    pool(url, "default").await
}

async fn pool(url: &str, name: &str) -> Arc<dyn LeaseStore> {
    pool_with(url, name, &StoreOptions::default()).await
}

async fn pool_with(url: &str, name: &str, options: &StoreOptions) -> Arc<dyn LeaseStore> {
    let opened = open_leases(&url_of(url), &LeaseOptions::new(name), options).await;
    opened.unwrap()
}

pub(crate) async fn initialised(database: Database) -> String {
    let report = init(&url_of(&database.url), &StoreOptions::default()).await;
    report.unwrap();
    database.url
}

fn url_in(folder: &TempDir) -> String {
    format!("sqlite:{}/leafid.db", folder.path().display())
}

fn claim(worker: u32) -> LeaseSwap {
    let record = LeaseRecord {
        worker: WorkerId::new(worker),
        epoch: 1,
        holder: "6f1c".into(),
        address: "10.0.0.5:8080".into(),
        until_ms: UNTIL_MS,
    };
    LeaseSwap {
        expected: None,
        record,
    }
}

/// A swap of the row in `claim` for one that ends later by `more_ms`.
fn extend(claim: &LeaseSwap, more_ms: u64) -> LeaseSwap {
    let mut record = claim.record.clone();
    record.until_ms += more_ms;
    LeaseSwap {
        expected: Some(claim.record.key()),
        record,
    }
}

async fn error_of(registry: &dyn LeaseStore) -> StoreError {
    registry.swap(&claim(7)).await.unwrap_err()
}

pub(crate) fn check_conforms(fresh: impl Fn() -> String) {
    check_leases_conform(|| {
        let url = fresh();
        async move {
            let (first, second) = (registry(&url).await, registry(&url).await);
            if !url.starts_with("sqlite") {
                init(&url_of(&url), &StoreOptions::default()).await.unwrap();
            }
            LeaseHandles { first, second }
        }
    });
}

/// Guards the contract.
#[test]
fn sqlite_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let number = std::sync::atomic::AtomicU32::new(0);
    check_conforms(|| {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!("sqlite:{}/{number}.db", folder.path().display())
    });
}

/// Guards the contract.
#[test]
fn mariadb_conforms() {
    check_conforms(|| shared_mariadb().create_database().url);
}

/// Guards the contract.
#[test]
fn postgres_conforms() {
    check_conforms(|| shared_postgres().create_database().url);
}

/// What the suite cannot check: pools, the same row again, values that do not fit.
async fn check_rows(url: &str) {
    let (ours, theirs) = (pool(url, "default").await, pool(url, "Default").await);
    for (registry, layout) in [(&ours, "leaf"), (&theirs, "baidu")] {
        assert_eq!(registry.bind(layout).await.unwrap(), layout);
        assert!(registry.swap(&claim(0)).await.unwrap());
    }
    let again = extend(&claim(0), 0);
    assert!(ours.swap(&again).await.unwrap(), "the same row again");
    assert!(ours.swap(&extend(&again, 5)).await.unwrap());
    assert!(!ours.swap(&again).await.unwrap());
    assert_eq!(theirs.leases().await.unwrap(), [claim(0).record]);

    let mut unfit = [claim(1), claim(1), claim(1), claim(1), claim(1)];
    unfit[0].record.epoch = 1 << 63;
    unfit[1].record.until_ms = 1 << 63;
    unfit[2].record.holder = "h".repeat(129);
    unfit[3].record.address = "\u{e9}".repeat(256);
    unfit[4].expected = Some(LeaseKey {
        epoch: u64::MAX,
        until_ms: 0,
    });
    for swap in unfit {
        let error = ours.swap(&swap).await.unwrap_err();
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
    }
    let mut odd = claim(u32::MAX);
    odd.record.address = "\u{1F600} h\u{f4}te ".into();
    assert!(ours.swap(&odd).await.unwrap());
    let long = "\u{e9}".repeat(255);
    assert_eq!(pool(url, "long").await.bind(&long).await.unwrap(), long);
    assert_eq!(ours.leases().await.unwrap()[1], odd.record);
}

/// Guards that pools are separate, that a row may be written unchanged, and that values which do
/// not fit are refused.
#[tokio::test]
async fn rows_are_kept_exactly() {
    let folder = tempfile::tempdir().unwrap();
    check_rows(&url_in(&folder)).await;
    check_rows(&initialised(shared_mariadb().create_database()).await).await;
    check_rows(&initialised(shared_postgres().create_database()).await).await;
    let strange = open_leases(
        &url_of(&url_in(&folder)),
        &LeaseOptions::new("a/b"),
        &StoreOptions::default(),
    )
    .await;
    let error = strange.err().unwrap();
    assert!(error.to_string().contains("cannot be named"), "{error}");
}

/// First of all fifty servers at once, then with one of the tables gone.
async fn check_first_use(with_leaf: &Database, empty: &Database, sql: impl Fn(&str, &str)) {
    let error = registry(&empty.url).await.bind("leaf").await.unwrap_err();
    assert!(error.to_string().contains("if it is the right"), "{error}");

    let starts = (0..50).map(|number| {
        let url = with_leaf.url.clone();
        tokio::spawn(async move {
            let registry = registry(&url).await;
            registry.bind(&format!("layout {number}")).await.unwrap()
        })
    });
    let starts: Vec<_> = starts.collect();
    let mut layouts = Vec::new();
    for start in starts {
        layouts.push(start.await.unwrap());
    }
    layouts.dedup();
    assert_eq!(layouts.len(), 1, "{layouts:?}");

    let registry = registry(&with_leaf.url).await;
    assert!(registry.swap(&claim(0)).await.unwrap());
    sql(&with_leaf.name, "DROP TABLE leafid_worker");
    let error = registry.bind("leaf").await.unwrap_err();
    assert!(error.to_string().contains("restore it"), "{error}");
    let error = error_of(&*registry).await;
    assert!(error.to_string().contains("a table is missing"), "{error}");
    let report = init(&url_of(&with_leaf.url), &StoreOptions::default()).await;
    assert_eq!(
        report.unwrap().to_string(),
        "created leafid_tag, leafid_worker, leafid_audit; found leaf_alloc, leafid_pool"
    );
    assert!(registry.swap(&claim(0)).await.unwrap());
}

/// Guards that the tables are created automatically beside Leaf's, once, and nowhere else.
#[tokio::test(flavor = "multi_thread")]
async fn mariadb_first_use() {
    let server = shared_mariadb();
    let [with_leaf, empty] = [server.create_database(), server.create_database()];
    server.sql(&with_leaf.name, LEAF_ALLOC);
    let sql = |name: &str, text: &str| drop(server.sql(name, text));
    check_first_use(&with_leaf, &empty, sql).await;
}

/// Guards the same for PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_first_use() {
    let server = shared_postgres();
    let [with_leaf, empty] = [server.create_database(), server.create_database()];
    let table = "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint)";
    server.sql(&with_leaf.name, table);
    let sql = |name: &str, text: &str| drop(server.sql(name, text));
    check_first_use(&with_leaf, &empty, sql).await;
}

/// Guards that a user who may not create tables is told what to do.
#[tokio::test]
async fn a_user_without_privileges_gets_the_reason() {
    let server = shared_mariadb();
    let database = server.create_database();
    let sql = format!(
        "{LEAF_ALLOC}; CREATE USER writer@'%' IDENTIFIED BY 's3cret'; \
        GRANT SELECT, INSERT, UPDATE, DELETE ON {}.* TO writer@'%'",
        database.name
    );
    server.sql(&database.name, &sql);
    let address = format!("127.0.0.1:{}/{}", server.port(), database.name);
    let registry = registry(&format!("mysql://writer:s3cret@{address}")).await;
    let error = registry.bind("leaf").await.unwrap_err();
    assert!(error.to_string().contains("leafid_stores::init"), "{error}");
    assert!(!chain(&error).contains("s3cret"));
}

/// Guards that the clock is the server's, whatever its time zone, and that a file has none.
#[tokio::test]
async fn the_clock_is_that_of_the_server() {
    let mariadb = MariaDb::start_with(&["--default-time-zone=+08:00"]);
    let postgres = Postgres::start_with(&["timezone=Asia/Shanghai"]);
    for url in [
        mariadb.create_database().url,
        postgres.create_database().url,
    ] {
        let clock_ms = registry(&url).await.clock_ms().await.unwrap().unwrap();
        let now_ms = SystemClock::new().wall().as_millis();
        assert!(u128::from(clock_ms).abs_diff(now_ms) < 5_000, "{url}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = registry(&url_in(&folder)).await;
    assert_eq!(file.clock_ms().await.unwrap(), None);
}

/// Guards that a registry names weak settings as a store of segments does, and claims nothing in
/// such a database unless that is allowed.
#[tokio::test]
async fn weak_settings_are_named() {
    let weak = MariaDb::start_with(&["--innodb-flush-log-at-trx-commit=2"]);
    let database = weak.create_database();
    initialised(database.clone()).await;
    weak.sql(&database.name, "ALTER TABLE leafid_worker ENGINE=MyISAM");
    let error = error_of(&*registry(&database.url).await).await;
    assert!(error.weak_store().is_some(), "{error}");
    let allowed = pool_with(&database.url, "default", &allowing_weak()).await;
    assert!(allowed.swap(&claim(7)).await.unwrap());
    let report = allowed.inspect().await.unwrap();
    let names: Vec<&str> = report
        .weaknesses
        .iter()
        .map(|weak| weak.setting.as_str())
        .collect();
    let wanted = [
        "innodb_flush_log_at_trx_commit",
        "the engine of leafid_worker",
    ];
    assert_eq!(names, wanted);
    let store = open_with(&database.url, allowing_weak()).await;
    assert_eq!(report, store.inspect().await.unwrap());
}

/// Guards that a server which does not accept writes is refused.
#[tokio::test]
async fn a_read_only_server_is_refused() {
    let mariadb = MariaDb::start();
    let url = initialised(mariadb.create_database()).await;
    mariadb.sql("mysql", "SET GLOBAL read_only = 1");
    let error = registry(&url).await.leases().await.unwrap_err();
    assert!(error.to_string().contains("is read-only"), "{error}");
    assert!(error.is_retryable());
}

/// Guards that an invalid row, written by hand, is named.
#[tokio::test]
async fn a_bad_row_is_named() {
    let server = shared_mariadb();
    let database = server.create_database();
    let registry = registry(&initialised(database.clone()).await).await;
    registry.swap(&claim(3)).await.unwrap();
    server.sql(&database.name, "UPDATE leafid_worker SET epoch = -5");
    let error = registry.leases().await.unwrap_err();
    assert!(matches!(error, StoreError::BadRow { .. }), "{error:?}");
    assert!(error.to_string().contains("worker id 3"), "{error}");
    assert!(error.to_string().contains("epoch -5"), "{error}");
}

/// Guards that a swap whose reply was lost is an error, although it was made.
#[tokio::test]
async fn a_lost_reply_is_an_error() {
    let server = shared_mariadb();
    let database = server.create_database();
    let direct = registry(&initialised(database.clone()).await).await;
    let proxy = Proxy::new(server.port());
    let registry = registry(&server.url_at(proxy.port(), &database.name)).await;
    assert!(registry.swap(&claim(0)).await.unwrap());
    let first = extend(&claim(0), 60_000);
    assert!(registry.swap(&first).await.unwrap());
    // The reply to the commit, after those to its beginning, the change and the read of the row.
    proxy.cut_reply_after(3);
    let extended = extend(&first, 60_000);
    let error = registry.swap(&extended).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert_eq!(
        direct.leases().await.unwrap(),
        std::slice::from_ref(&extended.record)
    );
    assert!(!registry.swap(&extended).await.unwrap());
}

/// Guards that an acknowledged lease is there after `kill -9` of the server.
#[tokio::test]
async fn a_lease_outlives_the_server() {
    let (mariadb, postgres) = (MariaDb::start(), Postgres::start());
    let urls = [
        initialised(mariadb.create_database()).await,
        initialised(postgres.create_database()).await,
    ];
    for url in &urls {
        assert!(registry(url).await.swap(&claim(0)).await.unwrap());
    }
    mariadb.kill();
    postgres.kill();
    mariadb.start_again();
    postgres.start_again();
    for url in &urls {
        assert_eq!(
            registry(url).await.leases().await.unwrap(),
            [claim(0).record]
        );
    }
}
