//! Guards a restore of a dump into new tables that replace the old ones under a running server: ids
//! resume at once, and none repeats.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use leafid_testbed::{shared_mariadb, shared_postgres};
use tempfile::tempdir;

use crate::server_process::{Server, ids, run, until};

/// A database, and the statements of its kind.
struct Store<'a> {
    url: &'a str,
    sql: &'a dyn Fn(&str),
    copy: &'a str,
    rename: &'a str,
}

const DROP: &str = "DROP TABLE leaf_alloc; DROP TABLE leafid_tag";

/// A server, and all ids that it issued.
struct Caller {
    server: Server,
    seen: HashSet<u64>,
    twice: usize,
}

impl Caller {
    fn ask(&mut self) -> Result<(), String> {
        let (status, body) = self.server.get("/v1/tags/order/ids?count=10");
        if status != 200 {
            return Err(body);
        }
        for id in ids(&body) {
            self.twice += usize::from(!self.seen.insert(id));
        }
        Ok(())
    }

    fn take(&mut self, count: usize) {
        for _ in 0..count {
            until("ids", || self.ask().ok());
        }
    }
}

/// Starts a server on a tag of short segments. Tags without a row are created on first use.
fn start(folder: &Path, url: &str) -> Caller {
    run(folder, &["store", "init", "--store", url]).ok();
    let create = [
        "tag", "create", "order", "--step", "10", "--policy", "fixed",
    ];
    run(folder, &[&create[..], &["--store", url]].concat()).ok();
    let flags = ["--create-tags", "--data-dir", "own"];
    let mut caller = Caller {
        server: Server::start(folder, &[&["--store", url], &flags[..]].concat()),
        seen: HashSet::new(),
        twice: 0,
    };
    caller.take(20);
    caller
}

fn check(what: &str, folder: &Path, store: &Store<'_>) {
    let mut caller = start(folder, store.url);
    // Between two calls.
    (store.sql)(store.copy);
    (store.sql)(&format!("{DROP}; {}", store.rename));
    caller.take(20);
    // During some calls that find no table.
    (store.sql)(store.copy);
    (store.sql)(DROP);
    let refused = until("the gap is seen", || caller.ask().err());
    for word in ["store_unavailable", "table"] {
        assert!(refused.contains(word), "{what}: {refused}");
    }
    (store.sql)(store.rename);
    caller.take(20);
    assert_eq!(caller.twice, 0, "{what}: of {} ids", caller.seen.len());
    // Nor from a server that has seen nothing.
    caller.server.stop();
    caller.server = Server::start(folder, &["--store", store.url, "--data-dir", "own"]);
    caller.take(20);
    assert_eq!(caller.twice, 0, "{what}: of {} ids", caller.seen.len());
    caller.server.stop();
}

#[test]
fn tables_of_mariadb_are_put_in_place() {
    let (folder, database) = (tempdir().unwrap(), shared_mariadb().create_database());
    let store = Store {
        url: &database.url,
        sql: &|text| drop(shared_mariadb().sql(&database.name, text)),
        copy: "CREATE TABLE new_alloc LIKE leaf_alloc; \
            INSERT INTO new_alloc SELECT * FROM leaf_alloc; \
            CREATE TABLE new_tag LIKE leafid_tag; INSERT INTO new_tag SELECT * FROM leafid_tag",
        rename: "RENAME TABLE new_alloc TO leaf_alloc, new_tag TO leafid_tag",
    };
    check("MariaDB", folder.path(), &store);
}

#[test]
fn tables_of_postgres_are_put_in_place() {
    let (folder, database) = (tempdir().unwrap(), shared_postgres().create_database());
    let store = Store {
        url: &database.url,
        sql: &|text| drop(shared_postgres().sql(&database.name, text)),
        copy: "SET ROLE leafid; CREATE TABLE new_alloc (LIKE leaf_alloc INCLUDING ALL); \
            INSERT INTO new_alloc SELECT * FROM leaf_alloc; \
            CREATE TABLE new_tag (LIKE leafid_tag INCLUDING ALL); \
            INSERT INTO new_tag SELECT * FROM leafid_tag",
        rename: "ALTER TABLE new_alloc RENAME TO leaf_alloc; \
            ALTER TABLE new_tag RENAME TO leafid_tag",
    };
    check("PostgreSQL", folder.path(), &store);
}

/// In SQLite the server used to create tables anew that were missing for a moment, empty.
#[test]
fn tables_of_sqlite_are_put_in_place() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("leafid.db");
    let sqlite = |text: &str| {
        let program = "import sqlite3, sys\n\
            sqlite3.connect(sys.argv[1], timeout=20).executescript(sys.argv[2])";
        let mut python = Command::new("python3");
        let output = python.args(["-c", program]).arg(&file).arg(text).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let columns = "max_id INTEGER NOT NULL DEFAULT 1, step INTEGER NOT NULL, description TEXT, \
        update_time INTEGER NOT NULL DEFAULT 0";
    let own = "policy TEXT, step_max INTEGER, cover_seconds INTEGER, id_limit INTEGER, kind TEXT, \
        deleted_max_id INTEGER, segment_max INTEGER, format TEXT";
    let copy = format!(
        "CREATE TABLE new_alloc (biz_tag TEXT NOT NULL PRIMARY KEY, {columns}); \
        INSERT INTO new_alloc SELECT * FROM leaf_alloc; \
        CREATE TABLE new_tag (tag TEXT NOT NULL PRIMARY KEY, {own}); \
        INSERT INTO new_tag SELECT * FROM leafid_tag"
    );
    let url = format!("sqlite:{}", file.display());
    let store = Store {
        url: &url,
        sql: &sqlite,
        copy: &copy,
        rename: "ALTER TABLE new_alloc RENAME TO leaf_alloc; \
            ALTER TABLE new_tag RENAME TO leafid_tag",
    };
    check("SQLite", folder.path(), &store);
}

/// Guards that tables which another user restored, without privileges, are named with what to do,
/// and used as soon as that is done.
#[test]
fn tables_without_rights_are_named() {
    let (folder, database) = (tempdir().unwrap(), shared_postgres().create_database());
    let sql = |text: &str| drop(shared_postgres().sql(&database.name, text));
    let mut caller = start(folder.path(), &database.url);
    sql("CREATE TABLE kept (LIKE leaf_alloc INCLUDING ALL); \
        INSERT INTO kept SELECT * FROM leaf_alloc; \
        DROP TABLE leaf_alloc; ALTER TABLE kept RENAME TO leaf_alloc");
    let refused = until("a refusal", || caller.ask().err());
    assert!(refused.contains("grant SELECT, INSERT"), "{refused}");
    sql("ALTER TABLE leaf_alloc OWNER TO leafid");
    caller.take(20);
    assert_eq!(caller.twice, 0, "of {} ids", caller.seen.len());
    caller.server.stop();
}

/// Guards that tables which were restored without their keys are refused where a server first finds
/// them, with the statement that corrects it: a second row of a tag would repeat ids.
#[test]
fn tables_without_their_keys_are_refused() {
    let copy = "CREATE TABLE kept AS SELECT * FROM leaf_alloc; DROP TABLE leaf_alloc";
    for (url, sql, rename) in [
        {
            let database = shared_mariadb().create_database();
            let sql: Box<dyn Fn(&str)> = Box::new(move |text| {
                shared_mariadb().sql(&database.name, text);
            });
            (database.url, sql, "RENAME TABLE kept TO leaf_alloc")
        },
        {
            let database = shared_postgres().create_database();
            let sql: Box<dyn Fn(&str)> = Box::new(move |text| {
                shared_postgres().sql(&database.name, text);
            });
            let rename = "ALTER TABLE kept RENAME TO leaf_alloc; \
                ALTER TABLE leaf_alloc OWNER TO leafid";
            (database.url, sql, rename)
        },
    ] {
        let folder = tempdir().unwrap();
        run(folder.path(), &["store", "init", "--store", &url]).ok();
        run(folder.path(), &["tag", "create", "order", "--store", &url]).ok();
        sql(copy);
        sql(rename);
        let mend = "ALTER TABLE leaf_alloc ADD PRIMARY KEY (biz_tag)";
        for command in [&["store", "check"][..], &["serve", "--http", "127.0.0.1:0"]] {
            let refused = run(folder.path(), &[command, &["--store", &url]].concat());
            assert_eq!(refused.code, 1, "{refused:?}");
            assert!(refused.errors.contains(mend), "{refused:?}");
        }
        sql(mend);
        run(folder.path(), &["store", "check", "--store", &url]).ok();
    }
}
