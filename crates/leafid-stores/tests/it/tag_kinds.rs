//! The kind of a tag: kept in our own table, and never guessed.

use leafid::store::{StoreError, TagKind, TagSpec};
use leafid_stores::{StoreOptions, StoreUrl, init};
use leafid_testbed::{shared_mariadb, shared_postgres};

use crate::{create, open_at, sql_at, tag, url_of};

fn snowflake(name: &str) -> TagSpec {
    let mut spec = TagSpec::new(tag(name));
    spec.settings.kind = TagKind::Snowflake;
    spec
}

/// A store with Leaf's table alone keeps no kind, and says what to do.
async fn check_needs_own_table(url: &str) {
    let store = open_at(url).await;
    let error = store.create(&snowflake("trace")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("keep a kind"), "{text}");
    assert!(text.contains("call leafid_stores::init"), "{text}");
    assert!(store.read(&[tag("trace")]).await.unwrap().is_empty());
    // A segment tag needs nothing of ours.
    create(&*store, "order").await;
}

/// A table of ours that is older than kinds is named, and nothing counts as a segment tag, until it
/// is upgraded.
async fn check_old_table_is_named(url: &str) {
    let store = open_at(url).await;
    let error = store.read(&[tag("order")]).await.unwrap_err().to_string();
    assert!(
        error.contains("leafid_tag is of an older version: call leafid_stores::init"),
        "{error}"
    );
    check_old_table_is_made_whole(url).await;
}

async fn check_old_table_is_made_whole(url: &str) {
    let report = init(&url_of(url), &StoreOptions::default()).await.unwrap();
    let added = ["kind", "segment_max", "format"].map(|column| format!("leafid_tag.{column}"));
    assert_eq!(report.added, added);
    let store = open_at(url).await;
    let made = store.create(&snowflake("trace")).await.unwrap();
    assert_eq!(made.settings.kind, TagKind::Snowflake);
}

const LEAF_ALLOC: &str = "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, \
    max_id bigint NOT NULL, step int NOT NULL, description varchar(256), \
    update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP);";
const OLD_OWN: &str = "CREATE TABLE leafid_tag (tag varchar(128) PRIMARY KEY, \
    policy varchar(16), step_max bigint, cover_seconds bigint, id_limit bigint, \
    deleted_max_id bigint);";

#[tokio::test]
async fn mysql_without_our_table_or_with_an_old_one() {
    let server = shared_mariadb();
    let database = server.create_database();
    server.sql(&database.name, LEAF_ALLOC);
    check_needs_own_table(&database.url).await;
    server.sql(&database.name, OLD_OWN);
    check_old_table_is_named(&database.url).await;
}

#[tokio::test]
async fn postgres_without_our_table_or_with_an_old_one() {
    let server = shared_postgres();
    let database = server.create_database();
    let own = |table: &str| format!("ALTER TABLE {table} OWNER TO leafid;");
    server.sql(
        &database.name,
        &(LEAF_ALLOC.to_owned() + &own("leaf_alloc")),
    );
    check_needs_own_table(&database.url).await;
    server.sql(&database.name, &(OLD_OWN.to_owned() + &own("leafid_tag")));
    check_old_table_is_named(&database.url).await;
}

#[tokio::test]
async fn sqlite_with_an_old_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leafid.db");
    let url = format!("sqlite:{}", path.display());
    sql_at(&url, OLD_OWN.into()).await;
    check_old_table_is_made_whole(&url).await;
}

/// Guards that a kind of a later version is an error, and does not count as a segment tag.
#[tokio::test]
async fn an_unknown_kind_is_a_bad_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leafid.db");
    let url = format!("sqlite:{}", path.display());
    let store = open_at(&url).await;
    store.create(&snowflake("trace")).await.unwrap();
    let spoil = "UPDATE leafid_tag SET kind = 'uuid' WHERE tag = 'trace'";
    sql_at(&url, spoil.into()).await;
    let error = store.read(&[tag("trace")]).await.unwrap_err();
    assert!(matches!(error, StoreError::BadRow { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the row of tag \"trace\" has kind uuid: it must be segment, snowflake, a family of ids \
        such as uuid7, or null"
    );
}

/// Guards that a snowflake tag whose row of `leaf_alloc` was removed by hand, as users of Leaf do,
/// is remembered like one that was deleted: segments could repeat its ids.
#[tokio::test]
async fn a_row_removed_by_hand_leaves_its_kind_behind() {
    let (maria, postgres) = (shared_mariadb(), shared_postgres());
    let databases = [maria.create_database(), postgres.create_database()];
    let remove = "DELETE FROM leaf_alloc WHERE biz_tag = 'trace'";
    for (is_maria, database) in [true, false].into_iter().zip(databases) {
        let url: StoreUrl = database.url.parse().unwrap();
        init(&url, &StoreOptions::default()).await.unwrap();
        let store = open_at(&database.url).await;
        store.create(&snowflake("trace")).await.unwrap();
        if is_maria {
            maria.sql(&database.name, remove);
        } else {
            postgres.sql(&database.name, remove);
        }
        let refused = store.create(&TagSpec::new(tag("trace"))).await.unwrap_err();
        assert!(
            matches!(refused, StoreError::FormerKind { .. }),
            "{refused:?}"
        );
        assert!(store.read(&[tag("trace")]).await.unwrap().is_empty());
        let record = store.create(&snowflake("trace")).await.unwrap();
        assert_eq!(record.settings.kind, TagKind::Snowflake, "{url}");
    }
}
