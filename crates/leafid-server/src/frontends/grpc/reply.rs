//! `Reply`: the body of an answer. It counts its bytes as unread until they were sent, ends a stream
//! from outside, and counts its call by the status that it ends with.

#[cfg(test)]
mod flood;
mod stream_end;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::{HeaderMap, Response};
use tonic::Status;
use tonic::body::Body;

use super::call::Call;
use super::error::{code_of, explain};
use crate::net::unread::{Backlog, Charge};

pub(super) use stream_end::StreamEnd;

/// What a method leaves with its answer: the room that was counted for it before it was made.
pub(super) type Room = Arc<Charge>;

/// The body of an answer.
pub(super) struct Reply {
    body: Body,
    call: Call,
    /// What ends a stream; `None` where there is one message.
    stream_end: Option<StreamEnd>,
    backlog: Arc<Backlog>,
    room: Option<Room>,
}

impl Reply {
    pub(super) fn of(
        mut answer: Response<Body>,
        mut call: Call,
        stream_end: Option<StreamEnd>,
        backlog: &Arc<Backlog>,
    ) -> Response<Self> {
        note_status(answer.headers_mut(), &mut call);
        let room = answer.extensions_mut().remove();
        answer.map(|body| Self {
            body,
            call,
            stream_end,
            backlog: Arc::clone(backlog),
            room,
        })
    }
}

impl HttpBody for Reply {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        let polled = match &mut this.stream_end {
            Some(stream_end) => stream_end.poll_frame(&mut this.body, &this.backlog, context),
            None => Pin::new(&mut this.body).poll_frame(context),
        };
        let Poll::Ready(mut frame) = polled else {
            this.call.reply_taken();
            return Poll::Pending;
        };
        this.call.reply_pending();
        if let Some(Ok(frame)) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            note_status(trailers, &mut this.call);
        }
        // From here on the bytes themselves are counted.
        this.room = None;
        let kept = |bytes| this.backlog.keep(bytes);
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(kept))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Counts the call if this is its end, and says what to do about the status.
fn note_status(end: &mut HeaderMap, call: &mut Call) {
    if let Some(code) = code_of(end) {
        explain(code, end);
        call.ended(code);
    }
}
