//! `Ending`: an answer that goes on, until its call is over, its deadline passes, or the server
//! shuts down.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::Frame;
use tonic::Status;
use tonic::body::Body;

use super::call::Call;
use super::code_of;
use super::deadline::Deadline;
use super::error::Refusal;
use crate::service::Service;

/// An answer with an end from outside. What can be sent at once is sent before the end.
pub(super) struct Ending {
    body: Body,
    call: Call,
    /// Why it ends before its time; taken once it has.
    cut: Option<Pin<Box<dyn Future<Output = Refusal> + Send>>>,
}

impl Ending {
    pub(super) fn new(body: Body, call: Call, deadline: Deadline, service: &Arc<Service>) -> Self {
        let service = Arc::clone(service);
        let late = async move {
            match deadline.left() {
                Some(left) => tokio::time::sleep(left).await,
                None => pending().await,
            }
        };
        let cut = async move {
            tokio::select! {
                () = service.health().draining() => Refusal::shutting_down(),
                () = late => Refusal::deadline_exceeded(),
            }
        };
        Self {
            body,
            call,
            cut: Some(Box::pin(cut)),
        }
    }

    /// Ends with a status, once.
    fn end(&mut self, refusal: Refusal) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        self.cut = None;
        self.body = Body::empty();
        let status = Status::from(refusal);
        self.call.ended(status.code());
        let trailers = status.into_http::<()>().into_parts().0.headers;
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }
}

impl hyper::body::Body for Ending {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            if let Some(Ok(frame)) = &frame
                && let Some(trailers) = frame.trailers_ref()
            {
                let code = code_of(trailers);
                self.call.ended(code);
            }
            return Poll::Ready(frame);
        }
        let Some(cut) = &mut self.cut else {
            return Poll::Ready(None);
        };
        let refusal = ready!(cut.as_mut().poll(context));
        self.end(refusal)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && self.cut.is_none()
    }
}
