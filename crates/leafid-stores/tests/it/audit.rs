//! The audit log, the same in every database: what is written is read, newest first, in a bounded
//! number of rows; and a database without its table says so.

use leafid::store::StoreError;
use leafid_stores::{AuditRecord, AuditStore, StoreOptions, init, open_audit};
use leafid_testbed::{LEAF_ALLOC, shared_mariadb, shared_postgres};

use crate::url_of;

fn open(url: &str) -> std::sync::Arc<dyn AuditStore> {
    open_audit(&url_of(url), &StoreOptions::default()).unwrap()
}

fn record(number: u64) -> AuditRecord {
    AuditRecord {
        at_ms: 1_800_000_000_000 + number,
        server: "10.1.2.3:8080".into(),
        token: "ops".into(),
        address: "[2001:db8::1]:4242".into(),
        action: "tag changed".into(),
        subject: "订单 '\"\\ %\u{1F600}".into(),
        before: "max_id=1".into(),
        after: String::new(),
    }
}

/// Writes and reads, beyond what the columns hold and beyond what the table keeps. `sql` returns
/// the number in the first column of the first row, if there is one.
async fn check(url: &str, sql: impl AsyncFn(&str) -> i64) {
    init(&url_of(url), &StoreOptions::default()).await.unwrap();
    let audit = open(url);
    assert!(audit.recent(10).await.unwrap().is_empty());
    for number in 0..3 {
        audit.append(&record(number)).await.unwrap();
    }
    let newest = audit.recent(2).await.unwrap();
    assert_eq!(newest, [record(2), record(1)]);
    let long = AuditRecord {
        subject: "字".repeat(5000),
        before: "a\0b".into(),
        after: "\u{1F600}".repeat(5000),
        token: "x".repeat(5000),
        ..record(3)
    };
    audit.append(&long).await.unwrap();
    let cut = audit.recent(1).await.unwrap().remove(0);
    assert_eq!(cut.after, "\u{1F600}".repeat(1024));
    assert_eq!((cut.subject.chars().count(), cut.token.len()), (255, 128));
    assert_eq!(cut.before, "ab");
    // 4 * 2^12 rows.
    let columns = "at_ms, server, token, address, action, subject, old_value, new_value";
    for _ in 0..12 {
        let double =
            format!("INSERT INTO leafid_audit ({columns}) SELECT {columns} FROM leafid_audit");
        sql(&double).await;
    }
    assert_eq!(sql("SELECT count(*) FROM leafid_audit").await, 16_384);
    // A process looks at its first row.
    let other = open(url);
    other.append(&record(4)).await.unwrap();
    assert_eq!(sql("SELECT count(*) FROM leafid_audit").await, 10_000);
    assert_eq!(other.recent(1).await.unwrap(), [record(4)]);
}

#[tokio::test]
async fn mariadb_keeps_the_last_changes() {
    let database = shared_mariadb().create_database();
    let sql = async |statement: &str| {
        let answer = shared_mariadb().sql(&database.name, statement);
        answer.trim().parse().unwrap_or(0)
    };
    check(&database.url, sql).await;
}

#[tokio::test]
async fn postgres_keeps_the_last_changes() {
    let database = shared_postgres().create_database();
    let sql = async |statement: &str| {
        let answer = shared_postgres().sql(&database.name, statement);
        answer.trim().parse().unwrap_or(0)
    };
    check(&database.url, sql).await;
}

#[tokio::test]
async fn sqlite_keeps_the_last_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leafid.db").display().to_string();
    let sql = async |statement: &str| {
        let connection = rusqlite::Connection::open(&path).unwrap();
        let mut statement = connection.prepare(statement).unwrap();
        let mut rows = statement.query([]).unwrap();
        let row = rows.next().unwrap();
        row.map_or(0, |row| row.get(0).unwrap())
    };
    check(&format!("sqlite:{path}"), sql).await;
}

/// Guards that a database with Leaf's own table names what is missing, and the command that creates
/// it.
#[tokio::test]
async fn a_database_without_the_table_says_so() {
    let mariadb = shared_mariadb().create_database();
    shared_mariadb().sql(&mariadb.name, LEAF_ALLOC);
    let postgres = shared_postgres().create_database();
    let table = "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, \
        max_id bigint NOT NULL, step int NOT NULL, description varchar(256), \
        update_time timestamptz NOT NULL DEFAULT now())";
    shared_postgres().sql(&postgres.name, table);
    let rights = format!(
        "CREATE USER alloc_only@'%' IDENTIFIED BY 'a'; \
        GRANT SELECT, INSERT, UPDATE, DELETE ON {}.leaf_alloc TO alloc_only@'%'",
        mariadb.name
    );
    shared_mariadb().sql(&mariadb.name, &rights);
    let (_, place) = mariadb.url.split_once('@').unwrap();
    let alloc_only = open(&format!("mysql://alloc_only:a@{place}"));
    let error = alloc_only.append(&record(1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
    for url in [&mariadb.url, &postgres.url] {
        let audit = open(url);
        let errors = [
            audit.append(&record(1)).await.unwrap_err(),
            audit.recent(1).await.unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
            let text = error.to_string();
            assert!(
                text.contains("leafid_audit") && text.contains("leafid_stores::init"),
                "{text}"
            );
        }
        init(&url_of(url), &StoreOptions::default()).await.unwrap();
        audit.append(&record(1)).await.unwrap();
        assert_eq!(audit.recent(5).await.unwrap(), [record(1)]);
    }
}
