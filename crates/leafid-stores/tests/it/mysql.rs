//! MariaDB, on our own table and on both variants of Leaf's.

use leafid::store::{Reserve, StoreError, TagPatch, TagSpec};
use leafid::{Segment, StepPolicy};
use leafid_stores::{StoreOptions, init};
use leafid_testbed::{
    Database, JavaLeaf, LEAF_ALLOC, LEAF_ALLOC_SURROGATE, MariaDb, shared_mariadb,
};

use crate::{
    allowing_weak, check_conforms, check_disjoint, create, open_at, open_with, tag, take, url_of,
    wish,
};

async fn initialised() -> Database {
    let database = shared_mariadb().create_database();
    init(&url_of(&database.url), &StoreOptions::default())
        .await
        .unwrap();
    database
}

/// A database that has Leaf's table and nothing else.
fn with_table(server: &MariaDb, table: &str) -> Database {
    let database = server.create_database();
    server.sql(&database.name, table);
    database
}

/// Guards the contract on the tables that `leafid store init` creates.
#[test]
fn mysql_conforms() {
    check_conforms(|| async { initialised().await.url });
}

/// Guards the contract on Leaf's own table beside ours.
#[test]
fn mysql_conforms_on_leafs_table() {
    check_conforms(|| async {
        let database = with_table(shared_mariadb(), LEAF_ALLOC);
        init(&url_of(&database.url), &StoreOptions::default())
            .await
            .unwrap();
        database.url
    });
}

/// Guards the contract on the variant with a surrogate key, beside ours.
#[test]
fn mysql_conforms_on_the_variant() {
    check_conforms(|| async {
        let database = with_table(shared_mariadb(), LEAF_ALLOC_SURROGATE);
        init(&url_of(&database.url), &StoreOptions::default())
            .await
            .unwrap();
        database.url
    });
}

/// Guards that the value before the change is returned exactly: even 0, even beyond 2^53, even for
/// a statement that the server has already prepared.
/// Guards a user with a privilege on Leaf's table alone: whether a tag of the name was deleted is
/// recorded in a table that this user cannot see.
#[tokio::test]
async fn a_tag_is_not_created_where_deleted_ones_cannot_be_seen() {
    let database = initialised().await;
    let user = format!("narrow_{}", database.name);
    let grant = format!(
        "CREATE USER {user}@'%'; GRANT SELECT, INSERT, UPDATE, DELETE ON leaf_alloc TO {user}@'%'"
    );
    shared_mariadb().sql(&database.name, &grant);
    let whole = open_at(&database.url).await;
    create(&*whole, "order").await;
    create(&*whole, "gone").await;
    whole.delete(&tag("gone")).await.unwrap();
    let port = shared_mariadb().port();
    let narrow = format!("mysql://{user}@127.0.0.1:{port}/{}", database.name);
    let narrow = open_at(&narrow).await;
    take(&*narrow, "order", 10).await;
    let error = narrow.create(&TagSpec::new(tag("gone"))).await.unwrap_err();
    assert!(error.to_string().contains("GRANT"), "{error}");
    assert!(!error.is_retryable(), "{error}");
}

#[tokio::test]
async fn previous_is_exact() {
    let database = with_table(shared_mariadb(), LEAF_ALLOC);
    let store = open_at(&database.url).await;
    for previous in [
        0,
        1,
        2,
        0,
        9_007_199_254_740_993,
        9_223_372_036_854_000_000,
        0,
    ] {
        let sql = format!(
            "REPLACE INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', {previous}, 1)"
        );
        shared_mariadb().sql(&database.name, &sql);
        let reserved = store.reserve(&wish("order", 10)).await.unwrap();
        assert_eq!(reserved.previous, previous);
        assert_eq!(reserved.segment.start(), previous.max(1));
    }
    shared_mariadb().sql(&database.name, "UPDATE leaf_alloc SET max_id = -5");
    let error = store.reserve(&wish("order", 10)).await.unwrap_err();
    assert!(matches!(error, StoreError::BadRow { .. }), "{error:?}");
    assert_eq!(
        shared_mariadb().sql(&database.name, "SELECT max_id FROM leaf_alloc"),
        "-5"
    );
}

/// Guards that Leaf's table alone is enough to issue, and what cannot be stored there is refused
/// with what to do.
#[tokio::test]
async fn leafs_table_alone() {
    for table in [LEAF_ALLOC, LEAF_ALLOC_SURROGATE] {
        check_leafs_table(table).await;
    }
}

async fn check_leafs_table(table: &str) {
    let database = with_table(shared_mariadb(), table);
    let store = open_at(&database.url).await;
    assert!(!store.inspect().await.unwrap().has_own_table);
    let spec = TagSpec {
        description: Some("it's".into()),
        ..TagSpec::new(tag("order"))
    };
    store.create(&spec).await.unwrap();
    take(&*store, "order", 10).await;
    let patch = TagPatch {
        step: Some(7),
        description: Some(None),
        ..TagPatch::default()
    };
    let record = store.update(&tag("order"), &patch).await.unwrap();
    assert_eq!(
        (record.settings.step, record.max_id, record.description),
        (7, 11, None)
    );
    assert!(
        record.updated_ms > Some(1_600_000_000_000),
        "{:?}",
        record.updated_ms
    );
    let read = store.read(&[tag("order")]).await.unwrap();
    assert_eq!(read[0].settings, record.settings);

    let patch = TagPatch {
        policy: Some(Some(StepPolicy::Fixed)),
        ..TagPatch::default()
    };
    for error in [
        store.update(&tag("order"), &patch).await.unwrap_err(),
        store.delete(&tag("order")).await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
        assert!(
            error.to_string().contains("call leafid_stores::init"),
            "{error}"
        );
    }
}

/// Guards that Java Leaf can use the table beside us.
#[tokio::test(flavor = "multi_thread")]
async fn java_leaf_beside_us() {
    for table in [LEAF_ALLOC, LEAF_ALLOC_SURROGATE] {
        let database = with_table(shared_mariadb(), table);
        let sql = "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('order', 2000)";
        shared_mariadb().sql(&database.name, sql);
        let store = open_at(&database.url).await;
        let mut callers = Vec::new();
        for caller in 0..16_u32 {
            let (store, url) = (store.clone(), database.url.clone());
            callers.push(tokio::spawn(async move {
                let mut segments = Vec::new();
                if caller % 2 == 0 {
                    for count in 1..=50 {
                        segments.push(take(&*store, "order", count).await);
                    }
                    return segments;
                }
                let mut leaf = JavaLeaf::connect(&url).await.unwrap();
                for round in 1..=50 {
                    let range = match round % 2 {
                        0 => leaf.take("order").await.unwrap(),
                        _ => leaf.take_step("order", 2000 * round).await.unwrap(),
                    };
                    segments.push(Segment::new(range.start, range.end).unwrap());
                }
                segments
            }));
        }
        let mut all = Vec::new();
        for caller in callers {
            all.extend(caller.await.unwrap());
        }
        let total: u64 = all.iter().map(Segment::len).sum();
        assert_eq!(all.len(), 800);
        check_disjoint(all);
        let max_id = store.read(&[tag("order")]).await.unwrap()[0].max_id;
        assert_eq!(max_id, total + 1, "ids were skipped");
    }
}

/// Guards that settings which could lose a commit are named, and only those.
#[tokio::test]
async fn weak_settings_are_named() {
    let names = async |server: &MariaDb, engine: &str| {
        let table = LEAF_ALLOC.replace("InnoDB", engine);
        let url = with_table(server, &table).url;
        let store = open_with(&url, allowing_weak()).await;
        let report = store.inspect().await.unwrap();
        assert!(report.product.starts_with("MariaDB 1"), "{report:?}");
        report
            .weaknesses
            .into_iter()
            .map(|weak| weak.setting)
            .collect::<Vec<_>>()
    };
    assert!(names(shared_mariadb(), "InnoDB").await.is_empty());
    assert_eq!(
        names(shared_mariadb(), "MyISAM").await,
        ["the engine of leaf_alloc"]
    );
    let weak = MariaDb::start_with(&[
        "--innodb-flush-log-at-trx-commit=2",
        "--log-bin",
        "--sync-binlog=0",
        "--server-id=7",
    ]);
    assert_eq!(
        names(&weak, "InnoDB").await,
        ["innodb_flush_log_at_trx_commit", "sync_binlog"]
    );
}

/// Guards that ours commit on a server whose sessions do not commit automatically.
#[tokio::test]
async fn a_server_without_autocommit() {
    let server = MariaDb::start_with(&["--autocommit=0"]);
    let database = with_table(&server, LEAF_ALLOC);
    let insert = "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('order', 1); COMMIT";
    server.sql(&database.name, insert);
    let store = open_at(&database.url).await;
    take(&*store, "order", 10).await;
    assert_eq!(
        server.sql(&database.name, "SELECT max_id FROM leaf_alloc"),
        "11"
    );
}

/// Guards that a table in an old character set issues the tags it holds and refuses those it
/// cannot.
#[tokio::test]
async fn old_character_sets() {
    for (charset, held) in [
        ("latin1", "caf\u{e9}"),
        ("utf8mb3", "订单"),
        ("gbk", "订单"),
    ] {
        check_charset(charset, held).await;
    }
}

async fn check_charset(charset: &str, held: &str) {
    let table = format!("{LEAF_ALLOC} DEFAULT CHARSET={charset}");
    let database = with_table(shared_mariadb(), &table);
    init(&url_of(&database.url), &StoreOptions::default())
        .await
        .unwrap();
    let store = open_at(&database.url).await;
    create(&*store, "order").await;
    create(&*store, held).await;
    assert_eq!(
        take(&*store, held, 10).await.to_string(),
        "[1, 11)",
        "{charset}"
    );
    let strange = tag("\u{1F600}");
    let error = store
        .create(&TagSpec::new(strange.clone()))
        .await
        .unwrap_err();
    assert!(
        matches!(error, StoreError::Unsupported { .. }),
        "{charset}: {error:?}"
    );
    let error = store.reserve(&wish(strange.as_str(), 1)).await.unwrap_err();
    assert!(
        matches!(error, StoreError::UnknownTag),
        "{charset}: {error:?}"
    );
    let tags = [tag("order"), strange, tag(held)];
    let read = store.read(&tags).await.unwrap();
    assert!(
        read.iter().any(|record| record.tag == tags[0]),
        "{charset}: {read:?}"
    );
    store.delete(&tag(held)).await.unwrap();
    create(&*store, held).await;
    assert_eq!(
        take(&*store, held, 10).await.to_string(),
        "[11, 21)",
        "{charset}"
    );
}

/// Guards that a user without privileges is told which ones are missing.
#[tokio::test]
async fn missing_rights_are_named() {
    let server = shared_mariadb();
    let database = with_table(server, LEAF_ALLOC);
    let sql = format!(
        "CREATE USER IF NOT EXISTS reader@'%' IDENTIFIED BY 's3cret'; GRANT SELECT ON {}.* TO reader@'%'",
        database.name
    );
    server.sql("mysql", &sql);
    let url = format!(
        "mysql://reader:s3cret@127.0.0.1:{}/{}",
        server.port(),
        database.name
    );
    let error = open_at(&url)
        .await
        .reserve(&wish("order", 1))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("grant SELECT, INSERT, UPDATE and DELETE"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("s3cret"));
}

/// Guards that an unsigned `max_id` is handled exactly too.
#[tokio::test]
async fn an_unsigned_column() {
    let table = LEAF_ALLOC.replace("bigint(20)", "bigint(20) unsigned");
    let database = with_table(shared_mariadb(), &table);
    let store = open_at(&database.url).await;
    create(&*store, "order").await;
    for previous in [0_u64, 1, 9_007_199_254_740_993, 9_223_372_036_854_000_000] {
        let sql = format!("UPDATE leaf_alloc SET max_id = {previous}");
        shared_mariadb().sql(&database.name, &sql);
        let floor = Some(previous + 5);
        let reserved = store
            .reserve(&Reserve {
                floor,
                ..wish("order", 10)
            })
            .await
            .unwrap();
        assert_eq!(
            (reserved.previous, reserved.segment.start()),
            (previous, previous + 5)
        );
        let end = shared_mariadb().sql(&database.name, "SELECT max_id FROM leaf_alloc");
        assert_eq!(end, (previous + 15).to_string());
    }
    shared_mariadb().sql(
        &database.name,
        "UPDATE leaf_alloc SET max_id = 18446744073709551615",
    );
    let error = store.reserve(&wish("order", 10)).await.unwrap_err();
    assert!(matches!(error, StoreError::BadRow { .. }), "{error:?}");
}

/// Guards that a server with open connections uses our table as soon as it is created.
#[tokio::test]
async fn init_under_an_open_store() {
    let database = with_table(shared_mariadb(), LEAF_ALLOC);
    let store = open_at(&database.url).await;
    create(&*store, "order").await;
    assert!(store.delete(&tag("order")).await.is_err());
    let report = init(&url_of(&database.url), &StoreOptions::default())
        .await
        .unwrap();
    assert_eq!(
        report.to_string(),
        "created leafid_tag, leafid_worker, leafid_pool, leafid_audit; found leaf_alloc"
    );
    let patch = TagPatch {
        policy: Some(Some(StepPolicy::Fixed)),
        ..TagPatch::default()
    };
    let record = store.update(&tag("order"), &patch).await.unwrap();
    assert_eq!(record.settings.policy, Some(StepPolicy::Fixed));
    store.delete(&tag("order")).await.unwrap();
}
