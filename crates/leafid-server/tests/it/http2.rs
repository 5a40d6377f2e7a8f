//! Guards what HTTP/2 has of its own: how a connection ends. The frames are written and read here:
//! a client would hide them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use leafid_server::{Config, Limits};

use crate::test_server::{TestServer, read_to_end};

/// Numbers of RFC 9113, section 6.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The methods, by their numbers in HPACK's table.
const GET: u8 = 0x82;
const POST: u8 = 0x83;

/// A frame that came in.
#[derive(Debug)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Frame {
    /// Whether it begins an answer of status 200, as HPACK writes it.
    fn is_ok(&self) -> bool {
        self.kind == HEADERS && self.payload.first() == Some(&0x88)
    }

    fn ends(&self, stream: u32) -> bool {
        let may_end = matches!(self.kind, HEADERS | DATA);
        may_end && self.stream == stream && self.flags & END_STREAM != 0
    }
}

/// A connection of HTTP/2.
pub(crate) struct Http2 {
    stream: TcpStream,
    /// The number of the last request.
    last: u32,
    /// Whether a GOAWAY was read. It may come before the answer to a request, or after it.
    is_told: bool,
}

impl Http2 {
    pub(crate) fn connect(server: &TestServer) -> Self {
        let mut stream = server.connect();
        stream
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        let mut connection = Self {
            stream,
            last: 0,
            is_told: false,
        };
        connection.write(SETTINGS, 0, 0, &[]);
        connection
    }

    /// Requests a path, and returns whether the answer is 200.
    pub(crate) fn is_ok(&mut self, path: &str) -> bool {
        self.begin(GET, END_STREAM, path);
        self.is_answered_ok()
    }

    fn begin(&mut self, method: u8, flags: u8, path: &str) {
        self.last = if self.last == 0 { 1 } else { self.last + 2 };
        // http, :authority and :path by their numbers in HPACK's table.
        let mut head = vec![method, 0x86, 0x01, 9];
        head.extend_from_slice(b"localhost\x04");
        head.push(u8::try_from(path.len()).unwrap());
        head.extend_from_slice(path.as_bytes());
        self.write(HEADERS, flags | END_HEADERS, self.last, &head);
    }

    /// Whether the answer to the last request is 200.
    fn is_answered_ok(&mut self) -> bool {
        let mut is_ok = false;
        loop {
            let frame = self.read().expect("an answer");
            is_ok |= frame.is_ok();
            if frame.ends(self.last) {
                return is_ok;
            }
        }
    }

    /// Waits until the server announces the end of the connection.
    fn wait_for_goaway(&mut self) {
        while self.read().expect("a word before the end").kind != GOAWAY {}
    }

    /// Waits for the end of the connection, and returns whether it was announced.
    pub(crate) fn is_asked_to_close(&mut self) -> bool {
        while self.read().is_some() {}
        self.is_told
    }

    fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = vec![len[1], len[2], len[3], kind, flags];
        frame.extend_from_slice(&stream.to_be_bytes());
        frame.extend_from_slice(payload);
        // The server may be gone: reading shows it.
        let _sent = self.stream.write_all(&frame);
    }

    /// The next frame, acknowledged where it asks for that; `None` at the end.
    fn read(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        match self.stream.read_exact(&mut head) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("no end"),
            read => read.ok()?,
        }
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = head;
        let len = usize::try_from(u32::from_be_bytes([0, l0, l1, l2])).unwrap();
        let mut payload = vec![0; len];
        self.stream.read_exact(&mut payload).ok()?;
        if matches!(kind, SETTINGS | PING) && flags & ACK == 0 {
            let echo: &[u8] = if kind == PING { &payload } else { &[] };
            self.write(kind, ACK, 0, echo);
        }
        self.is_told |= kind == GOAWAY;
        Some(Frame {
            kind,
            flags,
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
            payload,
        })
    }
}

fn impatient(leave_max: Duration) -> TestServer {
    let limits = Limits {
        first_head_max: Duration::from_millis(200),
        idle_max: Duration::from_millis(200),
        leave_max,
        ..Limits::default()
    };
    TestServer::with(&Config::default(), limits)
}

/// Guards that a client is notified before an idle connection ends, and knows that its later
/// requests were not processed.
#[test]
fn an_idle_connection_is_closed_gracefully() {
    let server = impatient(Duration::from_secs(60));
    let mut silent = Http2::connect(&server);
    assert!(silent.is_asked_to_close());
    let mut between = Http2::connect(&server);
    assert!(between.is_ok("/v1/tags/order/ids"));
    assert!(between.is_asked_to_close());
}

/// Guards that a request which crosses that notice is answered, however long it takes.
#[test]
fn a_request_that_crosses_the_end_is_answered() {
    let server = impatient(Duration::from_millis(100));
    let mut crossing = Http2::connect(&server);
    crossing.wait_for_goaway();
    crossing.begin(POST, 0, "/v1/tags/order/ids");
    // Until a connection that says nothing has ended.
    assert_eq!(read_to_end(&mut server.connect()), "");
    crossing.write(DATA, END_STREAM, crossing.last, &[]);
    assert!(crossing.is_answered_ok());
    assert!(crossing.read().is_none());
}

/// Guards that a peer that ignores it is cut.
#[test]
fn who_does_not_hear_it_is_cut() {
    let server = impatient(Duration::from_millis(100));
    let mut deaf = Http2::connect(&server);
    let mut bytes = Vec::new();
    deaf.stream.read_to_end(&mut bytes).unwrap();
    assert!(bytes.contains(&GOAWAY));
}

/// Guards that a server about to shut down notifies connections of HTTP/2: idle ones at once, and
/// new ones with their first answer.
#[test]
fn a_server_that_leaves_says_so() {
    let config = Config {
        shutdown_delay: Duration::from_secs(600),
        ..Config::default()
    };
    let mut server = TestServer::with(&config, Limits::default());
    let mut early = Http2::connect(&server);
    assert!(early.is_ok("/v1/tags/order/ids"));
    server.stop();
    assert!(early.is_asked_to_close());
    let mut late = Http2::connect(&server);
    assert!(late.is_ok("/v1/tags/order/ids"));
    assert!(late.is_asked_to_close());
    assert_eq!(server.ask("GET /readyz").status, 503);
}
