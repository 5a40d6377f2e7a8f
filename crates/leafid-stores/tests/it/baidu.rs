//! Baidu's table as a source of worker ids.

use leafid::store::StoreError;
use leafid_stores::baidu::{TABLE_SQL, WorkerKind, WorkerNode, assign};
use leafid_stores::{StoreOptions, StoreUrl};
use leafid_testbed::{MariaDb, shared_mariadb};

use crate::{chain, url_of};

/// As uid-generator creates it.
const BAIDU_SQL: &str = "CREATE TABLE WORKER_NODE (\
    ID BIGINT NOT NULL AUTO_INCREMENT COMMENT 'auto increment id', \
    HOST_NAME VARCHAR(64) NOT NULL COMMENT 'host name', \
    PORT VARCHAR(64) NOT NULL COMMENT 'port', \
    TYPE INT NOT NULL COMMENT 'node type: ACTUAL or CONTAINER', \
    LAUNCH_DATE DATE NOT NULL COMMENT 'launch date', \
    MODIFIED TIMESTAMP NOT NULL COMMENT 'modified time', \
    CREATED TIMESTAMP NOT NULL COMMENT 'created time', \
    PRIMARY KEY(ID)) COMMENT='DB WorkerID Assigner for UID Generator',ENGINE = INNODB";

fn node(host: &str, kind: WorkerKind) -> WorkerNode {
    WorkerNode {
        host: host.into(),
        port: "1900000000000-4711".into(),
        kind,
    }
}

async fn assigned(url: &StoreUrl, node: &WorkerNode) -> Result<u64, StoreError> {
    assign(url, node, &StoreOptions::default()).await
}

/// Guards that rows are compatible with Baidu's servers, which may run beside us, and that each
/// start gets a number of its own.
#[tokio::test(flavor = "multi_thread")]
async fn rows_are_as_baidu_writes_them() {
    let server = shared_mariadb();
    for table in [BAIDU_SQL, TABLE_SQL] {
        let database = server.create_database();
        server.sql(&database.name, table);
        let url = url_of(&database.url);
        let worker = assigned(&url, &node("10.0.0.5", WorkerKind::Container)).await;
        assert_eq!(worker.unwrap(), 1);
        let starts: Vec<_> = (0..20)
            .map(|_| {
                let url = url.clone();
                tokio::spawn(async move {
                    let node = node("h\u{f4}te", WorkerKind::Actual);
                    assigned(&url, &node).await.unwrap()
                })
            })
            .collect();
        let mut workers = Vec::new();
        for start in starts {
            workers.push(start.await.unwrap());
        }
        workers.sort_unstable();
        assert_eq!(workers, (2..=21).collect::<Vec<u64>>());
        let select = "SELECT ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE = CURDATE(), \
            ABS(TIMESTAMPDIFF(SECOND, MODIFIED, NOW())) < 60, CREATED = MODIFIED \
            FROM WORKER_NODE WHERE ID < 3";
        assert_eq!(
            server.sql(&database.name, select),
            "1\t10.0.0.5\t1900000000000-4711\t1\t1\t1\t1\n\
            2\th\u{f4}te\t1900000000000-4711\t2\t1\t1\t1"
        );
    }
}

/// Guards that the number is the one that the server assigned, even with an increment above 1.
#[tokio::test]
async fn a_server_that_counts_in_steps() {
    let server =
        MariaDb::start_with(&["--auto-increment-increment=10", "--auto-increment-offset=7"]);
    let database = server.create_database();
    server.sql(&database.name, BAIDU_SQL);
    for worker in [7, 17, 27] {
        let answer = assigned(&url_of(&database.url), &node("a", WorkerKind::Actual)).await;
        assert_eq!(answer.unwrap(), worker);
    }
}

/// Guards that errors say what to do.
#[tokio::test]
async fn what_is_missing_is_said() {
    let server = shared_mariadb();
    let database = server.create_database();
    let url = url_of(&database.url);
    let actual = node("10.0.0.5", WorkerKind::Actual);
    let error = assigned(&url, &actual).await.unwrap_err();
    assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
    assert!(error.to_string().contains(TABLE_SQL), "{error}");

    let plain = TABLE_SQL.replace("AUTO_INCREMENT", "DEFAULT 5");
    server.sql(&database.name, &plain);
    let error = assigned(&url, &actual).await.unwrap_err();
    assert!(error.to_string().contains("AUTO_INCREMENT"), "{error}");

    let long = node(&"h".repeat(65), WorkerKind::Actual);
    let error = assigned(&url, &long).await.unwrap_err();
    assert!(error.to_string().contains("at most 64"), "{error}");

    let file = url_of("sqlite:leafid.db");
    let error = assigned(&file, &actual).await.unwrap_err();
    assert!(error.to_string().contains("MySQL or MariaDB"), "{error}");
    let away = url_of("mysql://leaf:s3cret@127.0.0.1:1/leaf");
    let error = assigned(&away, &actual).await.unwrap_err();
    assert!(error.is_retryable());
    assert!(chain(&error).contains("cannot insert a row into WORKER_NODE"));
    assert!(!chain(&error).contains("s3cret"));
}
