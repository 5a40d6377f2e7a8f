//! Guards that a peer which sends endless frames of HTTP/2 that request nothing is cut: one such
//! connection used up a core.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::test_server::TestServer;

/// More rounds than are allowed in any time that a test takes, and few enough to be sent at once.
const ROUNDS: usize = 1000;
const FRAMES: usize = 1000;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![len[1], len[2], len[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Whether a peer that sends this over and over, and reads the answers, is cut.
fn is_cut(address: SocketAddr, again: &[u8]) -> bool {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_write_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let mut begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    begin.extend(frame(4, 0, 0, &[]));
    stream.write_all(&begin).unwrap();
    let mut answers = stream.try_clone().unwrap();
    let reading = std::thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while answers.read(&mut bytes).is_ok_and(|len| len > 0) {}
    });
    let batch = again.repeat(FRAMES);
    let is_cut = (0..ROUNDS).any(|_| stream.write_all(&batch).is_err());
    let _ended = stream.shutdown(std::net::Shutdown::Both);
    reading.join().unwrap();
    is_cut
}

#[test]
fn frames_that_ask_for_nothing_are_cut() {
    let server = TestServer::new();
    let priority = frame(2, 0, 1, &[0, 0, 0, 0, 7]);
    let settings = frame(4, 0, 0, &[0, 3, 0, 0, 0, 100]);
    let ping = frame(6, 0, 0, b"12345678");
    let unknown = frame(0xbe, 0, 0, b"nobody knows");
    for address in [server.addresses.http, server.addresses.grpc.unwrap()] {
        for (name, again) in [
            ("PRIORITY", &priority),
            ("SETTINGS", &settings),
            ("PING", &ping),
            ("unknown", &unknown),
        ] {
            assert!(is_cut(address, again), "{name} to {address}");
        }
    }
    let metrics = server.ask("GET /metrics").body;
    let series = "leafid_connections_cut_total{reason=\"flood\"} 8";
    assert!(metrics.contains(series), "{metrics}");
    assert_eq!(server.ask("GET /v1/tags/order/ids").status, 200);
}
