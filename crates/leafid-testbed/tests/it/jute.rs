//! As much of ZooKeeper's protocol as a test of the testbed needs: one node written and read.

use std::io::{Read, Write};
use std::net::TcpStream;

const CREATE: i32 = 1;
const GET: i32 = 4;
const ALL_RIGHTS: i32 = 31;

/// A session with a server.
pub(crate) struct Session {
    stream: TcpStream,
}

impl Session {
    pub(crate) fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut session = Self { stream };
        let mut hello = Vec::new();
        hello.extend(0_i32.to_be_bytes()); // version of the protocol
        hello.extend(0_i64.to_be_bytes()); // newest change seen
        hello.extend(10_000_i32.to_be_bytes()); // session ends after, in ms
        hello.extend(0_i64.to_be_bytes()); // no older session
        hello.extend(bytes(&[0; 16]));
        session.exchange(&hello);
        session
    }

    /// Creates a node that stays.
    pub(crate) fn create(&mut self, path: &str, value: &[u8]) {
        let mut rights = 1_i32.to_be_bytes().to_vec();
        rights.extend(ALL_RIGHTS.to_be_bytes());
        rights.extend([bytes(b"world"), bytes(b"anyone")].concat());
        let body = [bytes(path.as_bytes()), bytes(value), rights, vec![0; 4]];
        self.call(CREATE, &body.concat());
    }

    /// What a node holds.
    pub(crate) fn get(&mut self, path: &str) -> Vec<u8> {
        let answer = self.call(GET, &[bytes(path.as_bytes()), vec![0]].concat());
        let (length, rest) = answer.split_at(4);
        let length = i32::from_be_bytes(length.try_into().unwrap());
        rest[..usize::try_from(length).unwrap()].to_vec()
    }

    fn call(&mut self, method: i32, body: &[u8]) -> Vec<u8> {
        let call_number = 1_i32.to_be_bytes();
        let answer = self.exchange(&[&call_number, &method.to_be_bytes(), body].concat());
        // Number of the call, number of the change, error.
        let (head, rest) = answer.split_at(16);
        assert_eq!(head[12..], [0; 4], "ZooKeeper refused call {method}");
        rest.to_vec()
    }

    fn exchange(&mut self, request: &[u8]) -> Vec<u8> {
        self.stream.write_all(&bytes(request)).unwrap();
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).unwrap();
        let mut answer = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
        self.stream.read_exact(&mut answer).unwrap();
        answer
    }
}

/// Bytes behind their number.
fn bytes(text: &[u8]) -> Vec<u8> {
    let length = i32::try_from(text.len()).unwrap();
    [&length.to_be_bytes()[..], text].concat()
}
