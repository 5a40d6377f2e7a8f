//! PostgreSQL.

use leafid::store::TagPatch;
use leafid_stores::{StoreOptions, init};
use leafid_testbed::{Database, Postgres, shared_postgres};

use crate::{allowing_weak, check_conforms, create, open_at, open_with, tag, take, url_of, wish};

async fn initialised() -> Database {
    let database = shared_postgres().create_database();
    init(&url_of(&database.url), &StoreOptions::default())
        .await
        .unwrap();
    database
}

/// Guards the contract.
#[test]
fn postgres_conforms() {
    check_conforms(|| async { initialised().await.url });
}

/// Guards that Leaf's table alone is enough to issue, whatever its collation and integer types.
#[tokio::test]
async fn leafs_table_alone() {
    let server = shared_postgres();
    let database = server.create_database();
    let table = "CREATE TABLE leaf_alloc (biz_tag text PRIMARY KEY, max_id bigint NOT NULL, \
        step bigint NOT NULL, description text, update_time timestamp DEFAULT now()); \
        ALTER TABLE leaf_alloc OWNER TO leafid; \
        INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 0, 10), ('Order', 5, 10)";
    server.sql(&database.name, table);
    let store = open_at(&database.url).await;
    let reserved = store.reserve(&wish("order", 10)).await.unwrap();
    assert_eq!((reserved.previous, reserved.segment.start()), (0, 1));
    let listed = store.list(None, 10).await.unwrap();
    let names: Vec<&str> = listed.iter().map(|record| record.tag.as_str()).collect();
    assert_eq!(names, ["Order", "order"]);
    let patch = TagPatch {
        step: Some(7),
        ..TagPatch::default()
    };
    assert_eq!(
        store
            .update(&tag("order"), &patch)
            .await
            .unwrap()
            .settings
            .step,
        7
    );
    let error = store.delete(&tag("order")).await.unwrap_err();
    assert!(
        error.to_string().contains("call leafid_stores::init"),
        "{error}"
    );
}

/// Guards that settings which could lose a commit are named, and only those; and that ours
/// commits to disk whatever the server's default is.
#[tokio::test]
async fn weak_settings_are_named() {
    let report = open_at(&initialised().await.url)
        .await
        .inspect()
        .await
        .unwrap();
    assert!(report.product.starts_with("PostgreSQL 1"), "{report:?}");
    assert!(report.identity.starts_with("system "), "{report:?}");
    assert_eq!(report.weaknesses, []);
    let weak = Postgres::start_with(&[
        "fsync=off",
        "full_page_writes=off",
        "synchronous_commit=off",
    ]);
    let report = open_with(&weak.create_database().url, allowing_weak())
        .await
        .inspect()
        .await
        .unwrap();
    let names: Vec<&str> = report
        .weaknesses
        .iter()
        .map(|weak| weak.setting.as_str())
        .collect();
    assert_eq!(names, ["fsync", "full_page_writes"]);
}

/// Guards that a server whose default isolation is stricter does not make callers fail.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_strict_isolation() {
    let server = Postgres::start_with(&["default_transaction_isolation=serializable"]);
    let database = server.create_database();
    init(&url_of(&database.url), &StoreOptions::default())
        .await
        .unwrap();
    let store = open_at(&database.url).await;
    create(&*store, "order").await;
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..50 {
                    take(&*store, "order", 3).await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}

/// Guards that a page of a long list is read through the index and not sorted.
#[tokio::test]
async fn a_page_is_read_through_the_index() {
    let database = initialised().await;
    let explain = "SET enable_seqscan = off; EXPLAIN SELECT a.biz_tag FROM leaf_alloc a \
        WHERE a.biz_tag COLLATE \"C\" > 'x'::text ORDER BY a.biz_tag COLLATE \"C\" LIMIT 10";
    let plan = shared_postgres().sql(&database.name, explain);
    assert!(plan.contains("Index") && !plan.contains("Sort"), "{plan}");
}
