//! `Raw`: a peer that speaks HTTP/2 frame by frame, so that it can do what no client does.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::address;
use crate::test_server::TestServer;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Kinds of frames.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
/// Their flags.
const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// The setting of how much may be sent on a new stream.
const INITIAL_WINDOW_SIZE: u16 = 4;

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// A connection that does what its test says; it answers settings and pings automatically.
pub(crate) struct Raw(TcpStream);

impl Raw {
    /// A connection that has sent nothing.
    pub(crate) fn mute(server: &TestServer) -> Self {
        let stream = TcpStream::connect(address(server)).unwrap();
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).unwrap();
        Self(stream)
    }

    /// A connection with a flow-control window of this many bytes for each stream.
    pub(crate) fn new(server: &TestServer, window_len: u32) -> Self {
        let mut raw = Self::mute(server);
        raw.say(PREFACE);
        let id = INITIAL_WINDOW_SIZE.to_be_bytes();
        raw.send(
            SETTINGS,
            0,
            0,
            &[&id[..], &window_len.to_be_bytes()].concat(),
        );
        raw
    }

    /// Sends bytes as they are.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&len[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.say(&[&head, payload].concat());
    }

    /// Begins a call.
    pub(crate) fn call(&mut self, stream: u32, path: &str, more: &[(&str, &str)]) {
        let headers = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", path),
            (":authority", "leafid"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        ];
        let mut block = Vec::new();
        for (name, value) in headers.iter().chain(more) {
            // Not indexed by HPACK.
            block.push(0);
            for text in [name, value] {
                block.push(u8::try_from(text.len()).unwrap());
                block.extend_from_slice(text.as_bytes());
            }
        }
        self.send(HEADERS, END_HEADERS, stream, &block);
    }

    /// Sends a message that asks for an id of a tag.
    pub(crate) fn message(&mut self, stream: u32, tag: &str, flags: u8) {
        let len = u8::try_from(tag.len()).unwrap();
        let head = [0, 0, 0, 0, len + 2, 0x0a, len];
        self.send(DATA, flags, stream, &[&head, tag.as_bytes()].concat());
    }

    /// Extends the window of a stream by this many bytes.
    pub(crate) fn let_through(&mut self, stream: u32, len: u32) {
        self.send(WINDOW_UPDATE, 0, stream, &len.to_be_bytes());
    }

    /// The next frame that is not about settings, pings or windows; `None`: the connection has ended.
    pub(crate) fn frame(&mut self) -> Option<Frame> {
        loop {
            let head: [u8; 9] = self.read(9)?.try_into().unwrap();
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let frame = Frame {
                kind: head[3],
                flags: head[4],
                stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
                payload: self.read(len as usize)?,
            };
            match frame.kind {
                SETTINGS | PING if frame.flags & ACK == 0 => {
                    let payload = if frame.kind == PING {
                        &frame.payload[..]
                    } else {
                        &[]
                    };
                    self.send(frame.kind, ACK, 0, payload);
                }
                SETTINGS | PING | WINDOW_UPDATE => {}
                _ => return Some(frame),
            }
        }
    }

    /// The kinds of all frames until the connection ends.
    pub(crate) fn kinds_to_end(&mut self) -> Vec<u8> {
        std::iter::from_fn(|| self.frame().map(|frame| frame.kind)).collect()
    }

    fn read(&mut self, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        match self.0.read_exact(&mut bytes) {
            Ok(()) => Some(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("nothing comes, and no end")
            }
            Err(_) => None,
        }
    }
}
