//! `Pipe`: a socket whose writes are gathered. What hyper writes in one turn leaves in one go, so
//! that a batch of pipelined requests costs one system call on the way out.
//!
//! hyper's own `pipeline_flush` would do the same, but with bytes left to read it never flushes:
//! the refusal of a malformed request would be lost, and half a request would hold back the
//! answers of those before it.

#[cfg(test)]
mod lingering;

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::listen::Io;

/// Bytes that may wait to leave before the writer has to.
const OUT_LEN_MAX: usize = 64 * 1024;
/// Room for answers that a connection keeps while it rests: enough for a usual pipeline.
const OUT_KEPT_MAX: usize = 16 * 1024;
/// How long to read on, and how much, after the last answer: closing at once would make the
/// system throw that answer away if the peer still sends.
const LINGER_MAX: Duration = Duration::from_millis(500);
const LINGER_LEN_MAX: usize = 256 * 1024;

/// One socket. hyper holds a clone, the connection's task another; both run in that task, so
/// that the lock is never waited for.
pub(super) struct Pipe<S> {
    inner: Arc<Mutex<Inner<S>>>,
}

impl<S> Clone for Pipe<S> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

struct Inner<S> {
    stream: S,
    /// Written by hyper; sent up to `sent`.
    out: Vec<u8>,
    sent: usize,
    /// Whether something written has not left yet. Also with nothing gathered: under TLS a part
    /// of what was sent may be kept back.
    is_owing: bool,
    /// After the last answer.
    lingering: Option<Lingering>,
    /// The server shuts down: after the last answer only what the peer has sent already is read.
    is_hurried: bool,
}

struct Lingering {
    timer: Pin<Box<Sleep>>,
    /// Whether the peer was told that nothing follows.
    is_told: bool,
    /// How many bytes are still read.
    len_left: usize,
}

impl<S: Io> Pipe<S> {
    pub(super) fn new(stream: S) -> Self {
        let inner = Inner {
            stream,
            out: Vec::new(),
            sent: 0,
            is_owing: false,
            lingering: None,
            is_hurried: false,
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what was gathered. Only the connection's task knows when hyper's turn is over: with
    /// its answer written, hyper may rest without a look at the socket.
    #[inline]
    pub(super) fn poll_send(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lock().poll_send(context)
    }

    /// The server shuts down.
    pub(super) fn hurry(&self) {
        self.lock().is_hurried = true;
    }
}

impl<S: Io> Inner<S> {
    /// Sends what was gathered.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_owing {
            return Poll::Ready(Ok(()));
        }
        while self.sent < self.out.len() {
            let stream = Pin::new(&mut self.stream);
            let len = ready!(stream.poll_write(context, &self.out[self.sent..]))?;
            if len == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += len;
        }
        self.out.clear();
        self.out.shrink_to(OUT_KEPT_MAX);
        self.sent = 0;
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.is_owing = false;
        Poll::Ready(Ok(()))
    }

    /// Says that nothing follows, and gives the peer time to read what was sent.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let is_hurried = self.is_hurried;
        let Some(lingering) = &mut self.lingering else {
            return Poll::Ready(Ok(()));
        };
        if !lingering.is_told {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            lingering.is_told = true;
        }
        while lingering.len_left > 0 {
            let mut bytes = [0; 4096];
            let mut buf = ReadBuf::new(&mut bytes);
            let read = Pin::new(&mut self.stream).poll_read(context, &mut buf);
            if is_hurried && read.is_pending() {
                break;
            }
            ready!(read)?;
            if buf.filled().is_empty() {
                break;
            }
            lingering.len_left = lingering.len_left.saturating_sub(buf.filled().len());
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: Io> AsyncRead for Pipe<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.lock().stream).poll_read(context, buf)
    }
}

impl<S: Io> AsyncWrite for Pipe<S> {
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
        inner.is_owing = true;
        Poll::Ready(Ok(bytes.len()))
    }

    /// Does nothing: the connection's task sends when hyper's turn is over.
    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.lock();
        // However long the peer takes to read: the watch for silence ends it, not the timer below.
        ready!(inner.poll_send(context))?;
        let lingering = inner.lingering.get_or_insert_with(|| Lingering {
            timer: Box::pin(sleep(LINGER_MAX)),
            is_told: false,
            len_left: LINGER_LEN_MAX,
        });
        if lingering.timer.as_mut().poll(context).is_ready() {
            // Whether the peer read it or not: the connection ends here.
            return Poll::Ready(Ok(()));
        }
        inner.poll_linger(context)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

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
    /// connection is next polled, although nothing is gathered then.
    #[test]
    fn what_the_stream_keeps_leaves_later() {
        let mut pipe = Pipe::new(Keeper::default());
        let mut context = Context::from_waker(Waker::noop());
        let written = Pin::new(&mut pipe).poll_write(&mut context, b"answer");
        assert!(matches!(written, Poll::Ready(Ok(6))));
        assert!(pipe.poll_send(&mut context).is_pending());
        assert_eq!(pipe.lock().stream.kept, b"answer");
        pipe.lock().stream.may_leave = true;
        assert!(pipe.poll_send(&mut context).is_ready());
        assert_eq!(pipe.lock().stream.left, b"answer");
    }
}
