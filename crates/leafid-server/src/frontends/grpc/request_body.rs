//! `RequestBody`: the body of a call, with a deadline if it is a single message. The messages of a
//! stream may take any time.
//!
//! A body that arrives at once, as it usually does, needs no timer.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming};
use tokio::time::Sleep;
use tonic::Status;

use super::error::Refusal;

/// The body of a call.
pub(super) struct RequestBody {
    body: Incoming,
    /// How long it may take; `None` for a stream.
    body_max: Option<Duration>,
    /// Is ready when it has taken too long. `None` until something has waited for it.
    late: Option<Pin<Box<Sleep>>>,
}

impl RequestBody {
    pub(super) const fn new(body: Incoming, body_max: Option<Duration>) -> Self {
        Self {
            body,
            body_max,
            late: None,
        }
    }

    /// Waits for the rest of it, until the deadline.
    fn poll_late(&mut self, body_max: Duration, context: &mut Context<'_>) -> Poll<Status> {
        let late = self
            .late
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(body_max)));
        late.as_mut()
            .poll(context)
            .map(|()| Refusal::timeout(body_max).into())
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        match self.body_max {
            Some(body_max) => self
                .poll_late(body_max, context)
                .map(|late| Some(Err(late.into()))),
            None => Poll::Pending,
        }
    }
}
