//! `Ending`: an answer that goes on, until its call is over, its deadline passes, or the server
//! shuts down.

#[cfg(test)]
mod flood;

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body as _, Frame};
use tonic::Status;
use tonic::body::Body;

use super::call::Call;
use super::code_of;
use super::deadline::Deadline;
use super::error::{Refusal, explain};
use super::traffic::{Pieces, Traffic};
use crate::net::poll_on_wake::PollOnWake;
use crate::net::unread::Backlog;
use crate::service::Service;

/// The most pieces of an answer that still leave once its end has come: a caller who asks all the
/// time would be answered for ever.
const LAST_FRAMES_MAX: u32 = 64;

/// An answer with an end from outside. What can be sent at once is sent before the end.
pub(super) struct Ending {
    body: Body,
    call: Call,
    pieces: Pieces,
    /// Is ready when it has to end before its time.
    cut: PollOnWake<Cut>,
    /// Why it has to end.
    due: Option<Refusal>,
    frames_left: u32,
    is_cut: bool,
    backlog: Arc<Backlog>,
    /// Is ready when the peer has read enough of what was made, while it has not.
    opened: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

type Cut = Pin<Box<dyn Future<Output = Refusal> + Send>>;
type Piece = Result<Frame<Bytes>, Status>;

impl Ending {
    pub(super) fn new(
        body: Body,
        call: Call,
        deadline: Deadline,
        traffic: Arc<Traffic>,
        service: &Arc<Service>,
    ) -> Self {
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
            backlog: Arc::clone(traffic.backlog()),
            opened: None,
            pieces: Pieces::new(traffic),
            cut: PollOnWake::new(Box::pin(cut)),
            due: None,
            frames_left: LAST_FRAMES_MAX,
            is_cut: false,
        }
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        if let Poll::Ready(refusal) = self.cut.poll(context) {
            self.due = Some(refusal);
        }
        if self.frames_left > 0
            && self.poll_open(context).is_ready()
            && let Poll::Ready(mut frame) = Pin::new(&mut self.body).poll_frame(context)
        {
            self.frames_left -= u32::from(self.due.is_some());
            if let Some(Ok(frame)) = &mut frame
                && let Some(trailers) = frame.trailers_mut()
            {
                explain(trailers);
                self.call.ended(code_of(trailers));
            }
            return Poll::Ready(frame);
        }
        match self.due.take() {
            Some(refusal) => self.end(refusal),
            None if self.is_cut => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    /// Is ready while the peer reads: nothing more is made for one that does not.
    #[inline]
    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.backlog.is_open() {
            return Poll::Ready(());
        }
        let backlog = &self.backlog;
        let opened = self.opened.get_or_insert_with(|| {
            let backlog = Arc::clone(backlog);
            Box::pin(async move { backlog.opened().await })
        });
        ready!(opened.as_mut().poll(context));
        self.opened = None;
        Poll::Ready(())
    }

    /// Ends with a status, once.
    fn end(&mut self, refusal: Refusal) -> Poll<Option<Piece>> {
        self.is_cut = true;
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

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        let piece = self.poll_piece(context);
        if piece.is_ready() {
            self.pieces.give();
        } else {
            self.pieces.rest();
        }
        piece
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && self.is_cut
    }
}
