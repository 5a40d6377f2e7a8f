//! `PgBouncer`: a pooler between programs and a PostgreSQL server.

use std::fs;
use std::process::Command;

use crate::child::{
    RunAs, ServerProcess, find_program, free_port, is_root, new_folder, run, usual_places,
};
use crate::postgres::Postgres;
use crate::server::{PASSWORD, server_methods};

const PACKAGE: &str = "pgbouncer";

/// A PgBouncer on a free port of 127.0.0.1 that lends a connection of the server for one
/// transaction at a time, and lets no start-up parameter through that it does not know.
#[derive(Debug)]
pub struct PgBouncer {
    process: ServerProcess,
}

server_methods!(PgBouncer, stopped by "TERM");

impl PgBouncer {
    /// Starts one before that server, to which it makes three connections for each database.
    /// [`Postgres::url_at`] with its [`port`](Self::port) is where a program finds a database.
    ///
    /// # Panics
    ///
    /// When it does not come up; the message has the end of its log, or the package to install.
    #[must_use]
    pub fn before(server: &Postgres) -> Self {
        let folder = new_folder("leafid-pgbouncer-");
        let run_as = if is_root() {
            RunAs::PostgresUser
        } else {
            RunAs::Caller
        };
        let program = find_program(&usual_places("pgbouncer"), PACKAGE);
        let mut process = ServerProcess::new(folder, free_port(), run_as, program);
        let settings = settings(&process, server.port());
        let users = format!("\"leafid\" \"{PASSWORD}\"\n");
        for (name, text) in [("pgbouncer.ini", settings), ("users", users)] {
            let path = process.folder.join(name);
            fs::write(&path, text)
                .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        }
        if run_as == RunAs::PostgresUser {
            run(Command::new("chown")
                .args(["-R", "postgres:"])
                .arg(&process.folder));
        }
        process.set_arguments(vec!["pgbouncer.ini".to_owned()]);
        let pooler = Self { process };
        pooler.start_again();
        pooler
    }

    /// It listens as soon as it is ready.
    fn is_ready(&self) -> bool {
        self.port() > 0
    }
}

fn settings(process: &ServerProcess, server_port: u16) -> String {
    format!(
        "[databases]\n* = host=127.0.0.1 port={server_port}\n[pgbouncer]\n\
        listen_addr = 127.0.0.1\nlisten_port = {}\nunix_socket_dir =\n\
        auth_type = scram-sha-256\nauth_file = users\n\
        pool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 1000\nserver_idle_timeout = 2\n",
        process.port
    )
}
