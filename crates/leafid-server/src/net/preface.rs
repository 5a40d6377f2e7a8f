//! `Preface`: the first bytes of a connection, by which HTTP/2 is told from HTTP/1.1 where nothing
//! else tells them apart (RFC 9113, section 3.4).

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Instant, sleep_until};

use crate::net::shutdown::Shutdown;

/// With this, and nothing else, begins a connection of HTTP/2.
const HTTP2: [u8; 24] = *b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What a connection began with. It is read again by who serves the connection.
#[derive(Debug, Default)]
pub(crate) struct Preface {
    bytes: [u8; HTTP2.len()],
    len: u8,
    /// Read again up to here.
    start: u8,
}

impl Preface {
    /// The preface of a new connection; `None` if nothing comes until `due`, or the server shuts
    /// down.
    pub(crate) async fn of_new<S: AsyncRead + Unpin>(
        stream: &mut S,
        due: Instant,
        shutdown: &Shutdown,
    ) -> Option<Self> {
        tokio::select! {
            // What came in is answered, at the shutdown too.
            biased;
            preface = Self::of(stream) => preface.ok(),
            () = sleep_until(due) => None,
            () = shutdown.asked() => None,
        }
    }

    /// Reads as much as tells the two apart, or as there is.
    pub(super) async fn of<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<Self> {
        let mut preface = Self::default();
        poll_fn(|context| preface.poll(stream, context)).await?;
        Ok(preface)
    }

    fn poll<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while self.is_open() {
            let mut buf = ReadBuf::new(&mut self.bytes[usize::from(self.len)..]);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut buf))?;
            // It fits: the whole is 24 bytes.
            let len = u8::try_from(buf.filled().len()).unwrap_or(0);
            if len == 0 {
                break;
            }
            self.len += len;
        }
        Poll::Ready(Ok(()))
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether it can become either.
    fn is_open(&self) -> bool {
        self.text().len() < HTTP2.len() && HTTP2.starts_with(self.text())
    }

    pub(crate) fn is_http2(&self) -> bool {
        self.text() == HTTP2
    }

    /// Gives out the rest of it; `false`: there is none.
    #[inline]
    pub(crate) fn read(&mut self, buf: &mut ReadBuf<'_>) -> bool {
        if self.start == self.len {
            return false;
        }
        let rest = &self.bytes[usize::from(self.start)..usize::from(self.len)];
        let len = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..len]);
        self.start += u8::try_from(len).unwrap_or(0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn preface(stream: &str) -> (Preface, &str) {
        let mut rest = stream.as_bytes();
        let preface = Preface::of(&mut rest).await.unwrap();
        let rest = rest.len();
        (preface, &stream[stream.len() - rest..])
    }

    #[tokio::test]
    async fn http2_is_told_from_the_rest() {
        let http2 = str::from_utf8(&HTTP2).unwrap();
        for (stream, is_http2) in [
            ("", false),
            ("G", false),
            ("GET / HTTP/1.1\r\nhost: a\r\n\r\n", false),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r", false),
            ("PRI * HTTP/1.1\r\nhost: a\r\n\r\n", false),
            (http2, true),
            (&[http2, "more"].concat(), true),
        ] {
            let (mut preface, rest) = preface(stream).await;
            assert_eq!(preface.is_http2(), is_http2, "{stream:?}");
            let mut again = Vec::new();
            loop {
                let mut bytes = [0; 5];
                let mut buf = ReadBuf::new(&mut bytes);
                if !preface.read(&mut buf) {
                    break;
                }
                again.extend_from_slice(buf.filled());
            }
            again.extend_from_slice(rest.as_bytes());
            assert_eq!(again, stream.as_bytes(), "nothing is lost");
        }
    }

    /// Guards: a request that comes a byte at a time is known by the first that differs.
    #[tokio::test]
    async fn it_waits_for_no_more_than_it_needs() {
        use tokio::io::AsyncWriteExt as _;
        let (mut near, mut far) = tokio::io::duplex(64);
        far.write_all(b"PU").await.unwrap();
        let preface = Preface::of(&mut near).await.unwrap();
        assert_eq!(preface.text(), b"PU");
    }
}
