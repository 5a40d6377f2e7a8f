//! `Pipe`: a socket whose writes are gathered. Answers that are there at once leave together, when
//! hyper turns to the socket for more requests: so a batch of pipelined requests costs one system
//! call on the way out. Others leave as soon as hyper says.
//!
//! hyper's own `pipeline_flush` would do the same, but with bytes left to read it never flushes:
//! the refusal of a malformed request would be lost, and half a request would hold back the
//! answers of those before it.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::listen::Io;

/// Bytes that may wait to leave before the writer has to.
const OUT_LEN_MAX: usize = 64 * 1024;
/// How long to read on, and how much, after the last answer: closing at once would make the
/// system throw that answer away if the peer still sends.
const LINGER_MAX: Duration = Duration::from_millis(500);
const LINGER_LEN_MAX: usize = 256 * 1024;

/// One socket, as hyper has it.
pub(super) struct Pipe<S> {
    stream: S,
    /// Written by hyper; sent up to `sent`.
    out: Vec<u8>,
    sent: usize,
    manner: Arc<Manner>,
    /// After the last answer.
    lingering: Option<Lingering>,
}

/// How the answers of a connection leave. Told by its requests, and looked at by its pipe; all of
/// it in one task.
#[derive(Debug, Default)]
pub(super) struct Manner {
    gathers: AtomicBool,
    is_hurried: AtomicBool,
}

struct Lingering {
    timer: Pin<Box<Sleep>>,
    /// Whether the peer was told that nothing follows.
    is_told: bool,
    /// How many bytes are still read.
    len_left: usize,
}

impl Manner {
    /// Whether answers wait for those behind them. Only right where none of them waits for
    /// anything else, and where the peer's next bytes are asked for after the last: HTTP/1.1.
    pub(super) fn gather(&self, gathers: bool) {
        // Relaxed: one task. Not stored again and again, so that it costs a look only.
        if self.gathers.load(Ordering::Relaxed) != gathers {
            self.gathers.store(gathers, Ordering::Relaxed);
        }
    }

    /// The server shuts down: no time is left to the peer after the last answer.
    pub(super) fn hurry(&self) {
        self.is_hurried.store(true, Ordering::Relaxed);
    }
}

impl<S: Io> Pipe<S> {
    pub(super) fn new(stream: S, manner: Arc<Manner>) -> Self {
        Self {
            stream,
            out: Vec::new(),
            sent: 0,
            manner,
            lingering: None,
        }
    }

    /// Sends what was gathered.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.out.len() {
            let stream = Pin::new(&mut self.stream);
            let len = ready!(stream.poll_write(context, &self.out[self.sent..]))?;
            if len == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += len;
        }
        self.out.clear();
        self.sent = 0;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Sends the rest, says that nothing follows, and gives the peer time to read it.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(context))?;
        let is_hurried = self.manner.is_hurried.load(Ordering::Relaxed);
        let Some(lingering) = &mut self.lingering else {
            return Poll::Ready(Ok(()));
        };
        if !lingering.is_told {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            lingering.is_told = true;
        }
        while !is_hurried && lingering.len_left > 0 {
            let mut bytes = [0; 4096];
            let mut buf = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut buf))?;
            if buf.filled().is_empty() {
                break;
            }
            lingering.len_left = lingering.len_left.saturating_sub(buf.filled().len());
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: Io> AsyncRead for Pipe<S> {
    /// hyper has answered all that it had. Who does not read its answers is not read either.
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Also with nothing gathered: under TLS some of what was sent may not have left yet.
        ready!(self.poll_send(context))?;
        Pin::new(&mut self.stream).poll_read(context, buf)
    }
}

impl<S: Io> AsyncWrite for Pipe<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.out.len() >= OUT_LEN_MAX {
            ready!(self.poll_send(context))?;
        }
        self.out.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.manner.gathers.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        self.poll_send(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let lingering = self.lingering.get_or_insert_with(|| Lingering {
            timer: Box::pin(sleep(LINGER_MAX)),
            is_told: false,
            len_left: LINGER_LEN_MAX,
        });
        if lingering.timer.as_mut().poll(context).is_ready() {
            // Whether the peer read it or not: the connection ends here.
            return Poll::Ready(Ok(()));
        }
        self.poll_linger(context)
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
    /// connection is next polled, although hyper only asks for more requests then.
    #[test]
    fn what_the_stream_keeps_leaves_later() {
        let manner = Arc::new(Manner::default());
        manner.gather(true);
        let mut pipe = Pipe::new(Keeper::default(), manner);
        let mut context = Context::from_waker(Waker::noop());
        let written = Pin::new(&mut pipe).poll_write(&mut context, b"answer");
        assert!(matches!(written, Poll::Ready(Ok(6))));
        let mut bytes = [0; 8];
        let mut read = |pipe: &mut Pipe<Keeper>| {
            let mut buf = ReadBuf::new(&mut bytes);
            Pin::new(pipe)
                .poll_read(&mut context, &mut buf)
                .is_pending()
        };
        assert!(read(&mut pipe));
        assert_eq!(pipe.stream.kept, b"answer");
        pipe.stream.may_leave = true;
        assert!(read(&mut pipe));
        assert_eq!(pipe.stream.left, b"answer");
    }
}
