//! Guards what HTTP/2 has of its own: how a connection ends. The frames are written and read here:
//! a client would hide them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::site::Site;

/// Numbers of RFC 9113, section 6.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A frame that came in.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    flags: u8,
    stream: u32,
    pub(crate) payload: Vec<u8>,
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
}

impl Http2 {
    pub(crate) fn connect(site: &Site) -> Self {
        let mut stream = site.connect();
        stream
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        let mut connection = Self { stream, last: 0 };
        connection.write(SETTINGS, 0, 0, &[]);
        connection
    }

    /// Asks for a path, and leaves the answer to be read.
    pub(crate) fn get(&mut self, path: &str) {
        self.last = if self.last == 0 { 1 } else { self.last + 2 };
        // GET, http, :authority and :path by their numbers in HPACK's table.
        let mut head = vec![0x82, 0x86, 0x01, 1, b'x', 0x04];
        head.push(u8::try_from(path.len()).unwrap());
        head.extend_from_slice(path.as_bytes());
        self.write(HEADERS, END_STREAM | END_HEADERS, self.last, &head);
    }

    /// Asks for a path, and tells whether the answer is 200.
    pub(crate) fn is_ok(&mut self, path: &str) -> bool {
        self.get(path);
        let mut is_ok = false;
        loop {
            let frame = self.read().expect("an answer");
            is_ok |= frame.is_ok();
            if frame.ends(self.last) {
                return is_ok;
            }
        }
    }

    /// Waits for the end of the connection, and tells whether it was announced.
    pub(crate) fn is_told_to_go(&mut self) -> bool {
        let mut is_told = false;
        while let Some(frame) = self.read() {
            is_told |= frame.kind == GOAWAY;
        }
        is_told
    }

    fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = vec![len[1], len[2], len[3], kind, flags];
        frame.extend_from_slice(&stream.to_be_bytes());
        frame.extend_from_slice(payload);
        // The server may be gone: reading tells.
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
        Some(Frame {
            kind,
            flags,
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
            payload,
        })
    }
}
