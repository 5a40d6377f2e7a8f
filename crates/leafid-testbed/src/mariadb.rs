//! `MariaDb`: a MariaDB server of its own.

mod galera;

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::child::{
    Database, POLL, POLLS_MAX, RunAs, ServerProcess, find_program, free_port, is_root, new_folder,
    run, usual_places,
};
use crate::server::{PASSWORD, PASSWORD_IN_URL, password_methods, server_methods};

const PACKAGE: &str = "mariadb-server";
/// A MariaDB server on a free port of 127.0.0.1, with its files in a temporary folder.
///
/// Every commit is flushed (`innodb_flush_log_at_trx_commit=1`). The user of
/// [`Database::url`] owns its database and is no administrator.
#[derive(Debug)]
pub struct MariaDb {
    process: ServerProcess,
    databases: AtomicU64,
}

server_methods!(MariaDb, stopped by "TERM");
password_methods!(MariaDb);

/// The server that all tests of this process share; each takes its own database.
#[must_use]
pub fn shared_mariadb() -> &'static MariaDb {
    static SHARED: OnceLock<MariaDb> = OnceLock::new();
    SHARED.get_or_init(MariaDb::start)
}

impl MariaDb {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// When it does not come up; the message has the end of its log, or the package to install.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments, such as `--innodb-flush-log-at-trx-commit=2`.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with(arguments: &[&str]) -> Self {
        let mut server = Self::new();
        install(&server.process);
        server.set_arguments(arguments);
        server.start_again();
        server.create_user();
        server
    }

    fn new() -> Self {
        let folder = new_folder("leafid-mariadb-");
        let program = program("mariadbd");
        Self {
            process: ServerProcess::new(folder, free_port(), RunAs::Caller, program),
            databases: AtomicU64::new(0),
        }
    }

    fn set_arguments(&mut self, arguments: &[&str]) {
        let arguments = server_arguments(&self.process, arguments);
        self.process.set_arguments(arguments);
    }

    fn create_user(&self) {
        self.sql(
            "mysql",
            &format!("CREATE USER leafid@'%' IDENTIFIED BY '{PASSWORD}'"),
        );
    }

    /// Starts a server that is a Galera cluster of one node.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_galera() -> Self {
        let arguments = galera::arguments(free_port(), "gcomm://");
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Self::start_with(&arguments)
    }

    /// Takes a Galera node out of its cluster: it still answers, but reads and writes no table of
    /// an engine.
    pub fn leave_cluster(&self) {
        let nobody = format!(
            "SET GLOBAL wsrep_cluster_address = 'gcomm://127.0.0.1:{}'",
            free_port()
        );
        self.sql("mysql", &nobody);
        self.await_galera("OFF");
    }

    /// Makes it a cluster again.
    pub fn form_cluster(&self) {
        self.sql("mysql", "SET GLOBAL wsrep_cluster_address = 'gcomm://'");
        self.await_galera("ON");
    }

    pub(crate) fn await_galera(&self, wanted: &str) {
        for _ in 0..POLLS_MAX {
            if self
                .sql("mysql", "SHOW STATUS LIKE 'wsrep_ready'")
                .ends_with(wanted)
            {
                return;
            }
            std::thread::sleep(POLL);
        }
        panic!("wsrep_ready is not {wanted}");
    }

    /// Creates an empty database with a name of its own.
    pub fn create_database(&self) -> Database {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        self.create_database_named(&format!("t{number}"))
    }

    /// Creates an empty database of this name.
    pub fn create_database_named(&self, name: &str) -> Database {
        self.sql(
            "mysql",
            &format!(
                "CREATE DATABASE {name} CHARACTER SET utf8mb4; GRANT ALL ON {name}.* TO leafid@'%'"
            ),
        );
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
        format!("mysql://leafid:{PASSWORD_IN_URL}@127.0.0.1:{port}/{database}")
    }

    /// Runs SQL as the administrator and returns its output: tabs between columns, no heading.
    ///
    /// # Panics
    ///
    /// When a statement fails.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        run(self.client(database).args(["-e", statements]))
    }

    fn is_ready(&self) -> bool {
        let mut client = self.client("mysql");
        client.args(["-e", "SELECT 1"]);
        client.output().is_ok_and(|output| output.status.success())
    }

    fn client(&self, database: &str) -> Command {
        let mut command = Command::new(program("mariadb"));
        command.args([
            "--no-defaults",
            "--batch",
            "--skip-column-names",
            "--user=root",
        ]);
        command.arg(format!("--socket={}", self.socket().display()));
        command.arg(format!("--database={database}"));
        command.arg("--default-character-set=utf8mb4");
        command
    }

    fn socket(&self) -> PathBuf {
        self.process.folder.join("sock")
    }
}

fn program(name: &str) -> PathBuf {
    find_program(&usual_places(name), PACKAGE)
}

fn install(process: &ServerProcess) {
    let mut command = Command::new(program("mariadb-install-db"));
    command.args([
        "--no-defaults",
        "--skip-test-db",
        "--auth-root-authentication-method=normal",
    ]);
    command.arg(format!(
        "--datadir={}",
        process.folder.join("data").display()
    ));
    command.args(["--innodb-log-file-size=16M", "--aria-log-file-size=8M"]);
    // Servers that start at once clear each other's files in a folder for temporary files.
    run(Command::new("mkdir").arg(process.folder.join("tmp")));
    command.arg(format!("--tmpdir={}", process.folder.join("tmp").display()));
    command.args(user_argument());
    run(&mut command);
}

fn user_argument() -> Option<&'static str> {
    is_root().then_some("--user=root")
}

fn server_arguments(process: &ServerProcess, more: &[&str]) -> Vec<String> {
    let folder = process.folder.display();
    let mut arguments = vec![
        "--no-defaults".to_owned(),
        format!("--datadir={folder}/data"),
        format!("--socket={folder}/sock"),
        format!("--pid-file={folder}/pid"),
        format!("--tmpdir={folder}/tmp"),
        format!("--port={}", process.port),
        "--bind-address=127.0.0.1".to_owned(),
        "--skip-name-resolve".to_owned(),
        "--innodb-flush-log-at-trx-commit=1".to_owned(),
        "--innodb-log-file-size=16M".to_owned(),
        "--innodb-buffer-pool-size=64M".to_owned(),
        "--performance-schema=OFF".to_owned(),
    ];
    arguments.extend(user_argument().map(str::to_owned));
    arguments.extend(more.iter().map(|&argument| argument.to_owned()));
    arguments
}
