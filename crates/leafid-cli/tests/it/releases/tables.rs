//! The tables of SQLite, MariaDB and PostgreSQL as SQL.

use std::path::{Path, PathBuf};
use std::process::Command;

use leafid_testbed::{Database, run, shared_mariadb, shared_postgres};
use rusqlite::Connection;

use super::place::Place;
use crate::server_process;

/// Creates the tables as people do.
fn init(url: &str) {
    let folder = tempfile::tempdir().unwrap();
    server_process::run(folder.path(), &["store", "init", "--store", url]).ok();
}

fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (user, place) = rest.split_once('@').unwrap();
    let (user, _) = user.split_once(':').unwrap();
    format!("{scheme}://{user}@{place}")
}

/// A row as a statement.
fn insert(table: &str, columns: &[String], values: &[String]) -> String {
    let (columns, values) = (columns.join(", "), values.join(", "));
    format!("INSERT INTO {table} ({columns}) VALUES ({values});\n")
}

pub(super) struct Sqlite {
    file: PathBuf,
}

impl Sqlite {
    pub(super) fn new(folder: &Path) -> Self {
        let file = folder.join("leafid-data/leafid.db");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        Self { file }
    }
}

fn texts(connection: &Connection, select: &str) -> Vec<Vec<String>> {
    let mut statement = connection.prepare(select).unwrap();
    let len = statement.column_count();
    let rows = statement.query_map([], |row| {
        let texts = (0..len).map(|column| row.get(column));
        texts.collect::<Result<Vec<String>, _>>()
    });
    rows.unwrap().map(Result::unwrap).collect()
}

impl Place for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn settings(&self) -> Vec<String> {
        vec!["--store".into(), format!("sqlite:{}", self.file.display())]
    }

    fn has_tags(&self) -> bool {
        true
    }

    fn written(&self, _: &Path) -> String {
        let connection = Connection::open(&self.file).unwrap();
        let tables = "SELECT name, sql FROM sqlite_master WHERE type = 'table' \
            AND name NOT LIKE 'sqlite%' ORDER BY name";
        let mut text = String::new();
        for table in texts(&connection, tables) {
            let (table, create) = (&table[0], &table[1]);
            text.push_str(&format!("{create};\n"));
            let names = format!("SELECT name FROM pragma_table_info('{table}')");
            let columns = texts(&connection, &names).concat();
            let quoted = columns.iter().map(|column| format!("quote({column})"));
            let quoted = quoted.collect::<Vec<_>>().join(", ");
            let rows = texts(
                &connection,
                &format!("SELECT {quoted} FROM {table} ORDER BY 1"),
            );
            text.extend(rows.iter().map(|row| insert(table, &columns, row)));
        }
        text
    }

    fn put(&self, written: &str) {
        let connection = Connection::open(&self.file).unwrap();
        connection.execute_batch(written).unwrap();
    }

    fn location(&self) -> String {
        format!("sqlite:{}", self.file.display())
    }
}

pub(super) struct MariaDbTables {
    database: Database,
}

impl MariaDbTables {
    pub(super) fn new() -> Self {
        let database = shared_mariadb().create_database();
        Self { database }
    }

    /// The rows of a query; the client escapes line feeds and backslashes.
    fn lines(&self, select: &str) -> Vec<String> {
        let text = shared_mariadb().sql(&self.database.name, select);
        let lines = text.lines();
        lines
            .map(|line| line.replace("\\n", "\n").replace("\\\\", "\\"))
            .collect()
    }
}

impl Place for MariaDbTables {
    fn name(&self) -> &'static str {
        "mariadb"
    }

    fn settings(&self) -> Vec<String> {
        vec!["--store".into(), self.database.url.clone()]
    }

    fn has_tags(&self) -> bool {
        true
    }

    fn written(&self, _: &Path) -> String {
        let mut text = String::new();
        for table in self.lines("SHOW TABLES") {
            let create = self.lines(&format!("SHOW CREATE TABLE {table}")).remove(0);
            let (_, create) = create.split_once('\t').unwrap();
            text.push_str(&format!("{create};\n"));
            let columns = self.lines(&format!(
                "SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' \
                AND table_schema = DATABASE() ORDER BY ordinal_position"
            ));
            let quoted = columns.iter().map(|column| format!("QUOTE({column})"));
            let quoted = quoted.collect::<Vec<_>>().join(", ', ', ");
            let rows = self.lines(&format!("SELECT CONCAT({quoted}) FROM {table} ORDER BY 1"));
            text.extend(rows.into_iter().map(|row| insert(&table, &columns, &[row])));
        }
        text
    }

    fn put(&self, written: &str) {
        shared_mariadb().sql(&self.database.name, written);
    }

    fn location(&self) -> String {
        without_password(&self.database.url)
    }
}

pub(super) struct PostgresTables {
    database: Database,
}

impl PostgresTables {
    pub(super) fn new() -> Self {
        let database = shared_postgres().create_database();
        Self { database }
    }
}

impl Place for PostgresTables {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn settings(&self) -> Vec<String> {
        vec!["--store".into(), self.database.url.clone()]
    }

    fn has_tags(&self) -> bool {
        true
    }

    fn written(&self, _: &Path) -> String {
        let mut dump = Command::new("pg_dump");
        dump.args(["--column-inserts", "--no-owner", "--no-privileges"]);
        dump.arg(format!("--dbname={}", self.database.url));
        // What is left out depends on the version of pg_dump alone.
        let is_kept = |line: &&str| {
            let others = ["--", "SET ", "\\", "SELECT pg_catalog.set_config"];
            !line.is_empty() && !others.iter().any(|start| line.starts_with(start))
        };
        let text = run(&mut dump);
        let lines = text.lines().filter(is_kept);
        lines.map(|line| format!("{line}\n")).collect()
    }

    fn put(&self, written: &str) {
        shared_postgres().sql(&self.database.name, &format!("SET ROLE leafid;\n{written}"));
    }

    fn location(&self) -> String {
        without_password(&self.database.url)
    }
}

/// Creates the tables in a database of a server.
pub(super) fn create(place: &dyn Place) {
    if place.has_tags() && place.name() != "sqlite" {
        init(&place.settings()[1]);
    }
}
