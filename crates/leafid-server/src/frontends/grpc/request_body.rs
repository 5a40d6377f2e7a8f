//! `RequestBody`: what a caller sends in a call, and for how long it is waited for where it is one
//! message. The messages of a stream may take any time.
//!
//! What is there at once, as it usually is, needs no timer.

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
    /// Is ready when it has taken too long. `None` as long as it was not waited for.
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

    /// Waits for the rest of it, as long as it may take.
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
