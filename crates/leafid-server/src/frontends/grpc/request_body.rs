//! `RequestBody`: the body of a call. A single message has a deadline, and until it has come the
//! memory of the call is counted. The messages of a stream may take any time; its memory is counted
//! with its answer.
//!
//! A body that arrives at once, as it usually does, needs neither a timer nor a count.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming};
use tokio::time::Sleep;
use tonic::Status;

use super::connection::Connection;
use super::error::Refusal;
use crate::net::unread::{Charge, FREE_LEN};

/// The body of a call.
pub(super) struct RequestBody {
    body: Incoming,
    /// How long it may take; `None` for a stream.
    body_max: Option<Duration>,
    connection: Arc<Connection>,
    /// The memory of the call, if it counts.
    call_len: usize,
    /// The bytes of the message that have come.
    received_len: usize,
    /// `None` until something has waited for it.
    waiting: Option<Waiting>,
}

/// Waits for the rest of a body.
struct Waiting {
    /// Is ready when it has taken too long.
    late: Pin<Box<Sleep>>,
    held: Option<Charge>,
}

impl RequestBody {
    pub(super) const fn new(
        body: Incoming,
        body_max: Option<Duration>,
        connection: Arc<Connection>,
        call_len: usize,
    ) -> Self {
        Self {
            body,
            body_max,
            connection,
            call_len,
            received_len: 0,
            waiting: None,
        }
    }

    /// Waits for the rest of it, until the deadline. What has come is kept until then, and counts.
    fn poll_late(&mut self, body_max: Duration, context: &mut Context<'_>) -> Poll<Status> {
        let held_len = match self.received_len > FREE_LEN {
            true => self.call_len + self.received_len,
            false => self.call_len,
        };
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            none => none.insert(Waiting {
                late: Box::pin(tokio::time::sleep(body_max)),
                held: None,
            }),
        };
        match &mut waiting.held {
            Some(held) => held.set(held_len),
            none => match self.connection.hold(held_len) {
                Ok(held) => *none = held,
                Err(error) => return Poll::Ready(Refusal::from(error).into()),
            },
        }
        let late = waiting.late.as_mut();
        late.poll(context)
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
            if let Some(Ok(frame)) = &frame {
                self.received_len += frame.data_ref().map_or(0, Bytes::len);
            }
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
