//! `Socket`: a connection's bytes between hyper, which owns one half, and the connection's task.
//!
//! hyper reads from the stream and writes to memory. The task lets hyper have its turn, and then
//! sends what it wrote: [`Socket::serve_until`]. So the answers to requests that came in together
//! leave together, in one system call. The contract:
//!
//! - What was written is sent at the end of the turn, or as soon as the stream takes it. Nothing
//!   depends on whether or when hyper flushes, so a flush is ready at once.
//! - A write first sends where [`OUT_LEN_MAX`] bytes wait, and a shutdown sends all. The stream
//!   stays open for the task to close.
//!
//! On the way it notes in [`Backlog`] whether the peer reads, and refuses a flood of HTTP/2 frames.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::net::front_end::Io;
use crate::net::http2_frames::Frames;
use crate::net::poll_on_wake::PollOnWake;
use crate::net::preface::Preface;
use crate::net::unread::{Backlog, Charge, FREE_LEN};
use crate::wall_clock;

/// Bytes that may wait to be sent.
const OUT_LEN_MAX: usize = 64 * 1024;
/// Memory for answers that an idle connection keeps: enough for a usual pipeline.
const OUT_KEPT_MAX: usize = 16 * 1024;

/// One half of a connection's socket. Both are used in the connection's task only, so the lock is
/// always free.
pub(crate) struct Socket<S>(Arc<Mutex<Inner<S>>>);

struct Inner<S> {
    stream: S,
    /// What was read before hyper got its half.
    preface: Preface,
    /// Over HTTP/2: what comes in, frame by frame, and what the peer's HPACK table keeps alive.
    frames: Option<Box<(Frames, Charge)>>,
    /// Written by hyper; sent up to `sent_len`.
    out: Vec<u8>,
    sent_len: usize,
    /// Whether all that was written has left. Under TLS the stream may have taken it and keep some.
    is_sent: bool,
    backlog: Arc<Backlog>,
    /// Counts `out` while the stream does not take it.
    charge: Option<Charge>,
}

impl<S: Io> Socket<S> {
    /// A connection that began with `preface`: the half of its task.
    pub(crate) fn new(stream: S, preface: Preface, backlog: Arc<Backlog>) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            stream,
            frames: preface
                .is_http2()
                .then(|| Box::new((Frames::new(0), backlog.hold(0)))),
            preface,
            out: Vec::new(),
            sent_len: 0,
            is_sent: true,
            backlog,
            charge: None,
        })))
    }

    /// The half for hyper.
    pub(crate) fn for_hyper(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Serves the connection until `end` is ready; `None`: hyper was done with it before, or the
    /// stream is broken. What came in before the end has been read by then.
    pub(crate) async fn serve_until<T>(
        &self,
        end: impl Future<Output = T>,
        mut connection: Pin<&mut impl Future>,
    ) -> Option<T> {
        let mut end = PollOnWake::new(end);
        poll_fn(|context| {
            // First: a peer that never stops sending uses up all that tokio lets one task do in a
            // turn, and timers behind that would not be heard.
            let ended = end.poll(context);
            if self.poll_turn(connection.as_mut(), context).is_ready() {
                return Poll::Ready(None);
            }
            match ended {
                Poll::Ready(end) => Poll::Ready(Some(end)),
                // Again: it may have been waiting for something in this turn.
                Poll::Pending => end.poll(context).map(Some),
            }
        })
        .await
    }

    /// Lets hyper have a turn, and sends what it wrote. Ready when hyper is done with the
    /// connection, or the stream is broken.
    #[inline]
    fn poll_turn(&self, connection: Pin<&mut impl Future>, context: &mut Context<'_>) -> Poll<()> {
        if !wall_clock::has_http_date() {
            report_date();
            return Poll::Ready(());
        }
        if connection.poll(context).is_ready() {
            return Poll::Ready(());
        }
        match self.lock().poll_send(context) {
            Poll::Ready(Err(_)) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }

    /// The stream, and what has not been sent on it: hyper does not wait for that if its peer ends
    /// in the middle of something. `None` while hyper has its half.
    pub(crate) fn into_parts(self) -> Option<(S, Vec<u8>)> {
        let inner = Arc::into_inner(self.0)?.into_inner();
        let mut inner = inner.unwrap_or_else(PoisonError::into_inner);
        inner.out.drain(..inner.sent_len);
        Some((inner.stream, inner.out))
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Inner<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says once why connections are closed.
#[cold]
fn report_date() {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if !IS_TOLD.swap(true, Ordering::Relaxed) {
        tracing::error!(
            "the wall clock is before 1970 or beyond the year 9999, for which HTTP has no dates: \
             connections of HTTP and gRPC are closed until it is set right"
        );
    }
}

impl<S: Io> Inner<S> {
    /// Sends what was written.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_sent {
            return Poll::Ready(Ok(()));
        }
        let sent = self.poll_send_out(context);
        self.is_sent = sent.is_ready();
        self.backlog.stuck(sent.is_pending());
        if sent.is_ready() {
            self.charge = None;
        } else if self.out.capacity() > FREE_LEN {
            let backlog = &self.backlog;
            let charge = self.charge.get_or_insert_with(|| backlog.charge(0));
            charge.set(self.out.capacity());
        }
        sent
    }

    fn poll_send_out(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut stream = Pin::new(&mut self.stream);
        while self.sent_len < self.out.len() {
            let rest = &self.out[self.sent_len..];
            let len = ready!(stream.as_mut().poll_write(context, rest))?;
            if len == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent_len += len;
            self.backlog.sent(len);
        }
        self.out.clear();
        self.out.shrink_to(OUT_KEPT_MAX);
        self.sent_len = 0;
        stream.poll_flush(context)
    }

    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // With what follows, or hyper would make room for it beside the preface, and keep that.
        let has_begun = self.preface.read(buf);
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buf);
        if let Some(frames) = &mut self.frames {
            self.backlog.look(frames, &buf.filled()[before..])?;
        }
        match has_begun && read.is_pending() {
            true => Poll::Ready(Ok(())),
            false => read,
        }
    }
}

impl<S: Io> AsyncRead for Socket<S> {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.lock().poll_read(context, buf)
    }
}

impl<S: Io> AsyncWrite for Socket<S> {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut inner = self.lock();
        if inner.out.len() >= OUT_LEN_MAX {
            ready!(inner.poll_send(context))?;
        }
        inner.out.extend_from_slice(bytes);
        inner.is_sent = false;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lock().poll_send(context)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::config::Limits;
    use crate::net::unread::Unread;

    fn socket<S: Io>(stream: S, preface: Preface) -> Socket<S> {
        let backlog = Unread::new(&Limits::default()).connection();
        Socket::new(stream, preface, backlog)
    }

    fn plain<S: Io>(stream: S) -> Socket<S> {
        socket(stream, Preface::default())
    }

    /// Writes `text` in one turn.
    fn write<S: Io>(socket: &Socket<S>, text: &[u8]) {
        let mut hyper = socket.for_hyper();
        let writing = pin!(async {
            hyper.write_all(text).await.unwrap();
            hyper.flush().await.unwrap();
            std::future::pending::<()>().await;
        });
        let turn = socket.poll_turn(writing, &mut Context::from_waker(Waker::noop()));
        assert!(turn.is_pending());
    }

    /// Takes all that is written at once, as TLS does, and lets it leave only when it may.
    #[derive(Default)]
    struct Keeper {
        kept: Vec<u8>,
        left: Vec<u8>,
        writes: u32,
        may_leave: bool,
    }

    impl AsyncRead for Keeper {
        fn poll_read(
            self: Pin<&mut Self>,
            _context: &mut Context<'_>,
            _buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Keeper {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.kept.extend_from_slice(bytes);
            self.writes += 1;
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            if !self.may_leave {
                return Poll::Pending;
            }
            let kept = std::mem::take(&mut self.kept);
            self.left.extend_from_slice(&kept);
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// Guards: all that is written in a turn leaves at its end in one write, however often it is
    /// flushed. What the stream took, and could not send at once, leaves in a later turn, although
    /// nothing is written in that.
    #[test]
    fn a_turn_is_one_write() {
        let socket = plain(Keeper::default());
        let mut hyper = socket.for_hyper();
        let mut writing = pin!(async {
            for text in [b"one ", b"two "] {
                hyper.write_all(text).await.unwrap();
                hyper.flush().await.unwrap();
            }
            std::future::pending::<()>().await;
        });
        let mut context = Context::from_waker(Waker::noop());
        let mut turn = || socket.poll_turn(writing.as_mut(), &mut context);
        assert!(turn().is_pending());
        assert!(!socket.lock().backlog.is_open());
        socket.lock().stream.may_leave = true;
        assert!(turn().is_pending());
        let inner = socket.lock();
        assert!(
            inner.backlog.is_open(),
            "its peer counts as one that does not read"
        );
        assert_eq!(
            (inner.stream.writes, &*inner.stream.left),
            (1, &b"one two "[..])
        );
    }

    /// Guards: answers are sent whole before hyper's shutdown is over, however late the peer reads
    /// them, and hyper waits where there is no more room.
    #[tokio::test(start_paused = true)]
    async fn answers_are_sent_before_the_end() {
        let (near, mut far) = duplex(1000);
        let socket = plain(near);
        let answers = vec![b'7'; 200_000];
        let mut hyper = socket.for_hyper();
        let (late, expected) = (Duration::from_secs(10), answers.clone());
        let reading = tokio::spawn(async move {
            sleep(late).await;
            let mut read = vec![0; expected.len()];
            far.read_exact(&mut read).await.unwrap();
            assert_eq!(read, expected);
        });
        let mut ending = pin!(async {
            for answer in answers.chunks(1000) {
                hyper.write_all(answer).await.unwrap();
            }
            hyper.shutdown().await.unwrap();
        });
        let ended = poll_fn(|context| {
            let turn = socket.poll_turn(ending.as_mut(), context);
            assert!(socket.lock().out.len() < OUT_LEN_MAX + 1000);
            turn
        });
        timeout(2 * late, ended).await.expect("it continues");
        reading.await.unwrap();
        assert!(
            socket.lock().out.capacity() <= OUT_KEPT_MAX,
            "memory is kept"
        );
    }

    /// Guards: what hyper leaves unsent is there for the task to send.
    #[tokio::test]
    async fn what_is_unsent_is_left() {
        let (near, mut far) = duplex(4);
        let socket = plain(near);
        write(&socket, b"answer");
        let (_near, rest) = socket.into_parts().unwrap();
        assert_eq!(rest, b"er");
        let mut sent = [0; 4];
        far.read_exact(&mut sent).await.unwrap();
        assert_eq!(&sent, b"answ");
    }

    /// Guards: the first bytes reach hyper with what follows them, in one read.
    #[tokio::test]
    async fn the_preface_is_read_with_what_follows() {
        let (mut near, mut far) = duplex(1024);
        far.write_all(b"GET / HTTP/1.1\r\nhost: ids.example\r\n\r\n")
            .await
            .unwrap();
        let preface = Preface::of(&mut near).await.unwrap();
        let mut hyper = socket(near, preface).for_hyper();
        let mut bytes = [0; 1024];
        let len = hyper.read(&mut bytes).await.unwrap();
        assert!(bytes[..len].ends_with(b"\r\n\r\n"));
    }
}
