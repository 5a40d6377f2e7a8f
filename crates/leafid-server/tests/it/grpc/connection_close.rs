//! Guards how connections end: idle ones, and those of peers that do not read.

use std::time::Duration;

use leafid::{Clock as _, SystemClock};
use leafid_server::{Config, Limits};

use super::frames::{DATA, END_STREAM, GOAWAY, HEADERS, PREFACE, RST_STREAM, Raw};
use crate::test_server::{TestServer, eventually};

/// Guards that a channel which is opened before it is used has the idle time-out between two calls,
/// and is closed gracefully after that, so that no call is lost on it.
#[test]
fn a_connection_without_a_call_gets_a_goaway() {
    let limits = Limits {
        first_head_max: Duration::from_millis(50),
        idle_max: Duration::from_millis(400),
        ..Limits::default()
    };
    let server = TestServer::with(&Config::default(), limits);
    let clock = SystemClock::new();
    let begun = clock.now();
    let mut raw = Raw::new(&server, 65_535);
    // Once, or a first time and then with the last stream there is.
    let kinds = raw.kinds_to_end();
    assert!(
        !kinds.is_empty() && kinds.iter().all(|kind| *kind == GOAWAY),
        "{kinds:?}"
    );
    assert!(
        clock.now().saturating_sub(begun) >= limits.idle_max,
        "it was told too early"
    );
}

/// Guards that a peer that does not send the preface of HTTP/2 has less time, and gets no GOAWAY.
#[test]
fn a_connection_that_does_not_speak_http2_is_closed() {
    let limits = Limits {
        first_head_max: Duration::from_millis(50),
        idle_max: Duration::from_secs(600),
        ..Limits::default()
    };
    let server = TestServer::with(&Config::default(), limits);
    for said in [&b""[..], &PREFACE[..23]] {
        let mut raw = Raw::mute(&server);
        raw.say(said);
        assert_eq!(raw.kinds_to_end(), [0; 0], "after {said:?}");
    }
}

const NEXT: &str = "/leafid.v1.Ids/Next";
const STREAM: &str = "/leafid.v1.Ids/Stream";

/// A server with little patience.
fn impatient(config: &Config) -> TestServer {
    let limits = Limits {
        first_head_max: Duration::from_millis(50),
        idle_max: Duration::from_millis(300),
        ..Limits::default()
    };
    TestServer::with(config, limits)
}

/// Guards that a deadline is kept although the answers cannot be sent, and the call costs nothing
/// more.
#[test]
fn a_stream_whose_caller_does_not_read_ends_by_its_deadline() {
    let server = TestServer::new();
    let mut raw = Raw::new(&server, 0);
    raw.call(1, STREAM, &[("grpc-timeout", "500m")]);
    for _ in 0..3 {
        raw.message(1, "order", 0);
    }
    assert_eq!(raw.frame().unwrap().kind, HEADERS);
    let reset = raw.frame().unwrap();
    assert_eq!((reset.kind, reset.stream), (RST_STREAM, 1));
    // Others on the connection continue.
    raw.call(3, NEXT, &[]);
    raw.message(3, "order", END_STREAM);
    let answer = raw.frame().unwrap();
    assert_eq!((answer.kind, answer.stream), (HEADERS, 3));
}

/// Guards that unread answers do not keep a connection open, whether none of one was sent or a part
/// of it, and although the peer answers pings.
#[test]
fn a_peer_that_does_not_read_is_cut() {
    let server = impatient(&Config::default());
    for path in [NEXT, STREAM] {
        let mut raw = Raw::new(&server, 0);
        // Open, and without a pending reply.
        raw.call(1, STREAM, &[]);
        raw.call(3, path, &[]);
        raw.message(3, "order", END_STREAM);
        let kinds = raw.kinds_to_end();
        assert_eq!(kinds, [HEADERS, HEADERS], "{path}");
        let mut raw = Raw::new(&server, 3);
        raw.call(1, path, &[]);
        raw.message(1, "order", END_STREAM);
        let kinds = raw.kinds_to_end();
        assert_eq!(kinds[..2], [HEADERS, DATA], "{path}: {kinds:?}");
        assert!(kinds[2..].iter().all(|kind| *kind == GOAWAY), "{kinds:?}");
    }
}

/// Guards that a peer that reads slowly is not mistaken for one that does not.
#[test]
fn a_peer_that_reads_slowly_is_served() {
    let server = impatient(&Config::default());
    let mut raw = Raw::new(&server, 0);
    raw.call(1, STREAM, &[]);
    assert_eq!(raw.frame().unwrap().kind, HEADERS);
    for id in 1..=10 {
        raw.message(1, "order", 0);
        std::thread::sleep(Duration::from_millis(100));
        // An answer is 7 bytes.
        raw.let_through(1, 7);
        let answer = raw.frame().expect("it was cut");
        assert_eq!(answer.kind, DATA, "{answer:?}");
        assert_eq!(answer.payload.last(), Some(&id), "{answer:?}");
    }
}

/// Guards that a stream whose caller does not read does not delay the shutdown.
#[test]
fn a_shutdown_does_not_wait_for_a_stream_that_is_not_read() {
    let config = Config {
        shutdown_grace: Duration::from_secs(600),
        ..Config::default()
    };
    let mut server = TestServer::with(&config, Limits::default());
    let mut raw = Raw::new(&server, 0);
    raw.call(1, STREAM, &[]);
    raw.message(1, "order", 0);
    assert_eq!(raw.frame().unwrap().kind, HEADERS);
    eventually("a pending reply", || {
        let metrics = server.ask("GET /metrics").body;
        metrics.contains("leafid_ids_issued_total{tag=\"order\"} 1")
    });
    server.stop();
    let kinds = raw.kinds_to_end();
    // No status: the answer before it has not been sent.
    assert!(!kinds.contains(&HEADERS), "{kinds:?}");
    assert!(
        kinds.contains(&RST_STREAM) && kinds.contains(&GOAWAY),
        "{kinds:?}"
    );
    server.ended().unwrap();
}
