//! The front end for the Redis protocol, over TCP.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use leafid_server::{Config, Limits, RespLimits};

use crate::test_server::TestServer;

/// Sends bytes, closes the sending side, and reads until the server closes.
fn ask(server: &TestServer, input: &[u8]) -> String {
    let mut stream = connect(server);
    stream.write_all(input).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).unwrap();
    String::from_utf8_lossy(&answers).into_owned()
}

fn connect(server: &TestServer) -> TcpStream {
    let stream = TcpStream::connect(server.addresses.resp.unwrap()).unwrap();
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).unwrap();
    stream.set_write_timeout(patience).unwrap();
    stream
}

/// Guards that ids of one tag are the same sequence on both front ends.
#[test]
fn ids_are_the_same_over_both_protocols() {
    let server = TestServer::new();
    assert_eq!(
        ask(&server, b"INCR order\r\nINCR order\r\n"),
        ":1\r\n:2\r\n"
    );
    assert_eq!(server.ask("GET /api/segment/get/order").body, "3");
    assert_eq!(ask(&server, b"GET order\r\n"), "$1\r\n3\r\n");
    assert_eq!(ask(&server, b"INCR order\r\n"), ":4\r\n");
    let metrics = server.ask("GET /metrics").body;
    let counted = "leafid_resp_commands_total{command=\"incr\",outcome=\"ok\"} 3";
    assert!(metrics.contains(counted), "{metrics}");
}

/// Guards that a pipeline longer than any buffer, whose sender reads only after it has sent
/// everything, is answered in full and in order.
#[test]
fn a_long_pipeline_is_answered_in_order() {
    const COMMANDS: usize = 200_000;
    let server = TestServer::new();
    let mut stream = connect(&server);
    let mut reader = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        for at in 0..COMMANDS {
            let tag = if at % 3 == 0 { "b" } else { "a" };
            write!(stream, "*2\r\n$4\r\nINCR\r\n$1\r\n{tag}\r\n").unwrap();
        }
        stream.shutdown(Shutdown::Write).unwrap();
    });
    let mut answers = String::new();
    reader.read_to_string(&mut answers).unwrap();
    sender.join().unwrap();
    let (mut a, mut b) = (0, 0);
    let mut lines = answers.split_terminator("\r\n");
    for at in 0..COMMANDS {
        let next = if at % 3 == 0 { &mut b } else { &mut a };
        *next += 1;
        assert_eq!(lines.next(), Some(format!(":{next}").as_str()), "{at}");
    }
    assert_eq!(lines.next(), None);
}

/// Guards that a client that does not read is not read from either, so that answers do not pile up
/// here; once it reads, it gets them all.
#[test]
fn a_peer_that_does_not_read_is_not_read_either() {
    const BYTES_MAX: usize = 256 * 1024 * 1024;
    let server = TestServer::new();
    let mut stream = connect(&server);
    let patience = Some(Duration::from_millis(500));
    stream.set_write_timeout(patience).unwrap();
    let text = "x".repeat(10_000);
    let command = format!("*2\r\n$4\r\nECHO\r\n$10000\r\n{text}\r\n");
    let mut sent = 0;
    while sent < BYTES_MAX {
        match stream.write(&command.as_bytes()[sent % command.len()..]) {
            Ok(len) => sent += len,
            Err(_) => break,
        }
    }
    assert!(sent < BYTES_MAX, "all was read");
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).unwrap();
    let answer = format!("$10000\r\n{text}\r\n");
    assert_eq!(answers.len(), sent / command.len() * answer.len());
}

/// Guards that at the shutdown what was sent is answered, and then the connection ends.
#[test]
fn the_shutdown_ends_connections() {
    let mut server = TestServer::new();
    let mut stream = connect(&server);
    stream.write_all(b"INCR order\r\n").unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b":1\r\n");
    server.stop();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    server.ended().unwrap();
}

/// Guards the idle time-out, on an idle connection and in the middle of a command.
#[test]
fn silence_ends_a_connection() {
    let moment = Duration::from_millis(20);
    let resp = RespLimits {
        idle_max: moment,
        ..RespLimits::default()
    };
    let limits = Limits {
        first_head_max: moment,
        idle_max: moment,
        resp,
        ..Limits::default()
    };
    let server = TestServer::with(&Config::default(), limits);
    for input in ["", "INCR or", "PING\r\n"] {
        let mut stream = connect(&server);
        stream.write_all(input.as_bytes()).unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).unwrap();
        assert!(answers.is_empty() || answers == "+PONG\r\n", "{answers}");
    }
}

/// Guards that an id that has to be waited for delays the answers after it, in order.
#[test]
fn answers_keep_their_order_while_one_waits() {
    let server = TestServer::new();
    let input = b"PING\r\nINCR new\r\nPING a\r\nINCR other\r\nINCR new\r\n";
    let expected = "+PONG\r\n:1\r\n$1\r\na\r\n:1\r\n:2\r\n";
    assert_eq!(ask(&server, input), expected);
}

/// Guards that near its limit a tag issues what is left, and then says so, even in a batch.
#[test]
fn a_batch_takes_what_a_tag_has_left() {
    let server = TestServer::new();
    let created = server.ask_with("POST /v1/tags", r#"{"tag":"short","limit":"3"}"#);
    assert_eq!(created.status, 201, "{}", created.body);
    let error = "-ERR limit_reached tag \"short\" has issued its last id, 3: raise its limit or \
                 use another tag\r\n";
    let answers = ask(&server, "INCR short\r\n".repeat(5).as_bytes());
    assert_eq!(answers, format!(":1\r\n:2\r\n:3\r\n{error}{error}"));
}

/// Guards that callers for ids cannot take the admin slots here. Refused connections are counted.
#[test]
fn places_of_operators_are_left_to_them() {
    let limits = Limits {
        connections_max: 1,
        operator_connections_max: 1,
        ..Limits::default()
    };
    let server = TestServer::with(&Config::default(), limits);
    let mut first = connect(&server);
    first.write_all(b"PING\r\n").unwrap();
    let mut pong = [0; 7];
    first.read_exact(&mut pong).unwrap();
    let refusal = b"-ERR max number of clients reached\r\n";
    let mut others: Vec<_> = (0..3).map(|_| connect(&server)).collect();
    for other in &mut others {
        let mut told = vec![0; refusal.len()];
        other.read_exact(&mut told).unwrap();
        assert_eq!(told, refusal);
    }
    let metrics = server.ask("GET /metrics").body;
    let counted = "leafid_connections_refused_total{protocol=\"resp\"} 3";
    assert!(metrics.contains(counted), "{metrics}");
}
