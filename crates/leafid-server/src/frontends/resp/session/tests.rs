//! Sessions without a connection.

use std::sync::{Arc, OnceLock};

use tokio::runtime::{Builder, Runtime};

use super::super::RespFrontEnd;
use super::*;
use crate::config::Limits;
use crate::config::{QuotaScope, TokenSpec};
use crate::frontends::resp::RespCounts;
use crate::service::{Caller, Service, TokenRefusal};

/// A service of its own, with no ids in memory yet; any tag gets some on request.
pub(super) struct TestServer {
    pub(super) front_end: Arc<RespFrontEnd>,
    /// Forgets its state with every tenth read: a fault that the fuzzer must find.
    pub(super) is_forgetful: bool,
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).enable_all().build().unwrap()
    })
}

impl TestServer {
    pub(super) fn new() -> Self {
        Self::with(Vec::new(), Limits::default())
    }

    pub(super) fn with(tokens: Vec<TokenSpec>, limits: Limits) -> Self {
        let (service, driver) = Service::in_memory(tokens, limits);
        runtime().spawn(driver);
        let front_end = RespFrontEnd::new(Arc::new(service), Arc::new(RespCounts::default()));
        Self {
            front_end: Arc::new(front_end),
            is_forgetful: false,
        }
    }

    /// The answer to what a new connection sends, and whether the connection is closed then.
    pub(super) fn ask(&self, parts: &[&[u8]]) -> (Vec<u8>, bool) {
        let mut session = self.front_end.session();
        let (mut kept, mut answers) = (Vec::new(), Vec::new());
        for (reads, part) in parts.iter().enumerate() {
            if self.is_forgetful && reads % 10 == 9 {
                session = self.front_end.session();
            }
            kept.extend_from_slice(part);
            if converse(&mut session, &mut kept, &mut answers) {
                return (answers, true);
            }
        }
        (answers, false)
    }

    #[track_caller]
    fn check(&self, input: &str, expected: &str) {
        let (answers, _) = self.ask(&[input.as_bytes()]);
        let answers = String::from_utf8_lossy(&answers).into_owned();
        assert_eq!(answers, expected, "{input:?}");
    }
}

/// Lets a session answer all it can; returns whether it ends then.
fn converse(session: &mut Session, kept: &mut Vec<u8>, answers: &mut Vec<u8>) -> bool {
    loop {
        let mut out = Vec::new();
        let fed = session.feed(kept, &mut out);
        kept.drain(..fed.consumed);
        is_bounded(session, &out);
        answers.append(&mut out);
        match fed.then {
            Then::Read(needed) => {
                assert!(needed > kept.len());
                return false;
            }
            Then::Flush => {}
            Then::Wait(pending) => {
                runtime().block_on(session.resume(pending, &mut out));
                is_bounded(session, &out);
                answers.append(&mut out);
            }
            Then::Close => return true,
        }
    }
}

/// Guards that the answers of one step are bounded.
#[track_caller]
fn is_bounded(session: &Session, out: &[u8]) {
    // The longest single answer is that of COMMAND.
    assert!(out.len() < session.context.limits.out_len_max + 8192);
}

#[test]
fn ids_are_taken() {
    let server = TestServer::new();
    server.check("INCR order\r\nINCR order\r\n", ":1\r\n:2\r\n");
    server.check("*2\r\n$4\r\nincr\r\n$5\r\norder\r\n", ":3\r\n");
    server.check("INCRBY order 1\r\nINCRBY order 10\r\n", ":4\r\n:14\r\n");
    server.check("GET order\r\nGET other\r\n", "$2\r\n14\r\n$-1\r\n");
    server.check("INCR a\r\nINCR order\r\nINCR a\r\n", ":1\r\n:15\r\n:2\r\n");
    server.check(&"INCR order\r\n".repeat(3), ":16\r\n:17\r\n:18\r\n");
    server.check(
        "ID.NEXT order\r\nID.NEXT order 2\r\n",
        "$2\r\n19\r\n*2\r\n$2\r\n20\r\n$2\r\n21\r\n",
    );
    server.check("ID.RANGE order 5\r\n", "*2\r\n$2\r\n22\r\n$2\r\n26\r\n");
}

#[test]
fn transactions_answer_together() {
    let server = TestServer::new();
    let queued = "+QUEUED\r\n";
    server.check(
        "MULTI\r\nINCR order\r\nINCR order\r\nPING\r\nINCRBY new 1\r\nEXEC\r\n",
        &format!(
            "+OK\r\n{}*4\r\n:1\r\n:2\r\n+PONG\r\n:1\r\n",
            queued.repeat(4)
        ),
    );
    server.check("MULTI\r\nEXEC\r\nPING\r\n", "+OK\r\n*0\r\n+PONG\r\n");
}

#[test]
fn a_token_is_asked_for() {
    let server = TestServer::with(vec![TokenSpec::new("app", "secret")], Limits::default());
    server.check("INCR order\r\n", "-NOAUTH Authentication required.\r\n");
    server.check("AUTH secret\r\nINCR order\r\n", "+OK\r\n:1\r\n");
    server.check("AUTH app secret\r\nINCR order\r\n", "+OK\r\n:2\r\n");
    server.check(
        "AUTH wrong\r\n",
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
    );
}

/// Guards that a command refused for want of a token is counted as on the other front ends, and one
/// that authenticates is not.
#[test]
fn refused_callers_are_counted() {
    let counted = |server: &TestServer, input: &[u8]| {
        let access = server.front_end.context.service.access();
        let refused = || {
            let whys = [TokenRefusal::Missing, TokenRefusal::Unknown];
            whys.map(|why| access.refusals.tokens(why))
        };
        let before = refused();
        server.ask(&[input]);
        let after = refused();
        [after[0] - before[0], after[1] - before[1]]
    };
    let server = TestServer::with(vec![TokenSpec::new("app", "secret")], Limits::default());
    assert_eq!(counted(&server, b"INCR order\r\n"), [1, 0]);
    assert_eq!(counted(&server, b"SET order 1\r\n"), [1, 0]);
    assert_eq!(counted(&server, b"HELLO 3\r\n"), [1, 0]);
    assert_eq!(counted(&server, b"AUTH wrong\r\n"), [0, 1]);
    assert_eq!(counted(&server, b"AUTH \xff\r\n"), [0, 1]);
    assert_eq!(counted(&server, b"AUTH \xff secret\r\n"), [0, 1]);
    assert_eq!(counted(&server, b"AUTH secret\r\nINCR order\r\n"), [0, 0]);
    let open = TestServer::new();
    assert_eq!(
        counted(&open, b"AUTH default any\r\nINCR order\r\n"),
        [0, 0]
    );
}

/// Guards that a change of whether tokens are required applies to open connections too.
#[test]
fn open_connections_follow_the_tokens() {
    let server = TestServer::new();
    let mut session = server.front_end.session();
    let mut ask = |input: &str| {
        let (mut kept, mut answers) = (input.as_bytes().to_vec(), Vec::new());
        converse(&mut session, &mut kept, &mut answers);
        String::from_utf8(answers).unwrap()
    };
    assert_eq!(ask("INCR order\r\nGET order\r\n"), ":1\r\n$1\r\n1\r\n");
    let tokens = [TokenSpec::new("app", "secret")];
    server.front_end.context.service.apply_access(&tokens, &[]);
    assert_eq!(ask("GET order\r\n"), "-NOAUTH Authentication required.\r\n");
    assert_eq!(ask("AUTH secret\r\nGET order\r\n"), "+OK\r\n$1\r\n1\r\n");
    server.front_end.context.service.apply_access(&[], &[]);
    assert_eq!(ask("INCR order\r\n"), ":2\r\n");
}

/// Guards that a browser that is tricked into sending to this port takes no id, whatever it begins
/// with.
#[test]
fn a_request_of_http_ends_the_connection() {
    let server = TestServer::new();
    for line in [
        "GET / HTTP/1.0",
        "PRI * HTTP/2.0",
        "put /x HTTP/1.1",
        "POST /",
    ] {
        let input = format!("PING\r\n{line}\r\nAccept: */*\r\n\r\nINCR order\r\n");
        let (answers, is_closed) = server.ask(&[input.as_bytes()]);
        assert!(is_closed, "{line}");
        assert_eq!(answers, b"", "{line}");
    }
    server.check("INCR order\r\n", ":1\r\n");
}

/// Guards that each command of a pipeline counts against a quota separately, as if it had come
/// alone. Such a pipeline once went out whole, as a call for many ids does, and blocked the tag for
/// long.
#[test]
fn a_pipeline_does_not_pass_a_quota() {
    let server = TestServer::new();
    let commands = "INCR order\r\n".repeat(1000);
    let transaction = format!("MULTI\r\n{commands}EXEC\r\n");
    // Once with nothing in memory, so that the first of them waits.
    for input in [commands.as_str(), commands.as_str(), transaction.as_str()] {
        let service = &server.front_end.context.service;
        let scope = QuotaScope::Tag("order".parse().unwrap());
        for quota in [None, Some(1)] {
            let caller = Caller::anonymous();
            service.set_quota(&caller, &scope, quota).unwrap();
        }
        let (answers, _) = server.ask(&[input.as_bytes()]);
        let answers = String::from_utf8(answers).unwrap();
        let given = answers.lines().filter(|line| line.starts_with(':')).count();
        let refused = answers.matches("-BUSY over_quota").count();
        assert_eq!(given + refused, 1000);
        assert!((1..20).contains(&given), "{given}");
    }
}

/// Guards: a pipeline that a quota refuses is counted command by command.
#[test]
fn a_refused_pipeline_is_counted() {
    let server = TestServer::new();
    server.check("INCR order\r\n", ":1\r\n");
    let service = &server.front_end.context.service;
    let scope = QuotaScope::Tag("order".parse().unwrap());
    let caller = Caller::anonymous();
    service.set_quota(&caller, &scope, Some(0)).unwrap();
    let (answers, _) = server.ask(&["INCR order\r\n".repeat(16).as_bytes()]);
    let answers = String::from_utf8(answers).unwrap();
    assert_eq!(answers.matches("-BUSY over_quota").count(), 16, "{answers}");
    let [_, tag, _] = service.access().refusals.quotas();
    assert_eq!(tag, ("tag", 16, 16));
}

/// Takes many ids of a refused tag, in a transaction and in a pipeline.
#[track_caller]
fn check_refused(server: &TestServer, tag: &str, error: &str) {
    let times = 4096;
    let check = |input: &str, end: &str| {
        let (answers, _) = server.ask(&[input.as_bytes()]);
        let answers = String::from_utf8(answers).unwrap();
        assert_eq!(answers.matches(error).count(), times, "{error}");
        assert!(answers.ends_with(end), "{answers}");
    };
    let commands = format!("INCR {tag}\r\n").repeat(times);
    let transaction = format!("MULTI\r\n{commands}PING\r\nEXEC\r\nPING\r\n");
    check(&transaction, "\r\n+PONG\r\n+PONG\r\n");
    check(&format!("{commands}PING\r\n"), "\r\n+PONG\r\n");
    let silent = format!("CLIENT REPLY OFF\r\n{transaction}CLIENT REPLY ON\r\n");
    server.check(&silent, "+OK\r\n");
}

/// Guards that errors, which are longer than ids, are written step by step.
#[test]
fn many_errors_are_bounded() {
    let server = TestServer::new();
    let tag = "x".repeat(128);
    let scope = QuotaScope::Tag(tag.parse().unwrap());
    let caller = Caller::anonymous();
    let service = &server.front_end.context.service;
    service.set_quota(&caller, &scope, Some(0)).unwrap();
    check_refused(&server, &tag, "-BUSY over_quota");
    // Here the error is known only when the command would wait: there is no driver.
    let limits = Limits {
        requests_max: 0,
        ..Limits::default()
    };
    let (service, _driver) = Service::in_memory(Vec::new(), limits);
    let front_end = RespFrontEnd::new(Arc::new(service), Arc::new(RespCounts::default()));
    let server = TestServer {
        front_end: Arc::new(front_end),
        is_forgetful: false,
    };
    check_refused(&server, &tag, "-BUSY overloaded");
}

/// Guards that the memory of queued commands is counted, all of it, until the last is executed.
#[test]
fn what_a_transaction_holds_is_counted() {
    let server = TestServer::new();
    let mut session = server.front_end.session();
    let commands: String = (0..4097).map(|n| format!("INCR t{n}\r\n")).collect();
    let mut out = Vec::with_capacity(1 << 20);
    let memory = allocation_counter::measure(|| {
        let input = format!("MULTI\r\n{commands}");
        session.feed(input.as_bytes(), &mut out);
    });
    let held_len = i64::try_from(session.held_len()).unwrap();
    // And the session itself.
    assert!(
        memory.bytes_current <= held_len + 1024,
        "{memory:?}, {held_len}"
    );
    out.clear();
    let fed = session.feed(b"EXEC\r\n", &mut out);
    assert!(matches!(fed.then, Then::Wait(_)), "{fed:?}");
    assert_eq!(i64::try_from(session.held_len()).unwrap(), held_len);
}
