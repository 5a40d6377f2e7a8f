//! `AnswerBody`: the bodies of answers. That of a single id is carried in place, so that it costs
//! no allocation.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body_util::Full;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// The longest text carried in place: `{"ids":["…"]}` with an id of 19 digits takes 31 bytes.
const SHORT_LEN_MAX: usize = 31;
/// A long text is given in pieces of so many bytes at the most: hyper copies each into room of the
/// connection, which it keeps.
const PIECE_LEN_MAX: usize = 16 * 1024;

/// The body of an answer.
pub(super) enum AnswerBody {
    /// A short text; `None` once it was taken.
    Short(Option<Short>),
    /// A text of any length.
    Whole(Full<Bytes>),
}

/// A short text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Short {
    text: [u8; SHORT_LEN_MAX],
    start: u8,
    end: u8,
}

/// A piece of a body.
pub(super) enum Piece {
    Short(Short),
    Bytes(Bytes),
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
        let end = u8::try_from(len).ok()?;
        let start = 0;
        Some(Self { text, start, end })
    }

    fn rest(&self) -> &[u8] {
        &self.text[usize::from(self.start)..usize::from(self.end)]
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        match self {
            Self::Short(short) => short.rest().len(),
            Self::Bytes(bytes) => bytes.remaining(),
        }
    }

    fn chunk(&self) -> &[u8] {
        match self {
            Self::Short(short) => short.rest(),
            Self::Bytes(bytes) => bytes.chunk(),
        }
    }

    fn advance(&mut self, len: usize) {
        match self {
            Self::Short(short) => {
                let rest = short.rest().len();
                assert!(len <= rest, "cannot go {len} bytes on in {rest}");
                // It fits: the rest is shorter than the text.
                short.start += u8::try_from(len).unwrap_or(u8::MAX);
            }
            Self::Bytes(bytes) => bytes.advance(len),
        }
    }
}

impl HttpBody for AnswerBody {
    type Data = Piece;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Infallible>>> {
        match &mut *self {
            Self::Short(short) => {
                let frame = short
                    .take()
                    .map(|short| Ok(Frame::data(Piece::Short(short))));
                Poll::Ready(frame)
            }
            Self::Whole(whole) => {
                let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut *whole).poll_frame(context) else {
                    return Poll::Ready(None);
                };
                let mut piece = frame.into_data().unwrap_or_default();
                let rest = piece.split_off(piece.len().min(PIECE_LEN_MAX));
                *whole = Full::new(rest);
                Poll::Ready(Some(Ok(Frame::data(Piece::Bytes(piece)))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Short(short) => short.is_none(),
            Self::Whole(whole) => whole.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Short(short) => {
                let len = short.map_or(0, |short| short.rest().len());
                SizeHint::with_exact(len as u64)
            }
            Self::Whole(whole) => whole.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards: a long text comes whole, in pieces, and its length is known all the while.
    #[test]
    fn a_long_text_is_given_in_pieces() {
        let text: Vec<u8> = (0..=255).cycle().take(2 * PIECE_LEN_MAX + 1).collect();
        let mut body = AnswerBody::Whole(Full::new(text.clone().into()));
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
        let mut piece = Piece::Short(short);
        assert_eq!(piece.remaining(), SHORT_LEN_MAX);
        piece.advance(9);
        assert_eq!(piece.chunk()[..3], *b"922");
        piece.advance(SHORT_LEN_MAX - 9);
        assert!(!piece.has_remaining());
        assert!(Short::new(&[&[0; SHORT_LEN_MAX], b"1"]).is_none());
    }
}
