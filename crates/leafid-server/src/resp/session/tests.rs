//! Conversations without a connection.

use std::net::SocketAddr;
use std::sync::Arc;

use leafid::store::MemoryStore;

use super::super::RespDoor;
use super::*;
use crate::config::Config;
use crate::limits::Limits;
use crate::listeners::Listeners;
use crate::metrics::RespCounts;
use crate::server::{Server, Stores};
use crate::service::{Service, TokenSpec};

/// A server whose conversations are held without connections. The tag `order` has many ids in
/// memory.
pub(in crate::resp) struct Site {
    pub(in crate::resp) runtime: tokio::runtime::Runtime,
    pub(in crate::resp) door: Arc<RespDoor>,
}

impl Site {
    pub(in crate::resp) fn new() -> Self {
        Self::with(Vec::new(), Limits::default())
    }

    pub(in crate::resp) fn with(tokens: Vec<TokenSpec>, limits: Limits) -> Self {
        let config = Config {
            create_tags: Some(true),
            allow_weak_store: true,
            step: 1_000_000,
            tokens,
            threads: 1,
            ..Config::default()
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let service = runtime.block_on(async {
            let any_port: SocketAddr = "127.0.0.1:0".parse().unwrap();
            let listeners = Listeners::bind(any_port).await.unwrap();
            let stores = Stores {
                segments: Arc::new(MemoryStore::new()),
                workers: None,
            };
            let server = Server::new(&config, limits, stores, listeners);
            let service: Arc<Service> = server.service();
            tokio::spawn(server.run(std::future::pending()));
            let caller = service.authenticate(None, "secret").unwrap_or_default();
            assert_eq!(service.next(&caller, "order").await.unwrap().get(), 1);
            service
        });
        let door = RespDoor::new(service, Arc::new(RespCounts::default()));
        Self {
            runtime,
            door: Arc::new(door),
        }
    }

    /// What a new connection is answered when it sends this, and whether it is closed then.
    pub(in crate::resp) fn ask(&self, input: &[u8]) -> (Vec<u8>, bool) {
        self.ask_in_parts(&[input])
    }

    pub(in crate::resp) fn ask_in_parts(&self, parts: &[&[u8]]) -> (Vec<u8>, bool) {
        let mut session = self.door.session();
        let (mut kept, mut answers) = (Vec::new(), Vec::new());
        for part in parts {
            kept.extend_from_slice(part);
            loop {
                let mut out = Vec::new();
                let fed = session.feed(&kept, &mut out);
                assert!(out.len() < 2 * self.door.limits.out_len_max);
                kept.drain(..fed.consumed);
                answers.append(&mut out);
                match fed.then {
                    Then::Read(needed) => {
                        assert!(needed > kept.len());
                        break;
                    }
                    Then::Flush => {}
                    Then::Wait(pending) => {
                        let resumed = session.resume(pending, &mut answers);
                        self.runtime.block_on(resumed);
                    }
                    Then::Close => return (answers, true),
                }
            }
        }
        (answers, false)
    }

    #[track_caller]
    fn check(&self, input: &str, expected: &str) {
        let (answers, _) = self.ask(input.as_bytes());
        let answers = String::from_utf8_lossy(&answers).into_owned();
        assert_eq!(answers, expected, "{input:?}");
    }
}

#[test]
fn ids_are_taken() {
    let site = Site::new();
    site.check("INCR order\r\n", ":2\r\n");
    site.check("*2\r\n$4\r\nincr\r\n$5\r\norder\r\n", ":3\r\n");
    site.check("INCRBY order 1\r\nINCRBY order 10\r\n", ":4\r\n:14\r\n");
    site.check("GET order\r\nGET other\r\n", "$2\r\n14\r\n$-1\r\n");
    site.check("INCR a\r\nINCR order\r\nINCR a\r\n", ":1\r\n:15\r\n:2\r\n");
    site.check(&"INCR order\r\n".repeat(3), ":16\r\n:17\r\n:18\r\n");
    site.check(
        "ID.NEXT order\r\nID.NEXT order 2\r\n",
        "$2\r\n19\r\n*2\r\n$2\r\n20\r\n$2\r\n21\r\n",
    );
    site.check("ID.RANGE order 5\r\n", "*2\r\n$2\r\n22\r\n$2\r\n26\r\n");
}

#[test]
fn transactions_answer_together() {
    let site = Site::new();
    let queued = "+QUEUED\r\n";
    site.check(
        "MULTI\r\nINCR order\r\nINCR order\r\nPING\r\nINCRBY new 1\r\nEXEC\r\n",
        &format!(
            "+OK\r\n{}*4\r\n:2\r\n:3\r\n+PONG\r\n:1\r\n",
            queued.repeat(4)
        ),
    );
    site.check("MULTI\r\nEXEC\r\nPING\r\n", "+OK\r\n*0\r\n+PONG\r\n");
}

#[test]
fn a_token_is_asked_for() {
    let site = Site::with(vec![TokenSpec::new("app", "secret")], Limits::default());
    site.check("INCR order\r\n", "-NOAUTH Authentication required.\r\n");
    site.check("AUTH secret\r\nINCR order\r\n", "+OK\r\n:2\r\n");
    site.check("AUTH app secret\r\nINCR order\r\n", "+OK\r\n:3\r\n");
    site.check(
        "AUTH wrong\r\n",
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
    );
}
