//! Tables that do not keep what is written into them: the wrong type, a trigger, a rule, a
//! generated column. No id may come twice from any of them.

use std::collections::HashSet;

use leafid::Segment;
use leafid::store::{Reserve, StoreError};
use leafid_testbed::{Database, LEAF_ALLOC, MariaDb, shared_mariadb, shared_postgres};

use sqlx::Connection as _;

use crate::{create, open_at, tag, wish};

/// How often an id was given out that had been given out before.
fn duplicates(segments: &[Segment]) -> usize {
    let mut seen = HashSet::new();
    let ids = segments.iter().flat_map(|one| one.start()..one.end());
    ids.filter(|id| !seen.insert(*id)).count()
}

/// Lets two servers reserve in turn, as their drivers do, each above its own floor, and answers
/// what they got and the last error.
async fn take_in_turn(url: &str) -> (Vec<Segment>, Option<StoreError>) {
    let stores = [open_at(url).await, open_at(url).await];
    let mut floors = [None, None];
    let (mut segments, mut last_error) = (Vec::new(), None);
    for round in 0..10 {
        let floor = &mut floors[round % 2];
        let reserve = Reserve {
            floor: *floor,
            ..wish("order", 1000)
        };
        match stores[round % 2].reserve(&reserve).await {
            Ok(reserved) => {
                *floor = Some(reserved.segment.end());
                segments.push(reserved.segment);
            }
            Err(error) => last_error = Some(error),
        }
    }
    (segments, last_error)
}

/// No id comes twice, and the last call that failed was refused with these words.
async fn check_refused(database: &Database, words: &[&str]) {
    let (segments, error) = take_in_turn(&database.url).await;
    check_refusal(&segments, error, words);
}

fn check_refusal(segments: &[Segment], error: Option<StoreError>, words: &[&str]) {
    assert_eq!(duplicates(segments), 0, "{segments:?}");
    let text = error.expect("a segment is refused").to_string();
    for word in words {
        assert!(text.contains(word), "{word} is not in: {text}");
    }
}

/// Guards the same in SQLite.
#[tokio::test]
async fn sqlite_trigger_that_clamps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leafid.db");
    let url = format!("sqlite:{}", path.display());
    create(&*open_at(&url).await, "order").await;
    let mut other = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let trigger = "CREATE TRIGGER clamp AFTER UPDATE ON leaf_alloc WHEN NEW.max_id > 2500 \
        BEGIN UPDATE leaf_alloc SET max_id = 2500 WHERE biz_tag = NEW.biz_tag; END";
    sqlx::raw_sql(trigger).execute(&mut other).await.unwrap();
    let words = [
        "\"order\"",
        "max_id 2500 after 3001",
        "[2001, 3001) is lost",
    ];
    let (segments, error) = take_in_turn(&url).await;
    check_refusal(&segments, error, &words);
}

fn mariadb_with(server: &MariaDb, table: &str, max_id: &str, more: &str) -> Database {
    let database = server.create_database();
    let insert =
        format!("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', {max_id}, 1000)");
    server.sql(&database.name, &format!("{table}; {insert}; {more}"));
    database
}

/// Guards that a trigger which holds the row back is noticed, with the tag and both values.
#[tokio::test]
async fn mariadb_trigger_that_clamps() {
    let trigger = "CREATE TRIGGER clamp BEFORE UPDATE ON leaf_alloc FOR EACH ROW \
        SET NEW.max_id = LEAST(NEW.max_id, 2500)";
    let database = mariadb_with(shared_mariadb(), LEAF_ALLOC, "1", trigger);
    let words = [
        "\"order\"",
        "max_id 2500 after 3500",
        "[2500, 3500) is lost",
    ];
    check_refused(&database, &words).await;
}

/// Guards the same in PostgreSQL, whose rows a trigger may change too.
#[tokio::test]
async fn postgres_trigger_that_clamps() {
    let database = postgres_with(
        "bigint",
        "CREATE FUNCTION clamp() RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN NEW.max_id := LEAST(NEW.max_id, 2500); RETURN NEW; END'; \
        CREATE TRIGGER clamp BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION clamp()",
    );
    let words = [
        "\"order\"",
        "max_id 2500 after 3500",
        "[2500, 3500) is lost",
    ];
    check_refused(&database, &words).await;
}

fn postgres_with(max_id: &str, more: &str) -> Database {
    let database = shared_postgres().create_database();
    let table = format!(
        "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id {max_id} NOT NULL, \
        step int NOT NULL, description varchar(256), update_time timestamptz DEFAULT now()); \
        ALTER TABLE leaf_alloc OWNER TO leafid; \
        INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 1, 1000); {more}"
    );
    shared_postgres().sql(&database.name, &table);
    database
}

/// Guards that a server without strict mode does not put the nearest value that fits.
#[tokio::test]
async fn mariadb_without_strict_mode() {
    let server = MariaDb::start_with(&["--sql-mode="]);
    let table = LEAF_ALLOC.replace("bigint(20)", "int(11)");
    let database = mariadb_with(&server, &table, "2147480000", "");
    check_refused(&database, &["ALTER TABLE leaf_alloc MODIFY max_id BIGINT"]).await;
}

/// Guards that the check of what was kept lets through what is right, to the last number.
#[tokio::test]
async fn what_is_kept_passes() {
    for database in [
        mariadb_with(shared_mariadb(), LEAF_ALLOC, "0", ""),
        postgres_with("bigint", ""),
    ] {
        let store = open_at(&database.url).await;
        let top = Reserve {
            floor: Some(9_223_372_036_854_775_000),
            ..wish("order", 807)
        };
        let reserved = store.reserve(&top).await.unwrap();
        assert_eq!(reserved.segment.end(), 9_223_372_036_854_775_807);
        let max_id = store.read(&[tag("order")]).await.unwrap()[0].max_id;
        assert_eq!(max_id, 9_223_372_036_854_775_807);
        let error = store.reserve(&wish("order", 1)).await.unwrap_err();
        assert!(
            matches!(error, StoreError::LimitReached { .. }),
            "{error:?}"
        );
    }
}
