//! `AnswerBody`: the bodies of answers. That of a single id is carried in place, so that it costs
//! no allocation.

use std::convert::Infallible;
use std::io::Cursor;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::buf::Chain;
use bytes::{Buf as _, Bytes};
use futures_util::stream::{BoxStream, Stream, StreamExt as _};
use http_body_util::Full;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// The longest text carried in place: `{"ids":["…"]}` with an id of 19 digits takes 31 bytes.
const SHORT_LEN_MAX: usize = 31;
/// A long text is given in pieces of so many bytes at the most: hyper copies each into room of the
/// connection, which it keeps.
const PIECE_LEN_MAX: usize = 16 * 1024;

/// The body of an answer: a short text carried in place, or one of any length, or a stream without a
/// known end. The others are empty.
pub(super) struct AnswerBody {
    short: Short,
    long: Full<Bytes>,
    /// In a box in a box: other answers shall not be longer for it than by a word.
    stream: Option<Box<Pieces>>,
}

type Pieces = BoxStream<'static, Bytes>;

impl AnswerBody {
    /// A body whose pieces come in time.
    pub(super) fn from_stream(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self {
            short: Short::default(),
            long: Full::default(),
            stream: Some(Box::new(pieces.boxed())),
        }
    }
}

/// A short text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Short {
    text: [u8; SHORT_LEN_MAX],
    len: u8,
}

impl Short {
    /// Puts parts together; `None` when they are too long.
    pub(super) fn new(parts: &[&[u8]]) -> Option<Self> {
        let mut text = [0; SHORT_LEN_MAX];
        let mut len = 0;
        for part in parts {
            text.get_mut(len..len + part.len())?.copy_from_slice(part);
            len += part.len();
        }
        let len = u8::try_from(len).ok()?;
        Some(Self { text, len })
    }
}

impl AsRef<[u8]> for Short {
    fn as_ref(&self) -> &[u8] {
        &self.text[..usize::from(self.len)]
    }
}

impl From<Short> for AnswerBody {
    fn from(short: Short) -> Self {
        let long = Full::default();
        Self {
            short,
            long,
            stream: None,
        }
    }
}

impl From<Full<Bytes>> for AnswerBody {
    fn from(long: Full<Bytes>) -> Self {
        let short = Short::default();
        Self {
            short,
            long,
            stream: None,
        }
    }
}

impl HttpBody for AnswerBody {
    type Data = Chain<Cursor<Short>, Bytes>;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Infallible>>> {
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        if let Some(stream) = &mut self.stream {
            let piece = ready!(stream.poll_next_unpin(context));
            let frame = |piece| Frame::data(Cursor::default().chain(piece));
            return Poll::Ready(piece.map(|piece| Ok(frame(piece))));
        }
        let short = Cursor::new(std::mem::take(&mut self.short));
        let long = match ready!(Pin::new(&mut self.long).poll_frame(context)) {
            Some(Ok(frame)) => frame.into_data(),
            None => Ok(Bytes::new()),
        };
        let mut piece = long.unwrap_or_default();
        let rest = piece.split_off(piece.len().min(PIECE_LEN_MAX));
        self.long = Full::new(rest);
        Poll::Ready(Some(Ok(Frame::data(short.chain(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.short.len == 0 && self.long.is_end_stream() && self.stream.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.stream.is_some() {
            return SizeHint::default();
        }
        let long_len = self.long.size_hint().exact().unwrap_or_default();
        SizeHint::with_exact(u64::from(self.short.len) + long_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards: a long text comes whole, in pieces, and its length is known all the while.
    #[test]
    fn a_long_text_is_given_in_pieces() {
        let text: Vec<u8> = (0..=255).cycle().take(2 * PIECE_LEN_MAX + 1).collect();
        let mut body = AnswerBody::from(Full::new(text.clone().into()));
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut read = Vec::new();
        let mut pieces = 0;
        while let Poll::Ready(Some(frame)) = Pin::new(&mut body).poll_frame(&mut context) {
            let piece = frame
                .unwrap()
                .into_data()
                .unwrap_or_else(|_| panic!("a trailer"));
            assert!(piece.remaining() <= PIECE_LEN_MAX);
            read.extend_from_slice(piece.chunk());
            pieces += 1;
            let left = (text.len() - read.len()) as u64;
            assert_eq!(body.size_hint().exact(), Some(left));
            assert_eq!(body.is_end_stream(), left == 0);
        }
        assert_eq!((pieces, read == text), (3, true));
    }

    #[test]
    fn a_short_text_is_read_in_pieces() {
        let short = Short::new(&[b"{\"ids\":[\"", b"9223372036854775806", b"\"]}"]).unwrap();
        let mut body = AnswerBody::from(short);
        assert_eq!(body.size_hint().exact(), Some(SHORT_LEN_MAX as u64));
        let mut context = Context::from_waker(std::task::Waker::noop());
        let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) else {
            panic!("a short text is there at once");
        };
        assert!(body.is_end_stream());
        let mut piece = frame.into_data().unwrap_or_else(|_| panic!("a trailer"));
        assert_eq!(piece.remaining(), SHORT_LEN_MAX);
        piece.advance(9);
        assert_eq!(piece.chunk()[..3], *b"922");
        piece.advance(SHORT_LEN_MAX - 9);
        assert!(!piece.has_remaining());
        assert!(Short::new(&[&[0; SHORT_LEN_MAX], b"1"]).is_none());
    }
}
