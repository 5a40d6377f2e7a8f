//! `GrpcStreams`: bidirectional streams of ids, each kept full of requests that wait for their
//! answers.
//!
//! Requests are bytes made once, and of an answer only its id is read, so that the client costs
//! little beside what HTTP/2 itself does. Everything runs on one thread.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::{Buf as _, BufMut as _};
use futures_util::Stream;
use futures_util::task::AtomicWaker;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};

use super::ids::Expected;
use super::{Tally, own_cpu};

/// A `StreamRequest` for the tag `t`: field 1, one byte long.
const REQUEST: &[u8] = &[0x0a, 1, b't'];
const PATH: &str = "/leafid.v1.Ids/Stream";
/// So large that the flow control of the load never holds a server back.
const WINDOW_LEN: u32 = 4 * 1024 * 1024;

/// Streams to one server, opened anew for each slice.
pub(crate) struct GrpcStreams {
    address: SocketAddr,
    streams: usize,
    /// Requests without an answer on each stream.
    in_flight: usize,
    runtime: Runtime,
    heard: Rc<RefCell<Heard>>,
}

/// What all streams have heard.
struct Heard {
    expected: Expected,
    failures: u64,
    tally: Tally,
}

impl GrpcStreams {
    pub(crate) fn new(
        address: SocketAddr,
        streams: usize,
        in_flight: usize,
        expected: Expected,
    ) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build();
        Self {
            address,
            streams,
            in_flight,
            runtime: runtime.expect("a runtime on this thread"),
            heard: Rc::new(RefCell::new(Heard {
                expected,
                failures: 0,
                tally: Tally::new(),
            })),
        }
    }

    pub(crate) fn failures(&self) -> u64 {
        self.heard.borrow().failures
    }

    /// Keeps every stream full for so long, and waits for the last answers.
    pub(crate) fn run(&mut self, time: Duration) -> Tally {
        self.heard.borrow_mut().tally = Tally::new();
        let (wall, cpu) = LocalSet::new().block_on(&self.runtime, self.slice(time));
        let tally = &mut self.heard.borrow_mut().tally;
        let mut tally = std::mem::replace(tally, Tally::new());
        (tally.wall, tally.load_cpu) = (wall, cpu);
        tally
    }

    /// How long it took, and the CPU time of the load.
    async fn slice(&self, time: Duration) -> (Duration, Duration) {
        let mut open = Vec::new();
        for _ in 0..self.streams {
            open.push(open_stream(self.address, self.in_flight).await);
        }
        let (started, cpu) = (Instant::now(), own_cpu());
        let mut hearing = Vec::new();
        let mut tracks = Vec::new();
        for (track, answers) in open {
            track.start();
            let heard = Rc::clone(&self.heard);
            hearing.push(tokio::task::spawn_local(hear(
                Arc::clone(&track),
                answers,
                heard,
            )));
            tracks.push(track);
        }
        tokio::time::sleep(time).await;
        for track in tracks {
            track.stop();
        }
        for task in hearing {
            task.await.expect("no panic");
        }
        (started.elapsed(), own_cpu().saturating_sub(cpu))
    }
}

async fn open_stream(
    address: SocketAddr,
    in_flight: usize,
) -> (Arc<Track>, Streaming<Option<u64>>) {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    let channel: Channel = endpoint
        .initial_stream_window_size(WINDOW_LEN)
        .initial_connection_window_size(WINDOW_LEN)
        .connect()
        .await
        .unwrap_or_else(|error| panic!("cannot connect to {address}: {error}"));
    let mut client = Grpc::new(channel);
    client.ready().await.expect("a new connection is ready");
    let track = Arc::new(Track::new(in_flight));
    let requests = Request::new(Requests(Arc::clone(&track)));
    let path = PathAndQuery::from_static(PATH);
    let answers = client.streaming(requests, path, IdsCodec).await;
    let answers = answers.unwrap_or_else(|status| panic!("no stream: {status}"));
    (track, answers.into_inner())
}

async fn hear(track: Arc<Track>, mut answers: Streaming<Option<u64>>, heard: Rc<RefCell<Heard>>) {
    // One request of a window is timed: a clock read for each would be seen in the rate.
    let (mut since, mut left) = (Instant::now(), track.in_flight);
    while let Some(id) = answers.message().await.expect("the stream goes on") {
        let mut heard = heard.borrow_mut();
        heard.tally.answers += 1;
        let is_right = id.is_some_and(|id| heard.expected.note(id));
        heard.failures += u64::from(!is_right);
        if !is_right && heard.failures == 1 {
            eprintln!("an answer is no success: the id is {id:?}");
        }
        track.answered();
        left -= 1;
        if left == 0 {
            let now = Instant::now();
            heard.tally.waited(now - since);
            (since, left) = (now, track.in_flight);
        }
    }
}

/// How many more requests a stream may send.
struct Track {
    in_flight: usize,
    free: AtomicUsize,
    is_over: AtomicBool,
    sender: AtomicWaker,
}

impl Track {
    fn new(in_flight: usize) -> Self {
        Self {
            in_flight,
            free: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            sender: AtomicWaker::new(),
        }
    }

    fn start(&self) {
        self.free.store(self.in_flight, Ordering::Relaxed);
        self.sender.wake();
    }

    fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.sender.wake();
    }

    // Relaxed throughout: all of it happens on one thread.
    fn answered(&self) {
        self.free.fetch_add(1, Ordering::Relaxed);
        self.sender.wake();
    }
}

/// The requests of a stream, made as answers come in.
struct Requests(Arc<Track>);

impl Stream for Requests {
    type Item = ();

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<()>> {
        let track = &self.0;
        if track.is_over.load(Ordering::Relaxed) {
            return Poll::Ready(None);
        }
        let free = track.free.load(Ordering::Relaxed);
        if free == 0 {
            track.sender.register(context.waker());
            return Poll::Pending;
        }
        track.free.store(free - 1, Ordering::Relaxed);
        Poll::Ready(Some(()))
    }
}

/// Sends [`REQUEST`], and reads the first id of a `StreamResponse`; `None`: it has none.
#[derive(Clone, Copy)]
struct IdsCodec;

impl Codec for IdsCodec {
    type Encode = ();
    type Decode = Option<u64>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for IdsCodec {
    type Item = ();
    type Error = Status;

    fn encode(&mut self, (): (), buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(REQUEST);
        Ok(())
    }
}

impl Decoder for IdsCodec {
    type Item = Option<u64>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Option<u64>>, Status> {
        let id = first_id(buffer.chunk());
        buffer.advance(buffer.remaining());
        Ok(Some(id))
    }
}

/// Of a message whose field 1 holds numbers, one by one.
fn first_id(message: &[u8]) -> Option<u64> {
    let [0x08, number @ ..] = message else {
        return None;
    };
    let mut id = 0;
    for (place, byte) in number.iter().enumerate().take(10) {
        id |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(id);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_id_of_an_answer_is_read() {
        assert_eq!(first_id(&[0x08, 0xac, 0x02]), Some(300));
        assert_eq!(first_id(&[0x08, 5, 0x08, 6]), Some(5));
        assert_eq!(first_id(&[0x12, 2, 8, 5]), None);
        assert_eq!(first_id(&[]), None);
        assert_eq!(first_id(&[0x08, 0x80]), None);
    }
}
