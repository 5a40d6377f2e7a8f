//! `Redis`: a Redis server of its own.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::child::{
    Database, RunAs, ServerProcess, find_program, free_port, new_folder, run, usual_places,
};
use crate::server::{PASSWORD, PASSWORD_IN_URL, password_methods, server_methods};

const PACKAGE: &str = "redis-server";
/// Tests that share a server take a database each.
const DATABASES_MAX: u64 = 10_000;

/// A Redis server on a free port of 127.0.0.1, with its files in a temporary folder.
///
/// Every write is flushed before it is answered (`appendonly yes`, `appendfsync always`).
///
/// ```no_run
/// let server = leafid_testbed::Redis::start();
/// server.command(&["SET", "order", "7"]);
/// server.kill();
/// server.start_again();
/// assert_eq!(server.command(&["GET", "order"]), "7");
/// ```
#[derive(Debug)]
pub struct Redis {
    process: ServerProcess,
    databases: AtomicU64,
}

server_methods!(Redis, stopped by "TERM");
password_methods!(Redis);

/// The server that all tests of this process share; each takes its own database.
#[must_use]
pub fn shared_redis() -> &'static Redis {
    static SHARED: OnceLock<Redis> = OnceLock::new();
    SHARED.get_or_init(Redis::start)
}

impl Redis {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// When it does not come up; the message has the end of its log, or the package to install.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments, such as `--appendfsync` and `everysec`.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with(arguments: &[&str]) -> Self {
        let folder = new_folder("leafid-redis-");
        let program = program("redis-server");
        let mut process = ServerProcess::new(folder, free_port(), RunAs::Caller, program);
        process.set_arguments(server_arguments(&process, arguments));
        let server = Self {
            process,
            databases: AtomicU64::new(0),
        };
        server.start_again();
        server
    }

    /// An empty database with a number of its own; never 0, which [`url`](Self::url) names.
    ///
    /// # Panics
    ///
    /// When a test takes 10,000 of them.
    pub fn create_database(&self) -> Database {
        let number = self.databases.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(number < DATABASES_MAX, "{self:?} has no more databases");
        let name = number.to_string();
        let url = format!(
            "redis://:{PASSWORD_IN_URL}@127.0.0.1:{}/{name}",
            self.port()
        );
        Database { name, url }
    }

    /// Where a program finds database 0 of this server.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same behind another port, such as that of a [`Proxy`](crate::Proxy).
    #[must_use]
    pub fn url_at(&self, port: u16) -> String {
        url(port, 0)
    }

    /// Runs a command on database 0 and returns its output: one line for each value.
    ///
    /// # Panics
    ///
    /// When it fails.
    pub fn command(&self, words: &[&str]) -> String {
        run(self.client().args(words))
    }

    /// Empties all databases.
    pub fn flush(&self) {
        self.command(&["FLUSHALL"]);
    }

    fn is_ready(&self) -> bool {
        let output = self.client().arg("PING").output();
        output.is_ok_and(|output| output.stdout == b"PONG\n")
    }

    fn client(&self) -> Command {
        let mut command = Command::new(program("redis-cli"));
        command.args(["-e", "-h", "127.0.0.1", "-p", &self.port().to_string()]);
        command.env("REDISCLI_AUTH", PASSWORD);
        command
    }
}

fn url(port: u16, database: u64) -> String {
    format!("redis://:{PASSWORD_IN_URL}@127.0.0.1:{port}/{database}")
}

fn program(name: &str) -> PathBuf {
    find_program(&usual_places(name), PACKAGE)
}

fn server_arguments(process: &ServerProcess, more: &[&str]) -> Vec<String> {
    let folder = process.folder.display().to_string();
    let port = process.port.to_string();
    let databases = DATABASES_MAX.to_string();
    let arguments = [
        ["--port", &port],
        ["--bind", "127.0.0.1"],
        ["--dir", &folder],
        ["--logfile", "server.log"],
        ["--databases", &databases],
        ["--requirepass", PASSWORD],
        ["--appendonly", "yes"],
        ["--appendfsync", "always"],
        // The log of commands alone keeps everything; snapshots beside it only cost time.
        ["--save", ""],
    ];
    let arguments = arguments.as_flattened().iter().chain(more);
    arguments.map(|&argument| argument.to_owned()).collect()
}
