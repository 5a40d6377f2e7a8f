//! Tables that do not keep what is written to them: the wrong type, a trigger, a rule, a generated
//! column, an engine that forgets. No id may repeat from any of them.

use std::collections::HashSet;

use leafid::store::{LeaseRecord, LeaseSwap, Reserve, StoreError};
use leafid::{Segment, WorkerId};
use leafid_stores::baidu::{self, WorkerKind, WorkerNode};
use leafid_stores::{LeaseOptions, StoreOptions, init, open_leases};
use leafid_testbed::{Database, LEAF_ALLOC, MariaDb, shared_mariadb, shared_postgres};

use crate::{allowing_weak, create, open_at, open_with, sql_at, tag, take, url_of, wish};

/// How often an id repeated.
fn duplicates(segments: &[Segment]) -> usize {
    let mut seen = HashSet::new();
    let ids = segments.iter().flat_map(|one| one.start()..one.end());
    ids.filter(|id| !seen.insert(*id)).count()
}

/// Lets two servers reserve in turn, as their drivers do, each above its own floor; no id repeats,
/// and the last error is returned.
async fn refusal_with(url: &str, options: StoreOptions) -> StoreError {
    let stores = [open_with(url, options).await, open_with(url, options).await];
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
    assert_eq!(duplicates(&segments), 0, "{segments:?}");
    last_error.expect("a segment is refused")
}

async fn refusal(database: &Database) -> StoreError {
    refusal_with(&database.url, StoreOptions::default()).await
}

fn check(error: &StoreError, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word} is not in: {text}");
    }
}

/// The database is refused for good, with the statement that corrects it.
async fn check_unfit(database: &Database, words: &[&str]) {
    let error = refusal_with(&database.url, allowing_weak()).await;
    assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
    check(&error, words);
}

/// The database is refused unless that is allowed.
async fn check_weak(database: &Database, words: &[&str]) {
    let error = refusal(database).await;
    assert!(error.weak_store().is_some(), "{error:?}");
    check(&error, words);
    let store = open_with(&database.url, allowing_weak()).await;
    take(&*store, "order", 10).await;
}

fn mariadb_with(server: &MariaDb, table: &str, more: &str) -> Database {
    let database = server.create_database();
    let insert = "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('order', 1000)";
    server.sql(&database.name, &format!("{table}; {insert}; {more}"));
    database
}

fn postgres_with(table: &str, max_id: &str, more: &str) -> Database {
    let database = shared_postgres().create_database();
    let table = format!(
        "CREATE {table} leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id {max_id}, \
        step int NOT NULL, description varchar(256), update_time timestamptz DEFAULT now()); \
        ALTER TABLE leaf_alloc OWNER TO leafid; \
        INSERT INTO leaf_alloc (biz_tag, step) VALUES ('order', 1000); {more}"
    );
    shared_postgres().sql(&database.name, &table);
    database
}

const BIGINT: &str = "bigint NOT NULL DEFAULT 1";

/// Guards that a trigger which changes the row is refused, and where it is allowed detected, with
/// the tag and both values.
#[tokio::test]
async fn mariadb_trigger_that_clamps() {
    let trigger = "CREATE TRIGGER clamp BEFORE UPDATE ON leaf_alloc FOR EACH ROW \
        SET NEW.max_id = LEAST(NEW.max_id, 2500)";
    let database = mariadb_with(shared_mariadb(), LEAF_ALLOC, trigger);
    let error = refusal_with(&database.url, allowing_weak()).await;
    let words = [
        "\"order\"",
        "max_id 2500 after 3500",
        "[2500, 3500) is lost",
    ];
    check(&error, &words);
    let error = refusal(&database).await;
    check(
        &error,
        &["the trigger clamp of leaf_alloc", "DROP TRIGGER clamp"],
    );
}

/// Guards the same in PostgreSQL, whose rows a trigger may change too.
#[tokio::test]
async fn postgres_trigger_that_clamps() {
    let trigger = "CREATE FUNCTION clamp() RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN NEW.max_id := LEAST(NEW.max_id, 2500); RETURN NEW; END'; \
        CREATE TRIGGER clamp BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION clamp()";
    let database = postgres_with("TABLE", BIGINT, trigger);
    let error = refusal_with(&database.url, allowing_weak()).await;
    let words = [
        "\"order\"",
        "max_id 2500 after 3500",
        "[2500, 3500) is lost",
    ];
    check(&error, &words);
    let error = refusal(&database).await;
    let words = [
        "the trigger clamp of leaf_alloc",
        "DROP TRIGGER clamp ON leaf_alloc",
    ];
    check(&error, &words);
}

/// Guards the same in SQLite.
#[tokio::test]
async fn sqlite_trigger_that_clamps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leafid.db");
    let url = format!("sqlite:{}", path.display());
    create(&*open_at(&url).await, "order").await;
    let trigger = "CREATE TRIGGER clamp AFTER UPDATE ON leaf_alloc WHEN NEW.max_id > 2500 \
        BEGIN UPDATE leaf_alloc SET max_id = 2500 WHERE biz_tag = NEW.biz_tag; END";
    sql_at(&url, trigger.into()).await;
    let error = refusal_with(&url, StoreOptions::default()).await;
    let words = [
        "\"order\"",
        "max_id 2500 after 3001",
        "[2001, 3001) is lost",
    ];
    check(&error, &words);
}

/// Guards that a server without strict mode does not store the nearest value that fits.
#[tokio::test]
async fn mariadb_without_strict_mode() {
    let server = MariaDb::start_with(&["--sql-mode="]);
    let table = LEAF_ALLOC.replace("bigint(20)", "int(11)");
    let high = "UPDATE leaf_alloc SET max_id = 2147480000";
    let database = mariadb_with(&server, &table, high);
    let words = [
        "max_id of leaf_alloc is int(11)",
        "ALTER TABLE leaf_alloc MODIFY max_id BIGINT",
    ];
    check_unfit(&database, &words).await;
    let generated = "`max_id` bigint(20) GENERATED ALWAYS AS (7) STORED";
    let table = LEAF_ALLOC.replace("`max_id` bigint(20) NOT NULL DEFAULT '1'", generated);
    let database = mariadb_with(&server, &table, "");
    check_unfit(&database, &["a generated column", "MODIFY max_id BIGINT"]).await;
}

/// Guards that a server's settings for all sessions do not hide unfit columns, or end the
/// connection after each commit.
#[tokio::test]
async fn mariadb_with_settings_of_its_own() {
    let server = MariaDb::start();
    let table = LEAF_ALLOC.replace("bigint(20)", "int(11)");
    let unfit = mariadb_with(&server, &table, "");
    let database = mariadb_with(&server, LEAF_ALLOC, "");
    let settings = "SET GLOBAL sql_select_limit = 1; SET GLOBAL completion_type = 2";
    server.sql(&database.name, settings);
    check_unfit(&unfit, &["max_id of leaf_alloc is int(11)"]).await;
    let store = open_at(&database.url).await;
    for _ in 0..3 {
        take(&*store, "order", 10).await;
    }
    create(&*store, "other").await;
}

/// Guards against names that compare as equal although they are different tags.
#[tokio::test]
async fn a_postgres_collation_that_knows_no_case() {
    let database = postgres_with("TABLE", BIGINT, "");
    let loose = "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', \
        deterministic = false); \
        ALTER TABLE leaf_alloc ALTER COLUMN biz_tag TYPE varchar(128) COLLATE loose";
    shared_postgres().sql(&database.name, loose);
    let words = ["has the collation loose", "TYPE varchar(128) COLLATE \"C\""];
    let refused = open_with(&database.url, allowing_weak()).await;
    check(
        &refused.reserve(&wish("order", 10)).await.unwrap_err(),
        &words,
    );
    let mend = "ALTER TABLE leaf_alloc ALTER COLUMN biz_tag TYPE varchar(128) COLLATE \"C\"";
    shared_postgres().sql(&database.name, mend);
    take(&*open_at(&database.url).await, "order", 10).await;
}

/// Guards unique keys that identify rows, and have additional columns.
#[tokio::test]
async fn a_postgres_key_that_includes_more() {
    let database = postgres_with("TABLE", BIGINT, "");
    let key = "ALTER TABLE leaf_alloc DROP CONSTRAINT leaf_alloc_pkey; \
        ALTER TABLE leaf_alloc ADD PRIMARY KEY (biz_tag) INCLUDE (max_id, step)";
    shared_postgres().sql(&database.name, key);
    take(&*open_at(&database.url).await, "order", 10).await;
    let late = "ALTER TABLE leaf_alloc DROP CONSTRAINT leaf_alloc_pkey; \
        ALTER TABLE leaf_alloc ADD PRIMARY KEY (biz_tag) DEFERRABLE INITIALLY DEFERRED";
    shared_postgres().sql(&database.name, late);
    check_weak(&database, &["the unique key of leaf_alloc"]).await;
}

/// Guards a connection that was made before our own table: what that records of a deleted tag
/// counts.
#[tokio::test]
async fn own_tables_that_came_later() {
    for (is_made_there, is_read) in [(true, true), (false, true), (false, false)] {
        let maria = mariadb_with(shared_mariadb(), LEAF_ALLOC, "");
        for database in [maria, postgres_with("TABLE", BIGINT, "")] {
            let early = open_at(&database.url).await;
            assert!(early.read(&[tag("other")]).await.unwrap().is_empty());
            let made = init(&url_of(&database.url), &StoreOptions::default()).await;
            made.unwrap();
            let late = open_at(&database.url).await;
            let taken = take(&*late, "order", 5000).await;
            late.delete(&tag("order")).await.unwrap();
            if is_made_there {
                create(&*early, "order").await;
            } else {
                let insert = "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('order', 1000)";
                sql_at(&database.url, insert.to_owned()).await;
            }
            if is_read {
                let found = early.read(&[tag("order")]).await.unwrap().remove(0);
                assert!(found.max_id >= taken.end(), "{found:?}");
            }
            let next = take(&*early, "order", 10).await;
            assert!(next.start() >= taken.end(), "{next} after {taken}");
        }
    }
}

/// Guards the same in PostgreSQL.
#[tokio::test]
async fn postgres_columns_that_do_not_fit() {
    for kind in ["integer", "double precision", "numeric(12)"] {
        let database = postgres_with("TABLE", &format!("{kind} NOT NULL DEFAULT 1"), "");
        let words = ["of leaf_alloc is ", "ALTER COLUMN max_id TYPE bigint"];
        check_unfit(&database, &words).await;
    }
    let database = postgres_with("TABLE", "bigint GENERATED ALWAYS AS (step) STORED", "");
    check_unfit(&database, &["a generated column", "DROP EXPRESSION"]).await;
}

/// Guards that our own tables are checked too, for segments and for worker ids alike.
#[tokio::test]
async fn own_tables_that_do_not_fit() {
    let (maria, postgres) = (shared_mariadb(), shared_postgres());
    let cases = [
        ("leafid_tag", "deleted_max_id"),
        ("leafid_worker", "until_ms"),
        ("leafid_worker", "epoch"),
    ];
    for (table, column) in cases {
        let (one, two) = (maria.create_database(), postgres.create_database());
        for database in [&one, &two] {
            let made = init(&url_of(&database.url), &StoreOptions::default()).await;
            made.unwrap();
        }
        maria.sql(
            &one.name,
            &format!("ALTER TABLE {table} MODIFY {column} INT"),
        );
        let alter = format!("ALTER TABLE {table} ALTER COLUMN {column} TYPE integer");
        postgres.sql(&two.name, &alter);
        for (database, alter) in [(one, "MODIFY"), (two, "ALTER COLUMN")] {
            let mend = format!("ALTER TABLE {table} {alter} {column}");
            check_unfit(&database, &[&mend]).await;
            let (url, pool) = (url_of(&database.url), LeaseOptions::new("default"));
            let leases = open_leases(&url, &pool, &allowing_weak()).await.unwrap();
            check(&leases.bind("leaf").await.unwrap_err(), &[&mend]);
        }
    }
}

/// Guards that tables which a crash empties, or which have no transactions, are refused.
#[tokio::test]
async fn tables_that_forget() {
    for engine in ["MyISAM", "Aria", "MEMORY"] {
        let table = LEAF_ALLOC.replace("InnoDB", engine);
        let database = mariadb_with(shared_mariadb(), &table, "");
        let words = ["the engine of leaf_alloc is", "allow_weak"];
        check_weak(&database, &words).await;
    }
    let database = postgres_with("UNLOGGED TABLE", BIGINT, "");
    let words = ["the persistence of leaf_alloc is unlogged", "SET LOGGED"];
    check_weak(&database, &words).await;
    for table in ["leafid_tag", "leafid_worker", "leafid_pool"] {
        let more = format!("CREATE UNLOGGED TABLE {table} (x bigint)");
        let database = postgres_with("TABLE", BIGINT, &more);
        let error = refusal(&database).await;
        check(
            &error,
            &[&format!("the persistence of {table} is unlogged")],
        );
    }
    let rule = "CREATE RULE keep AS ON UPDATE TO leaf_alloc DO ALSO NOTHING";
    let database = postgres_with("TABLE", BIGINT, rule);
    check_weak(&database, &["the rule keep of leaf_alloc"]).await;
}

/// Guards that a trigger which cannot change the row is allowed.
#[tokio::test]
async fn a_trigger_after_the_change_does_no_harm() {
    let trigger = "CREATE TABLE log (max_id bigint); CREATE TRIGGER audit AFTER UPDATE \
        ON leaf_alloc FOR EACH ROW INSERT INTO log VALUES (NEW.max_id)";
    let database = mariadb_with(shared_mariadb(), LEAF_ALLOC, trigger);
    take(&*open_at(&database.url).await, "order", 10).await;
    let logged = shared_mariadb().sql(&database.name, "SELECT max_id FROM log");
    assert_eq!(logged, "11");
}

/// Guards that Baidu's table is checked alike.
#[tokio::test]
async fn a_worker_node_table_that_forgets() {
    let server = shared_mariadb();
    let node = WorkerNode {
        host: "10.0.0.5".into(),
        port: "1-1".into(),
        kind: WorkerKind::Actual,
    };
    let weak = [
        (
            "ALTER TABLE WORKER_NODE ENGINE=MyISAM",
            "the engine of WORKER_NODE",
        ),
        (
            "CREATE TRIGGER again BEFORE INSERT ON WORKER_NODE FOR EACH ROW SET NEW.PORT = 'x'",
            "the trigger again of WORKER_NODE",
        ),
    ];
    for (spoil, word) in weak {
        let database = server.create_database();
        server.sql(&database.name, &format!("{}; {spoil}", baidu::TABLE_SQL));
        let url = url_of(&database.url);
        let error = baidu::assign(&url, &node, &StoreOptions::default()).await;
        check(&error.unwrap_err(), &[word]);
        let worker = baidu::assign(&url, &node, &allowing_weak()).await;
        assert_eq!(worker.unwrap(), 1);
    }
}

/// Guards that the check of what was stored accepts what is right, to the last number.
#[tokio::test]
async fn what_is_kept_passes() {
    for database in [
        mariadb_with(
            shared_mariadb(),
            LEAF_ALLOC,
            "UPDATE leaf_alloc SET max_id = 0",
        ),
        postgres_with("TABLE", BIGINT, ""),
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

/// Guards that a lease is read back as it was written, if a trigger is allowed that cuts it: others
/// would find the worker id free while it is held.
#[tokio::test]
async fn a_lease_that_is_cut_short_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}/leafid.db", folder.path().display());
    let (maria, postgres) = (shared_mariadb(), shared_postgres());
    let cases = [
        (
            maria.create_database().url,
            "CREATE TRIGGER clamp BEFORE UPDATE ON leafid_worker FOR EACH ROW \
            SET NEW.until_ms = LEAST(NEW.until_ms, 1500)",
        ),
        (
            postgres.create_database().url,
            "CREATE FUNCTION clamp() RETURNS trigger LANGUAGE plpgsql AS \
            'BEGIN NEW.until_ms := LEAST(NEW.until_ms, 1500); RETURN NEW; END'; \
            CREATE TRIGGER clamp BEFORE UPDATE ON leafid_worker FOR EACH ROW \
            EXECUTE FUNCTION clamp()",
        ),
        (
            file,
            "CREATE TRIGGER clamp AFTER UPDATE ON leafid_worker WHEN NEW.until_ms > 1500 BEGIN \
            UPDATE leafid_worker SET until_ms = 1500 WHERE worker = NEW.worker; END",
        ),
    ];
    for (url, trigger) in cases {
        init(&url_of(&url), &StoreOptions::default()).await.unwrap();
        let pool = LeaseOptions::new("default");
        let leases = open_leases(&url_of(&url), &pool, &allowing_weak()).await;
        let leases = leases.unwrap();
        leases.bind("leaf").await.unwrap();
        let record = |epoch, until_ms| LeaseRecord {
            worker: WorkerId::new(7),
            epoch,
            holder: "one".into(),
            address: "here".into(),
            until_ms,
        };
        let swap = |expected: Option<&LeaseRecord>, record| LeaseSwap {
            expected: expected.map(LeaseRecord::key),
            record,
        };
        let first = record(1, 1000);
        assert!(leases.swap(&swap(None, first.clone())).await.unwrap());
        sql_at(&url, trigger.into()).await;
        let cut = leases.swap(&swap(Some(&first), record(2, 9000))).await;
        let words = ["worker id 7", "until_ms: 1500", "nothing was changed"];
        check(&cut.unwrap_err(), &words);
        let kept = leases.lease(WorkerId::new(7)).await.unwrap();
        assert_eq!(kept, Some(first.clone()), "{url}");
        let fits = swap(Some(&first), record(2, 1200));
        assert!(leases.swap(&fits).await.unwrap());
    }
}
