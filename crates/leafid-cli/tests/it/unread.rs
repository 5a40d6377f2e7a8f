//! Guards the memory of a server whose clients request much and read nothing: the peak memory of
//! the process (`VmHWM`) under each way to do that.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tempfile::{TempDir, tempdir};

use crate::server_process::{Server, run, until};

/// Frames of HTTP/2 (RFC 9113, section 6).
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// As many streams as a connection may ever open here.
const STREAMS: u32 = 250;
/// The memory of an idle process, which may only grow by what a test allows.
const MIB: u64 = 1024;

struct Attacked {
    server: Server,
    folder: TempDir,
    /// What it held at most before, in KiB.
    before: u64,
}

impl Attacked {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempdir().unwrap();
        let server = Server::start(folder.path(), arguments);
        // What answers of this size need once.
        for _ in 0..20 {
            assert_eq!(server.get("/v1/tags/order/ids?count=10000").0, 200);
        }
        assert_eq!(server.get("/metrics").0, 200);
        let before = server.peak_kib();
        Self {
            server,
            folder,
            before,
        }
    }

    /// The address of a front end, by how its URL begins.
    fn address(&self, scheme: &str) -> SocketAddr {
        let mut words = self.server.greeting.split_whitespace();
        let address = words.find_map(|word| word.strip_prefix(scheme));
        address.unwrap().trim_end_matches(',').parse().unwrap()
    }

    /// How much its peak has grown, in KiB, once it no longer grows.
    fn grown(&self) -> u64 {
        let mut peak = self.server.peak_kib();
        let mut still = 0;
        for _ in 0..300 {
            std::thread::sleep(Duration::from_millis(100));
            let now = self.server.peak_kib();
            still = if now == peak { still + 1 } else { 0 };
            peak = now;
            if still == 20 {
                break;
            }
        }
        assert_eq!(self.server.get("/v1/tags/order/ids").0, 200);
        peak.saturating_sub(self.before)
    }

    #[track_caller]
    fn check(&self, what: &str, mib_max: u64) {
        let grown = self.grown();
        println!("{what}: {grown} KiB");
        let log = self.server.log();
        assert!(grown <= mib_max * MIB, "{what}: {grown} KiB\n{log}");
    }
}

/// A connection of HTTP/2 whose peer takes as much as there is, and reads nothing.
pub(crate) fn http2(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // SETTINGS_INITIAL_WINDOW_SIZE, as large as it may be.
    frame(&mut bytes, SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]);
    let more = (0x7fff_ffff_u32 - 65_535).to_be_bytes();
    frame(&mut bytes, WINDOW_UPDATE, 0, 0, &more);
    stream.write_all(&bytes).unwrap();
    stream
}

pub(crate) fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
    out.extend_from_slice(&[len[1], len[2], len[3], kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// A header as HPACK writes it without any table.
pub(crate) fn header(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(0);
    for text in [name, value] {
        out.push(u8::try_from(text.len()).unwrap());
        out.extend_from_slice(text.as_bytes());
    }
}

fn get(out: &mut Vec<u8>, stream: u32, path: &str) {
    // GET and http by their numbers in HPACK's table.
    let mut head = vec![0x82, 0x86];
    header(&mut head, ":path", path);
    frame(out, HEADERS, END_STREAM | END_HEADERS, stream, &head);
}

/// Begins as many requests as allowed, on each of a few connections.
fn unread_gets(attacked: &Attacked, path: &str) -> Vec<TcpStream> {
    let address = attacked.address("http://");
    let connections = (0..2).map(|_| {
        let mut stream = http2(address);
        let mut bytes = Vec::new();
        for number in 0..STREAMS {
            get(&mut bytes, 2 * number + 1, path);
        }
        stream.write_all(&bytes).unwrap();
        stream
    });
    connections.collect()
}

#[test]
fn unread_batches_over_http_2() {
    let attacked = Attacked::start(&[]);
    let _connections = unread_gets(&attacked, "/v1/tags/order/ids?count=10000");
    attacked.check("2 connections of batches over HTTP/2", 16);
}

#[test]
fn unread_scrapes_over_http_2() {
    let attacked = Attacked::start(&[]);
    for number in 0..400 {
        let path = format!("/v1/tags/{}{number}/ids", "t".repeat(100));
        assert_eq!(attacked.server.get(&path).0, 200);
    }
    assert!(attacked.server.get("/metrics").1.len() > 400_000);
    let _connections = unread_gets(&attacked, "/metrics");
    attacked.check("2 connections of scrapes over HTTP/2", 16);
}

/// Guards that an unread stream with many requests holds what a connection may, and no more.
#[test]
fn unread_streams_over_grpc() {
    let attacked = Attacked::start(&[]);
    let address = attacked.address("grpc://");
    // {"tag": "order", "count": 10000} with the head that gRPC has before each message.
    let mut message = vec![0, 0, 0, 0, 10, 0x0a, 5];
    message.extend_from_slice(b"order\x10\x90\x4e");
    let mut connections = Vec::new();
    for _ in 0..2 {
        let mut stream = http2(address);
        let mut bytes = Vec::new();
        for number in 0..STREAMS {
            // POST, http and an :authority by their numbers in HPACK's table.
            let mut head = vec![0x83, 0x86, 0x01, 1, b'x'];
            header(&mut head, ":path", "/leafid.v1.Ids/Stream");
            header(&mut head, "content-type", "application/grpc");
            header(&mut head, "te", "trailers");
            let number = 2 * number + 1;
            frame(&mut bytes, HEADERS, END_HEADERS, number, &head);
            frame(&mut bytes, DATA, 0, number, &message.repeat(8));
        }
        stream.write_all(&bytes).unwrap();
        connections.push(stream);
    }
    attacked.check("2 connections of streams over gRPC", 16);
}

/// Guards that a short command has no answer of megabytes.
#[test]
fn unread_commands_over_resp() {
    let attacked = Attacked::start(&[]);
    let address = attacked.address("redis://");
    let mut command = b"*1022\r\n$7\r\nCOMMAND\r\n$4\r\nINFO\r\n".to_vec();
    command.extend_from_slice(&b"$6\r\nclient\r\n".repeat(1020));
    let mut connections = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&command.repeat(30)).unwrap();
        connections.push(stream);
    }
    attacked.check("20 connections of COMMAND INFO", 4);
}

/// Guards that with many connections that hold little each, the limit of the process is kept, those
/// that hold the most are cut, and others are served.
#[test]
fn many_that_do_not_read_are_bounded_together() {
    let attacked = Attacked::start(&["--unread-max", "8388608"]);
    let address = attacked.address("http://");
    let request = b"GET /v1/tags/order/ids?count=10000 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut connections = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&request.repeat(60)).unwrap();
        // Each is answered, or cut, before the next one asks: a server that gets no CPU for a while
        // would find them all at once, and make an answer for each before it cuts any.
        let _answered = stream.peek(&mut [0]);
        connections.push(stream);
    }
    attacked.check("100 connections of batches over HTTP/1", 16);
    let metric = |name| attacked.server.metric(name);
    let cut = r#"leafid_connections_cut_total{reason="unread"}"#;
    until("cut connection", || (metric(cut) > 0.0).then_some(()));
    until("end of those that were cut", || {
        (metric("leafid_unread_bytes") <= 8_388_608.0).then_some(())
    });
    // Those that were cut see their end.
    for stream in &connections {
        let pause = Duration::from_millis(100);
        stream.set_read_timeout(Some(pause)).unwrap();
    }
    until("end", || {
        connections.iter_mut().any(has_ended).then_some(())
    });
}

/// Guards that the length of texts counts before they are made: all ask at once, and an answer has
/// 2 MiB.
#[test]
fn batches_of_long_texts_are_bounded_together() {
    let mut attacked = Attacked::start(&["--unread-max", "33554432"]);
    let format = format!("{}{{number}}", "{random 60}".repeat(4));
    let url = attacked.server.url.clone();
    let create = [
        "tag", "create", "long", "--format", &format, "--server", &url,
    ];
    run(attacked.folder.path(), &create).ok();
    for _ in 0..20 {
        let (status, _) = attacked.server.get("/v1/tags/long/ids?count=10000");
        assert_eq!(status, 200);
    }
    attacked.before = attacked.server.peak_kib();
    let address = attacked.address("http://");
    let request = b"GET /v1/tags/long/ids?count=10000 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut connections = Vec::new();
    for _ in 0..150 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request).unwrap();
        connections.push(stream);
    }
    attacked.check("150 connections of long texts", 96);
    drop(connections);
}

/// Reads what there is; whether the peer has ended the connection.
fn has_ended(stream: &mut TcpStream) -> bool {
    let mut bytes = [0; 65_536];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

/// Guards: entries of HPACK tables, which keep the buffers of the frames they came in, count
/// towards the bound of the process, although each answer is read.
#[test]
fn small_entries_of_header_tables_do_not_keep_large_frames() {
    let attacked = Attacked::start(&["--unread-max", "8388608"]);
    // GET and http by their numbers, an :authority for the table, and a header that is not.
    let mut head = b"\x82\x86\x41\x09localhost\x04\x0a/v1/worker\x00\x01x".to_vec();
    // 15,000, as HPACK writes a length.
    head.extend_from_slice(&[0x7f, 0x99, 0x74]);
    head.extend_from_slice(&[b'a'; 15_000]);
    let mut connections = Vec::new();
    for scheme in ["http://", "grpc://"].repeat(60) {
        let mut stream = http2(attacked.address(scheme));
        let mut answers = stream.try_clone().unwrap();
        let reading = std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while answers.read(&mut bytes).is_ok_and(|len| len > 0) {}
        });
        for number in 0..90 {
            let mut bytes = Vec::new();
            frame(
                &mut bytes,
                HEADERS,
                END_STREAM | END_HEADERS,
                2 * number + 1,
                &head,
            );
            if stream.write_all(&bytes).is_err() {
                break;
            }
        }
        connections.push((stream, reading));
    }
    attacked.check("120 connections with full header tables", 64);
    let cut = attacked
        .server
        .metric(r#"leafid_connections_cut_total{reason="unread"}"#);
    assert!(cut > 0.0, "none was cut");
    for (stream, reading) in connections {
        let _ended = stream.shutdown(std::net::Shutdown::Both);
        reading.join().unwrap();
    }
}

/// The gRPC calls that were refused because the server holds too much.
fn refused_calls(server: &Server) -> f64 {
    let (_, text) = server.get("/metrics");
    let lines = text
        .lines()
        .filter(|line| line.starts_with("leafid_grpc_calls_total{"));
    let refused = lines.filter(|line| line.contains("RESOURCE_EXHAUSTED"));
    let count = |line: &str| line.rsplit_once(' ')?.1.parse::<f64>().ok();
    refused.filter_map(count).sum()
}

/// Opens 100 requests on each of some connections, which are never finished, and checks that the
/// server bounds what they take together.
fn open_requests(what: &str, scheme: &str, head: &[u8]) {
    let attacked = Attacked::start(&["--unread-max", "8388608"]);
    let address = attacked.address(scheme);
    let open = || {
        let mut stream = http2(address);
        for number in 0..100 {
            let mut bytes = Vec::new();
            frame(&mut bytes, HEADERS, END_HEADERS, 2 * number + 1, head);
            if stream.write_all(&bytes).is_err() {
                break;
            }
        }
        stream
    };
    let connections: Vec<_> = (0..100).map(|_| open()).collect();
    println!("{what}: {} KiB", attacked.grown());
    let cut = attacked
        .server
        .metric(r#"leafid_connections_cut_total{reason="unread"}"#);
    // All together would hold more than 100 MiB. Calls of gRPC are refused in place of most cuts.
    let refused = refused_calls(&attacked.server);
    println!("{cut} connections cut, {refused} calls refused");
    assert!(
        cut > 80.0 || refused > 5000.0,
        "{cut} cut, {refused} refused"
    );
    let held = attacked.server.metric("leafid_unread_bytes");
    assert!(held <= 8_388_608.0, "{held}");
    drop(connections);
}

/// Guards: large heads of requests whose body never ends.
#[test]
fn requests_without_an_end_are_bounded_together() {
    let mut head = b"\x83\x86\x01\x09localhost".to_vec();
    header(&mut head, ":path", "/v1/tags/order/ids");
    header(&mut head, "content-type", "application/json");
    head.extend_from_slice(&[0, 1, b'x', 0x7f, 0x99, 0x74]);
    head.extend_from_slice(&[b'a'; 15_000]);
    open_requests("100 connections of unfinished requests", "http://", &head);
}

/// Guards: streams that stay open and never carry a message.
#[test]
fn silent_streams_are_bounded_together() {
    let mut head = vec![0x83, 0x86, 0x01, 1, b'x'];
    header(&mut head, ":path", "/leafid.v1.Ids/Stream");
    header(&mut head, "content-type", "application/grpc");
    header(&mut head, "te", "trailers");
    open_requests("100 connections of silent streams", "grpc://", &head);
}

/// Guards: calls whose only message does not come, with much metadata in little text.
#[test]
fn calls_without_a_message_are_bounded_together() {
    let mut head = vec![0x83, 0x86, 0x01, 1, b'x'];
    header(&mut head, ":path", "/leafid.v1.Ids/Next");
    header(&mut head, "content-type", "application/grpc");
    header(&mut head, "te", "trailers");
    for _ in 0..100 {
        header(&mut head, "x", "");
    }
    open_requests("100 connections of silent calls", "grpc://", &head);
}

/// Guards: requests that announce a short body, and have many short fields.
#[test]
fn requests_without_their_short_body_are_bounded_together() {
    let mut head = b"\x83\x86\x01\x09localhost".to_vec();
    header(&mut head, ":path", "/v1/tags/order/ids");
    header(&mut head, "content-type", "application/json");
    header(&mut head, "content-length", "2");
    for number in 0..45 {
        header(&mut head, &format!("x{number:02}"), "");
    }
    open_requests("100 connections of short bodies", "http://", &head);
}
