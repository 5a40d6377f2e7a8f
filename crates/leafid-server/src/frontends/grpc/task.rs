//! `Task`: what hyper does for one call, from its beginning until all of its answer was handed
//! over to be sent.
//!
//! While the peer lets nothing through, hyper does not ask a stream for more, and the stream
//! cannot tell of its end. Then its task is dropped, which resets the stream: that needs no
//! leave of the peer.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::rt::Executor;
use pin_project_lite::pin_project;
use tokio::time::sleep;

use super::traffic::{Ongoing, StreamEnd, Traffic};
use crate::net::graceful_close::LINGER_MAX;
use crate::net::poll_on_wake::PollOnWake;

/// Starts the tasks of a connection.
#[derive(Clone)]
pub(super) struct Tasks(Arc<Traffic>);

impl Tasks {
    pub(super) const fn new(traffic: Arc<Traffic>) -> Self {
        Self(traffic)
    }
}

impl<F> Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, call: F) {
        let end = self.0.announced();
        tokio::spawn(Task {
            ongoing: self.0.begin(),
            given_up: end.map(|end| Box::new(given_up(end, Arc::clone(&self.0)))),
            call,
        });
    }
}

type GivenUp = PollOnWake<Pin<Box<dyn Future<Output = ()> + Send>>>;

pin_project! {
    struct Task<F> {
        // Dropped first: see `Traffic::seen`.
        ongoing: Ongoing,
        // Is ready once a stream should be over. None where there is one answer.
        given_up: Option<Box<GivenUp>>,
        #[pin]
        call: F,
    }
}

impl<F: Future<Output = ()>> Future for Task<F> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let task = self.project();
        if task.call.poll(context).is_ready() {
            return Poll::Ready(());
        }
        match task.given_up {
            Some(given_up) => given_up.poll(context),
            None => Poll::Pending,
        }
    }
}

/// Is ready when a stream has had the time to tell of its end.
fn given_up(end: StreamEnd, traffic: Arc<Traffic>) -> GivenUp {
    PollOnWake::new(Box::pin(async move {
        let late = async {
            match end.left {
                Some(left) => sleep(left).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = late => {}
            () = traffic.shutdown() => {}
        }
        sleep(LINGER_MAX).await;
    }))
}
