//! `Pipe`: a socket whose writes are gathered. What hyper writes in one turn leaves in one go, so
//! that a batch of pipelined requests costs one system call on the way out.
//!
//! hyper's own `pipeline_flush` would do the same, but with bytes left to read it never flushes:
//! the refusal of a malformed request would be lost, and half a request would hold back the
//! answers of those before it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};

use crate::listen::Io;

/// Bytes that may wait to leave before the writer has to.
const OUT_LEN_MAX: usize = 64 * 1024;
/// How long to read on, and how much, after the last answer: closing at once would make the
/// system throw that answer away if the peer still sends.
const LINGER_MAX: Duration = Duration::from_millis(500);
const LINGER_LEN_MAX: u64 = 256 * 1024;

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
    /// Written by hyper, not sent yet.
    out: BytesMut,
}

impl<S: Io> Pipe<S> {
    pub(super) fn new(stream: S) -> Self {
        let out = BytesMut::new();
        Self {
            inner: Arc::new(Mutex::new(Inner { stream, out })),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what was gathered.
    pub(super) fn poll_send(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lock().poll_send(context)
    }

    /// Sends the rest and says that nothing follows; unless there is a hurry, gives the peer time
    /// to read it.
    pub(super) async fn close(self, is_hurried: bool) {
        let closing = async {
            std::future::poll_fn(|context| self.poll_send(context)).await?;
            // The last clone: hyper's is gone.
            let Some(inner) = Arc::into_inner(self.inner) else {
                return Ok(());
            };
            let inner = inner.into_inner().unwrap_or_else(PoisonError::into_inner);
            let mut stream = inner.stream;
            stream.shutdown().await?;
            if is_hurried {
                return Ok(());
            }
            let mut rest = stream.take(LINGER_LEN_MAX);
            tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
            Ok::<(), io::Error>(())
        };
        // Whether the peer read it or not: the connection ends here.
        let _closed = tokio::time::timeout(LINGER_MAX, closing).await;
    }
}

impl<S: Io> Inner<S> {
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.out.is_empty() {
            let stream = Pin::new(&mut self.stream);
            let len = ready!(stream.poll_write(context, &self.out))?;
            if len == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.out.advance(len);
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
        Poll::Ready(Ok(bytes.len()))
    }

    /// Does nothing: the connection's task sends when hyper's turn is over.
    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.lock();
        ready!(inner.poll_send(context))?;
        Pin::new(&mut inner.stream).poll_shutdown(context)
    }
}
