//! `Socket`: a connection's bytes, as hyper reads and writes them. It notes for `connection.rs`
//! whether the peer speaks HTTP/2 and whether it reads, and cuts a peer that floods.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::Connection;
use crate::net::http2_frames::Frames;
use crate::net::io::Io;

/// Bytes that HTTP/2 opens with. h2 ends a connection at the first that differs.
const PREFACE_LEN: usize = 24;

/// One socket.
pub(super) struct Socket<S> {
    stream: S,
    /// Bytes of the preface that came in.
    preface_len: usize,
    frames: Frames,
    connection: Arc<Connection>,
}

impl<S: Io> Socket<S> {
    pub(super) fn new(stream: S, connection: Arc<Connection>) -> Self {
        Self {
            stream,
            preface_len: 0,
            frames: Frames::new(PREFACE_LEN),
            connection,
        }
    }

    /// The socket took something, or takes no more.
    #[inline]
    fn note(&self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Ready(Ok(len)) => self.connection.backlog.sent(*len),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.connection.backlog.stuck(true),
        }
    }

    /// Some of the preface came in.
    #[cold]
    fn begin(&mut self, len: usize) {
        self.preface_len += len;
        if self.preface_len >= PREFACE_LEN {
            self.connection.preface_received();
        }
    }
}

impl<S: Io> AsyncRead for Socket<S> {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buf))?;
        if self.preface_len < PREFACE_LEN {
            self.begin(buf.filled().len() - before);
        }
        let this = &mut *self;
        let bytes = &buf.filled()[before..];
        Poll::Ready(this.connection.backlog.look(&mut this.frames, bytes))
    }
}

impl<S: Io> AsyncWrite for Socket<S> {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(&written);
        written
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Under TLS some of what was taken may not have left yet.
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.connection.backlog.stuck(flushed.is_pending());
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
