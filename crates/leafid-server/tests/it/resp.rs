//! The door for the Redis protocol, over TCP.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::site::Site;

/// Sends bytes, says that no more follow, and reads until the server closes.
fn ask(site: &Site, input: &[u8]) -> String {
    let mut stream = connect(site);
    stream.write_all(input).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).unwrap();
    String::from_utf8_lossy(&answers).into_owned()
}

fn connect(site: &Site) -> TcpStream {
    let stream = TcpStream::connect(site.addresses.resp.unwrap()).unwrap();
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).unwrap();
    stream.set_write_timeout(patience).unwrap();
    stream
}

/// Guards: ids of one tag are the same sequence through both doors.
#[test]
fn ids_are_the_same_through_both_doors() {
    let site = Site::new();
    assert_eq!(ask(&site, b"INCR order\r\nINCR order\r\n"), ":1\r\n:2\r\n");
    assert_eq!(site.ask("GET /api/segment/get/order").body, "3");
    assert_eq!(ask(&site, b"GET order\r\n"), "$1\r\n3\r\n");
    assert_eq!(ask(&site, b"INCR order\r\n"), ":4\r\n");
    let metrics = site.ask("GET /metrics").body;
    let counted = "leafid_resp_commands_total{command=\"incr\",outcome=\"ok\"} 3";
    assert!(metrics.contains(counted), "{metrics}");
}

/// Guards: a pipeline longer than any buffer, which its sender does not read before it has sent
/// it all, is answered in full and in order.
#[test]
fn a_long_pipeline_is_answered_in_order() {
    const COMMANDS: usize = 200_000;
    let site = Site::new();
    let mut stream = connect(&site);
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
