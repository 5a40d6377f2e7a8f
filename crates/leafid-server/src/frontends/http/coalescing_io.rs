//! `CoalescingIo`: a socket whose writes are gathered. What hyper writes in one turn leaves in one
//! go, so that a batch of pipelined requests costs one system call on the way out.
//!
//! hyper's own `pipeline_flush` would do the same, but with bytes left to read it never flushes:
//! the refusal of a malformed request would be lost, and half a request would hold back the
//! answers of those before it.
//!
//! hyper owns the pipe, which sends once there is nothing more to read. Where hyper rests before
//! it has looked, such as behind a slow request, the connection's task asks for it with its
//! [`Link`]. Nothing else is shared, and nothing is locked.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::preface::Preface;
use crate::net::http2_frames::Frames;
use crate::net::io::Io;
use crate::net::unread::{Backlog, Charge, FREE_LEN};

/// Bytes that may wait to leave before the writer has to.
const OUT_LEN_MAX: usize = 64 * 1024;
/// Room for answers that a connection keeps while it rests: enough for a usual pipeline.
const OUT_KEPT_MAX: usize = 16 * 1024;

/// One socket, as hyper sees it.
pub(super) struct CoalescingIo<S: Io> {
    /// `None` only while the pipe is dropped.
    stream: Option<S>,
    /// What came in before hyper.
    preface: Preface,
    /// Over HTTP/2: what comes in, frame by frame.
    frames: Option<Box<Frames>>,
    /// Whether the last look at the socket found nothing to read.
    is_dry: bool,
    /// Written by hyper; sent up to `sent`.
    out: Vec<u8>,
    sent: usize,
    link: Arc<Link<S>>,
    backlog: Arc<Backlog>,
    /// Counts `out` while the socket does not take it.
    charge: Option<Charge>,
}

/// What the pipe and the connection's task tell each other. Both run in that task, one after the
/// other.
pub(super) struct Link<S> {
    /// Whether something written has not left yet. Also with nothing gathered: under TLS a part
    /// of what was sent may be kept back.
    is_owing: AtomicBool,
    /// What was gathered shall leave, whether or not there is more to read.
    is_due: AtomicBool,
    /// What hyper left when it was done.
    left: Mutex<Option<Left<S>>>,
}

/// What hyper leaves of a connection.
pub(super) struct Left<S> {
    pub(super) stream: S,
    /// Answers that have not been sent: hyper does not flush when its peer ends in the middle of
    /// something.
    pub(super) rest: Vec<u8>,
}

impl<S> Link<S> {
    /// hyper's turn is over, and it waits for something: what it has written leaves at its next
    /// turn, which comes at once.
    #[inline]
    pub(super) fn rest(&self, context: &mut Context<'_>) {
        // Relaxed: all of it happens in one task.
        if self.is_owing.load(Ordering::Relaxed) && !self.is_due.load(Ordering::Relaxed) {
            self.is_due.store(true, Ordering::Relaxed);
            context.waker().wake_by_ref();
        }
    }

    /// What is left of a connection that hyper is done with.
    pub(super) fn left(&self) -> Option<Left<S>> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.take()
    }
}

impl<S: Io> CoalescingIo<S> {
    /// A pipe, and what its connection's task holds of it.
    pub(super) fn new(stream: S, preface: Preface, backlog: Arc<Backlog>) -> (Self, Arc<Link<S>>) {
        let link = Arc::new(Link {
            is_owing: AtomicBool::new(false),
            is_due: AtomicBool::new(false),
            left: Mutex::new(None),
        });
        let pipe = Self {
            stream: Some(stream),
            frames: preface.is_http2().then(|| Box::new(Frames::new(0))),
            preface,
            is_dry: false,
            out: Vec::new(),
            sent: 0,
            link: Arc::clone(&link),
            backlog,
            charge: None,
        };
        (pipe, link)
    }

    /// Sends what was gathered.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.link.is_owing.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let sent = self.poll_send_out(context);
        self.backlog.stuck(sent.is_pending());
        if sent.is_ready() {
            self.charge = None;
        } else {
            let len = self.out.capacity();
            if len > FREE_LEN {
                let backlog = &self.backlog;
                self.charge
                    .get_or_insert_with(|| backlog.charge(0))
                    .set(len);
            }
        }
        sent
    }

    fn poll_send_out(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        let mut stream = Pin::new(stream);
        while self.sent < self.out.len() {
            let len = ready!(stream.as_mut().poll_write(context, &self.out[self.sent..]))?;
            if len == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += len;
            self.backlog.sent(len);
        }
        self.out.clear();
        self.out.shrink_to(OUT_KEPT_MAX);
        self.sent = 0;
        ready!(stream.poll_flush(context))?;
        self.link.is_owing.store(false, Ordering::Relaxed);
        self.link.is_due.store(false, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl<S: Io> Drop for CoalescingIo<S> {
    fn drop(&mut self) {
        let mut left = self
            .link
            .left
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.out.drain(..self.sent);
        let rest = std::mem::take(&mut self.out);
        *left = self.stream.take().map(|stream| Left { stream, rest });
    }
}

impl<S: Io> AsyncRead for CoalescingIo<S> {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        // With what follows, or hyper would make room for it beside the preface, and keep that.
        let has_begun = this.preface.read(buf);
        let Some(stream) = &mut this.stream else {
            return Poll::Ready(Ok(()));
        };
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let read = Pin::new(stream).poll_read(context, buf);
        this.is_dry = read.is_pending();
        if let Some(frames) = &mut this.frames {
            this.backlog.look(frames, &buf.filled()[before..])?;
        }
        if has_begun && this.is_dry {
            return Poll::Ready(Ok(()));
        }
        if this.is_dry
            && let Poll::Ready(Err(error)) = this.poll_send(context)
        {
            return Poll::Ready(Err(error));
        }
        read
    }
}

impl<S: Io> AsyncWrite for CoalescingIo<S> {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.out.len() >= OUT_LEN_MAX {
            ready!(self.poll_send(context))?;
        }
        self.out.extend_from_slice(bytes);
        self.link.is_owing.store(true, Ordering::Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    /// Sends, unless there may be more to read, and so to write.
    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_dry || self.link.is_due.load(Ordering::Relaxed) {
            return self.poll_send(context);
        }
        Poll::Ready(Ok(()))
    }

    /// Sends what was gathered, however long the peer takes to read: the watch for silence ends
    /// it. That nothing follows is told by the connection's task, which gets the socket back.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_send(context)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;
    use crate::config::Limits;
    use crate::net::unread::Unread;

    fn pipe<S: Io>(stream: S) -> (CoalescingIo<S>, Arc<Link<S>>) {
        pipe_behind(stream, Preface::default())
    }

    fn pipe_behind<S: Io>(stream: S, preface: Preface) -> (CoalescingIo<S>, Arc<Link<S>>) {
        CoalescingIo::new(
            stream,
            preface,
            Unread::new(&Limits::default()).connection(),
        )
    }

    /// Takes all that is written at once, as TLS does, and lets it leave only when it may.
    #[derive(Default)]
    struct Keeper {
        kept: Vec<u8>,
        left: Vec<u8>,
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

    /// Guards that an answer which a stream took, and could not send at once, leaves when the
    /// pipe is next flushed, although nothing is gathered then.
    #[test]
    fn what_the_stream_keeps_leaves_later() {
        let (mut pipe, link) = pipe(Keeper::default());
        let mut context = Context::from_waker(Waker::noop());
        let written = Pin::new(&mut pipe).poll_write(&mut context, b"answer");
        assert!(matches!(written, Poll::Ready(Ok(6))));
        link.rest(&mut context);
        assert!(Pin::new(&mut pipe).poll_flush(&mut context).is_pending());
        assert!(!pipe.backlog.is_open());
        pipe.stream.as_mut().unwrap().may_leave = true;
        assert!(Pin::new(&mut pipe).poll_flush(&mut context).is_ready());
        assert!(
            pipe.backlog.is_open(),
            "its peer counts as one that does not read"
        );
        drop(pipe);
        assert_eq!(link.left().unwrap().stream.left, b"answer");
    }

    /// What has come at the far end by now.
    async fn come(far: &mut DuplexStream) -> Vec<u8> {
        let mut read = Vec::new();
        let reading = far.read_buf(&mut read);
        let _nothing = tokio::time::timeout(std::time::Duration::ZERO, reading).await;
        read
    }

    /// Guards: answers gather while there may be more to read, and leave once there is not.
    #[tokio::test(start_paused = true)]
    async fn answers_gather_until_all_is_read() {
        let (near, mut far) = duplex(1024);
        let (mut pipe, _link) = pipe(near);
        far.write_all(b"request").await.unwrap();
        let mut request = [0; 7];
        pipe.read_exact(&mut request).await.unwrap();
        for answer in [b"one ", b"two "] {
            pipe.write_all(answer).await.unwrap();
            pipe.flush().await.unwrap();
        }
        assert_eq!(come(&mut far).await, b"");
        let mut context = Context::from_waker(Waker::noop());
        let mut buf = ReadBuf::new(&mut request);
        assert!(
            Pin::new(&mut pipe)
                .poll_read(&mut context, &mut buf)
                .is_pending()
        );
        assert_eq!(come(&mut far).await, b"one two ");
        pipe.write_all(b"three").await.unwrap();
        pipe.flush().await.unwrap();
        assert_eq!(come(&mut far).await, b"three");
    }

    /// Guards: where hyper rests with more to read, what it has written leaves all the same, and
    /// a peer that does not read it is not asked again and again.
    #[tokio::test(start_paused = true)]
    async fn answers_leave_when_hyper_rests() {
        let (near, mut far) = duplex(4);
        let (mut pipe, link) = pipe(near);
        pipe.write_all(b"answer").await.unwrap();
        pipe.flush().await.unwrap();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        link.rest(&mut context);
        assert!(woken.0.swap(false, Ordering::Relaxed));
        assert!(Pin::new(&mut pipe).poll_flush(&mut context).is_pending());
        link.rest(&mut context);
        assert!(!woken.0.load(Ordering::Relaxed));
        assert_eq!(come(&mut far).await, b"answ");
        assert!(woken.0.load(Ordering::Relaxed));
        assert!(Pin::new(&mut pipe).poll_flush(&mut context).is_ready());
        assert_eq!(come(&mut far).await, b"er");
    }

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl std::task::Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Guards: answers that were gathered are sent whole before a connection is closed, however
    /// late the peer reads them.
    #[tokio::test(start_paused = true)]
    async fn gathered_answers_are_sent_before_the_end() {
        let (near, mut far) = duplex(16);
        let (mut pipe, link) = pipe(near);
        let answers = [b'7'; 1000];
        pipe.write_all(&answers).await.unwrap();
        let closing = tokio::spawn(async move { pipe.shutdown().await });
        tokio::time::sleep(std::time::Duration::from_secs(10)).await;
        let mut read = vec![0; answers.len()];
        far.read_exact(&mut read).await.unwrap();
        assert_eq!(read, answers);
        closing.await.unwrap().unwrap();
        assert!(link.left().unwrap().rest.is_empty());
    }

    /// Guards: what was gathered when hyper was dropped is there for who ends the connection.
    #[tokio::test]
    async fn what_was_gathered_is_left() {
        let (near, mut far) = duplex(4);
        let (mut pipe, link) = pipe(near);
        pipe.write_all(b"answer").await.unwrap();
        link.rest(&mut Context::from_waker(Waker::noop()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut pipe).poll_flush(&mut context).is_pending());
        drop(pipe);
        assert_eq!(link.left().unwrap().rest, b"er");
        assert_eq!(come(&mut far).await, b"answ");
    }

    /// Guards: the first bytes reach hyper with what follows them, in one read.
    #[tokio::test]
    async fn the_preface_is_read_with_what_follows() {
        let (mut near, mut far) = duplex(1024);
        far.write_all(b"GET / HTTP/1.1\r\nhost: ids.example\r\n\r\n")
            .await
            .unwrap();
        let preface = Preface::of(&mut near).await.unwrap();
        let (mut pipe, _link) = pipe_behind(near, preface);
        let mut bytes = [0; 1024];
        let len = pipe.read(&mut bytes).await.unwrap();
        assert!(bytes[..len].ends_with(b"\r\n\r\n"));
    }

    /// Guards: a connection at rest does not keep the room of its largest answer.
    #[tokio::test]
    async fn room_of_a_large_answer_is_given_back() {
        let (near, _far) = duplex(1024 * 1024);
        let (mut pipe, _link) = pipe(near);
        pipe.write_all(&[b'7'; 200_000]).await.unwrap();
        pipe.shutdown().await.unwrap();
        assert!(pipe.out.capacity() <= OUT_KEPT_MAX);
    }
}
