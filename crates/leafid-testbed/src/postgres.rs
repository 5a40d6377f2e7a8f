//! `Postgres`: a PostgreSQL server of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::child::{
    Database, RunAs, ServerProcess, command_as, find_program, free_port, is_root, new_folder, run,
    usual_places,
};
use crate::server::{PASSWORD, PASSWORD_IN_URL, password_methods, server_methods};

const PACKAGE: &str = "postgresql";

/// A PostgreSQL server on a free port of 127.0.0.1, with its files in a temporary folder.
///
/// Every commit is flushed (`fsync` and `synchronous_commit` on). The user of [`Database::url`]
/// owns its database and is no superuser. PostgreSQL refuses to run as root, so a test that does
/// runs it as the user `postgres`.
#[derive(Debug)]
pub struct Postgres {
    process: ServerProcess,
    databases: AtomicU64,
}

server_methods!(Postgres, stopped by "INT");
password_methods!(Postgres);

/// The server that all tests of this process share; each takes its own database.
#[must_use]
pub fn shared_postgres() -> &'static Postgres {
    static SHARED: OnceLock<Postgres> = OnceLock::new();
    SHARED.get_or_init(Postgres::start)
}

impl Postgres {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// When it does not come up; the message has the end of its log, or the package to install.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more settings, such as `fsync=off`.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with(settings: &[&str]) -> Self {
        let folder = new_folder("leafid-postgres-");
        let run_as = if is_root() {
            RunAs::PostgresUser
        } else {
            RunAs::Caller
        };
        let mut process = ServerProcess::new(folder, free_port(), run_as, program("postgres"));
        install(&process, run_as);
        process.set_arguments(server_arguments(&process, settings));
        let server = Self {
            process,
            databases: AtomicU64::new(0),
        };
        server.start_again();
        server.sql(
            "postgres",
            &format!("CREATE ROLE leafid LOGIN PASSWORD '{PASSWORD}'"),
        );
        server
    }

    /// Creates an empty database with a name of its own.
    pub fn create_database(&self) -> Database {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        self.create_database_named(&format!("t{number}"))
    }

    /// Creates an empty database of this name.
    pub fn create_database_named(&self, name: &str) -> Database {
        self.sql("postgres", &format!("CREATE DATABASE {name} OWNER leafid"));
        Database {
            name: name.to_owned(),
            url: self.url(name),
        }
    }

    /// Where a program finds a database of this server.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        self.url_at(self.port(), database)
    }

    /// The same behind another port, such as that of a [`Proxy`](crate::Proxy).
    #[must_use]
    pub fn url_at(&self, port: u16, database: &str) -> String {
        format!("postgres://leafid:{PASSWORD_IN_URL}@127.0.0.1:{port}/{database}")
    }

    /// Runs SQL as the superuser and returns its output: tabs between columns, no heading.
    ///
    /// # Panics
    ///
    /// When a statement fails.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        run(self.client(database).args(["-c", statements]))
    }

    fn is_ready(&self) -> bool {
        let mut client = self.client("postgres");
        client.args(["-c", "SELECT 1"]);
        client.output().is_ok_and(|output| output.status.success())
    }

    fn client(&self, database: &str) -> Command {
        let mut command = Command::new(program("psql"));
        command.args(["-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1"]);
        command.args(["-h", "127.0.0.1", "-U", "postgres", "-d", database]);
        command.args(["-p", &self.port().to_string()]);
        command
            .env("PGPASSWORD", PASSWORD)
            .env("PGCLIENTENCODING", "UTF8");
        command
    }
}

/// Debian keeps every major version in a folder of its own; the newest one is taken.
fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut candidates: Vec<PathBuf> = versions
        .map(|version| version.path().join("bin").join(name))
        .collect();
    candidates.sort();
    candidates.reverse();
    candidates.extend(usual_places(name));
    find_program(&candidates, PACKAGE)
}

fn install(process: &ServerProcess, run_as: RunAs) {
    let password_file = process.folder.join("password");
    fs::write(&password_file, PASSWORD)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", password_file.display()));
    if run_as == RunAs::PostgresUser {
        run(Command::new("chown")
            .args(["-R", "postgres:"])
            .arg(&process.folder));
    }
    let mut command = command_as(run_as, &program("initdb"));
    command.current_dir(&process.folder);
    command.args([
        "--no-sync",
        "-U",
        "postgres",
        "-A",
        "scram-sha-256",
        "-E",
        "UTF8",
    ]);
    command.args(["--locale=C.UTF-8", "--pwfile=password", "-D", "data"]);
    run(&mut command);
}

fn server_arguments(process: &ServerProcess, more: &[&str]) -> Vec<String> {
    let folder = process.folder.display();
    let mut arguments = vec![
        "-D".to_owned(),
        format!("{folder}/data"),
        "-p".to_owned(),
        process.port.to_string(),
        "-k".to_owned(),
        folder.to_string(),
    ];
    let settings = [
        "listen_addresses=127.0.0.1",
        "fsync=on",
        "synchronous_commit=on",
        // What a killed server leaves is then in its folder, and goes with it.
        "dynamic_shared_memory_type=mmap",
    ];
    for setting in settings.iter().chain(more) {
        arguments.extend(["-c".to_owned(), (*setting).to_owned()]);
    }
    arguments
}
