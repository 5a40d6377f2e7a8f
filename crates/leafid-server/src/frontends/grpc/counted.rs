//! `Counted`: the body of an answer. Its bytes count as unread until they were sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;

use crate::net::unread::{Backlog, Charge};

/// What a method leaves with its answer: the room that was counted for it before it was made.
pub(super) type Room = Arc<Charge>;

/// The body of an answer.
pub(super) struct Counted {
    body: Body,
    backlog: Arc<Backlog>,
    room: Option<Room>,
}

impl Counted {
    pub(super) fn answer(mut answer: Response<Body>, backlog: &Arc<Backlog>) -> Response<Self> {
        let room = answer.extensions_mut().remove();
        answer.map(|body| Self {
            body,
            backlog: Arc::clone(backlog),
            room,
        })
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        // From here on the bytes themselves are counted.
        self.room = None;
        let kept = |bytes| self.backlog.keep(bytes);
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(kept))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
