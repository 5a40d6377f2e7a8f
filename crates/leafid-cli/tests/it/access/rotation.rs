//! Guards that a secret is rotated by SIGHUP under load without a refused call.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tempfile::tempdir;

use super::{Connection, create, redis_address, reload, secret, write};
use crate::server_process::{Server, until};

/// The secret that callers show, and how often they were answered.
#[derive(Default)]
struct Load {
    uses_new: AtomicBool,
    is_over: AtomicBool,
    by_old: AtomicUsize,
    by_new: AtomicUsize,
    by_open_connection: AtomicUsize,
}

impl Load {
    /// Takes ids over HTTP, with the secret that is due.
    fn take_over_http(&self, server: &Server) {
        let mut http = Connection::open(server.address());
        while !self.is_over.load(Ordering::SeqCst) {
            let (name, answered) = match self.uses_new.load(Ordering::SeqCst) {
                false => ("old", &self.by_old),
                true => ("new", &self.by_new),
            };
            assert_eq!(http.get("/v1/tags/order/ids", name), "200", "{name}");
            answered.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Takes ids over one connection that authenticated with the old secret.
    fn take_over_resp(&self, server: &Server) {
        let mut redis = Connection::open(&redis_address(server));
        assert_eq!(redis.redis(&format!("AUTH a {}", secret("old"))), "+OK");
        while !self.is_over.load(Ordering::SeqCst) {
            let answer = redis.redis("INCR order");
            assert!(answer.starts_with(':'), "{answer}");
            self.by_open_connection.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Waits until each caller has been answered a hundred times more.
    fn go_on(&self) {
        let counts = || {
            let of = |count: &AtomicUsize| count.load(Ordering::SeqCst);
            [
                of(&self.by_old) + of(&self.by_new),
                of(&self.by_open_connection),
            ]
        };
        let before = counts();
        until("calls", || {
            let is_more = |(now, before)| now >= before + 100;
            let both = counts().into_iter().zip(before).all(is_more);
            both.then_some(())
        });
    }
}

fn file(secrets: &[(&str, &str)]) -> String {
    let lines = secrets
        .iter()
        .map(|(key, name)| format!("{key} = '{}'\n", secret(name)));
    format!("[[token]]\nname = 'a'\n{}", lines.collect::<String>())
}

#[test]
fn a_secret_is_rotated_under_load() {
    let folder = tempdir().unwrap();
    write(folder.path(), &file(&[("secret", "old")]));
    create(folder.path(), &["order"]);
    let server = Server::start(folder.path(), &["--access-file", "access.toml"]);
    let load = Load::default();
    let status = |name| server.get_as("/v1/tags/order/ids", &secret(name)).0;
    std::thread::scope(|scope| {
        let callers = [
            scope.spawn(|| load.take_over_http(&server)),
            scope.spawn(|| load.take_over_resp(&server)),
        ];
        load.go_on();
        let both = [("secret", "old"), ("next_secret", "new")];
        write(folder.path(), &file(&both));
        reload(&server, "reloaded the access file");
        load.go_on();
        assert_eq!((status("old"), status("new")), (200, 200));
        load.uses_new.store(true, Ordering::SeqCst);
        load.go_on();
        write(folder.path(), &file(&[("secret", "new")]));
        reload(&server, "reloaded the access file");
        load.go_on();
        assert_eq!((status("old"), status("new")), (401, 200));
        load.is_over.store(true, Ordering::SeqCst);
        for caller in callers {
            caller.join().unwrap();
        }
    });
    let answered = [&load.by_old, &load.by_new].map(|count| count.load(Ordering::SeqCst));
    assert!(answered.iter().all(|count| *count >= 100), "{answered:?}");
    server.stop();
}
