//! `Load`: one thread that asks a server over many connections, and reads every answer.
//!
//! It costs far less than the servers: requests are made once, a batch leaves in one call, and
//! an answer is compared rather than parsed where it can be. What is asked, and what counts as an
//! answer, is the [`Speech`]'s; when to ask is `closed.rs`'s and `open.rs`'s.

mod closed;
mod grpc;
mod http;
mod ids;
mod open;
mod resp;
mod resp_texts;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::event::{Timespec, epoll};
use rustix::time::ClockId;

use crate::rounds::cpu_time;

pub(crate) use grpc::GrpcStreams;
pub(crate) use http::HttpSpeech;
pub(crate) use ids::Expected;
pub(crate) use resp::RespSpeech;
pub(crate) use resp_texts::RespTextSpeech;

/// How long the last answers may take to come.
const ANSWER_MAX: Duration = Duration::from_secs(30);
const READ_LEN: usize = 256 * 1024;

/// What is said on a connection.
pub(crate) trait Speech {
    /// The bytes of one request.
    fn request(&self) -> Vec<u8>;
    /// Reads the whole answers at the front, and says how many bytes and how many answers those
    /// were.
    fn read(&mut self, bytes: &[u8]) -> Heard;
    /// What was answered so far.
    fn expected(&self) -> &Expected;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) len: usize,
    pub(crate) answers: usize,
}

/// What came of a slice of load.
pub(crate) struct Tally {
    pub(crate) answers: u64,
    pub(crate) wall: Duration,
    /// The CPU time that the load itself used.
    pub(crate) load_cpu: Duration,
    /// From the request, or from when it was due, to its answer, in nanoseconds. A batch of
    /// pipelined requests is one entry.
    pub(crate) waits_ns: Histogram<u64>,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            answers: 0,
            wall: Duration::ZERO,
            load_cpu: Duration::ZERO,
            waits_ns: Histogram::new_with_bounds(100, 60_000_000_000, 3).expect("sound bounds"),
        }
    }

    fn waited(&mut self, wait: Duration) {
        let ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        self.waits_ns.saturating_record(ns);
    }
}

/// Connections to one server, kept open between slices.
pub(crate) struct Load<S> {
    speech: S,
    connections: Vec<Connection>,
    poll: OwnedFd,
    /// What one read brings; shared, so that it stays in the cache.
    buffer: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    /// When its batch was sent, or was due.
    since: Instant,
    /// Answers that have not come yet.
    missing: usize,
    /// The beginning of an answer whose end has not come yet.
    rest: Vec<u8>,
}

impl<S: Speech> Load<S> {
    pub(crate) fn connect(address: SocketAddr, connections: usize, speech: S) -> Self {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("an epoll");
        let connections: Vec<_> = (0..connections)
            .map(|_| Connection::open(address))
            .collect();
        for (number, connection) in (0..).zip(&connections) {
            let (data, flags) = (
                epoll::EventData::new_u64(number),
                epoll::EventFlags::IN | epoll::EventFlags::ET,
            );
            epoll::add(&poll, &connection.stream, data, flags).expect("a socket");
        }
        Self {
            speech,
            connections,
            poll,
            buffer: vec![0; READ_LEN],
        }
    }

    pub(crate) fn speech(&self) -> &S {
        &self.speech
    }

    /// Which connections have something to read, waiting for the first one for at most that long.
    fn ready(&self, timeout: Duration, events: &mut Vec<epoll::Event>) {
        events.clear();
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let room = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.poll, room, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("cannot wait for answers: {error}"),
        }
    }

    /// Reads what has come on a connection; the number of answers.
    fn hear(&mut self, number: usize) -> usize {
        let Self {
            speech,
            connections,
            buffer,
            ..
        } = self;
        let connection = &mut connections[number];
        let kept = connection.rest.len();
        buffer[..kept].copy_from_slice(&connection.rest);
        let len = match connection.stream.read(&mut buffer[kept..]) {
            Ok(0) => panic!("the server closed a connection under load"),
            Ok(len) => kept + len,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return 0,
            Err(error) => panic!("cannot read an answer: {error}"),
        };
        let heard = speech.read(&buffer[..len]);
        connection.rest.clear();
        connection.rest.extend_from_slice(&buffer[heard.len..len]);
        assert!(
            heard.answers <= connection.missing,
            "the server answers more than it was asked"
        );
        connection.missing -= heard.answers;
        heard.answers
    }
}

impl Connection {
    #[expect(clippy::disallowed_methods, reason = "this measures real time")]
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address)
            .and_then(|stream| {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Ok(stream)
            })
            .unwrap_or_else(|error| panic!("cannot connect to {address}: {error}"));
        Self {
            stream,
            since: Instant::now(),
            missing: 0,
            rest: Vec::new(),
        }
    }

    /// Sends a batch. It fits into the socket, which is empty: the last batch was answered.
    fn ask(&mut self, batch: &[u8], requests: usize, since: Instant) {
        self.since = since;
        self.missing = requests;
        match self.stream.write(batch) {
            Ok(len) if len == batch.len() => {}
            Ok(len) => panic!("{len} of {} bytes fit into a socket", batch.len()),
            Err(error) => panic!("cannot send a request: {error}"),
        }
    }
}

/// What this thread has used.
fn own_cpu() -> Duration {
    cpu_time(ClockId::ThreadCPUTime)
}
