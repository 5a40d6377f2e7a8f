//! `StreamEnd`: ends a stream when its deadline passes or the server shuts down, and has it rest
//! while its peer does not read.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body as _, Frame};
use tokio::time::sleep;
use tonic::Status;
use tonic::body::Body;

use crate::frontends::grpc::deadline::Deadline;
use crate::frontends::grpc::error::Refusal;
use crate::frontends::grpc::executor::drop_task_when;
use crate::net::graceful_close::LINGER_MAX;
use crate::net::poll_on_wake::PollOnWake;
use crate::net::shutdown::Shutdown;
use crate::net::unread::{Backlog, Charge};
use crate::service::{Service, ServiceError};

/// The most frames of a stream that still leave once its end has come: one with a caller that
/// never stops asking would continue forever.
const LAST_FRAMES_MAX: u32 = 64;

/// What ends a stream. Frames that can be sent at once are sent before the end.
pub(in crate::frontends::grpc) struct StreamEnd {
    /// Is ready when the stream has to end.
    due: PollOnWake<Pin<Box<dyn Future<Output = Refusal> + Send>>>,
    /// Why it has to end, once it has.
    refusal: Option<Refusal>,
    frames_left: u32,
    /// Is ready when the peer has read enough, while it has not.
    opened: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Counts the stream's memory.
    _held: Option<Charge>,
}

impl StreamEnd {
    pub(in crate::frontends::grpc) fn new(
        deadline: Deadline,
        service: &Arc<Service>,
        shutdown: &Shutdown,
        held: Option<Charge>,
    ) -> Self {
        let shutdown = shutdown.clone();
        drop_task_when(async move {
            tokio::select! {
                () = passed(deadline) => {}
                () = shutdown.asked() => {}
            }
            // The stream ends itself, if flow control lets it.
            sleep(LINGER_MAX).await;
        });
        let service = Arc::clone(service);
        let due = async move {
            tokio::select! {
                () = service.health().draining() => ServiceError::ShuttingDown.into(),
                () = passed(deadline) => Refusal::deadline_exceeded(),
            }
        };
        Self {
            due: PollOnWake::new(Box::pin(due)),
            refusal: None,
            frames_left: LAST_FRAMES_MAX,
            opened: None,
            _held: held,
        }
    }

    /// The next frame of `body`, or its end.
    pub(super) fn poll_frame(
        &mut self,
        body: &mut Body,
        backlog: &Arc<Backlog>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Poll::Ready(refusal) = self.due.poll(context) {
            self.refusal = Some(refusal);
        }
        if self.frames_left > 0
            && self.poll_open(backlog, context).is_ready()
            && let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(context)
        {
            self.frames_left -= u32::from(self.refusal.is_some());
            return Poll::Ready(frame);
        }
        let Some(refusal) = self.refusal.take() else {
            return Poll::Pending;
        };
        // Nothing comes behind the end.
        *body = Body::empty();
        self.frames_left = 1;
        let end = Status::from(refusal).into_http::<()>();
        Poll::Ready(Some(Ok(Frame::trailers(end.into_parts().0.headers))))
    }

    /// Is ready while the peer reads: nothing more is made for one that does not.
    #[inline]
    fn poll_open(&mut self, backlog: &Arc<Backlog>, context: &mut Context<'_>) -> Poll<()> {
        if backlog.is_open() {
            return Poll::Ready(());
        }
        let opened = self.opened.get_or_insert_with(|| {
            let backlog = Arc::clone(backlog);
            Box::pin(async move { backlog.opened().await })
        });
        ready!(opened.as_mut().poll(context));
        self.opened = None;
        Poll::Ready(())
    }
}

/// Is ready once the deadline has passed.
async fn passed(deadline: Deadline) {
    match deadline.left() {
        Some(left) => sleep(left).await,
        None => pending().await,
    }
}
