//! `CallExecutor`: spawns the task that hyper makes for each call, and drops the task of a stream
//! that should have ended and has not.
//!
//! While flow control blocks the peer's stream, hyper does not poll it for its next message, and
//! the stream cannot end itself. Dropping its task resets the stream without the peer's help. The
//! stream itself says when: its code runs in the task, in the scope of `GIVE_UP`.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::Executor;
use pin_project_lite::pin_project;

use crate::net::poll_on_wake::PollOnWake;

/// Is ready when the task must be dropped.
type GiveUp = Pin<Box<dyn Future<Output = ()> + Send>>;

tokio::task_local! {
    /// The future that `drop_task_when` has set for the current task.
    static GIVE_UP: Cell<Option<GiveUp>>;
}

/// Drops the task of the current call once `give_up` is ready. Outside of a call it does nothing.
pub(super) fn drop_task_when(give_up: impl Future<Output = ()> + Send + 'static) {
    let _is_in_task = GIVE_UP.try_with(|slot| slot.set(Some(Box::pin(give_up))));
}

/// Spawns the tasks of a connection.
#[derive(Clone)]
pub(super) struct CallExecutor;

impl<F> Executor<F> for CallExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, call: F) {
        let task = CallTask {
            give_up: None,
            call,
        };
        tokio::spawn(GIVE_UP.scope(Cell::new(None), task));
    }
}

pin_project! {
    struct CallTask<F> {
        give_up: Option<Box<PollOnWake<GiveUp>>>,
        #[pin]
        call: F,
    }
}

impl<F: Future<Output = ()>> Future for CallTask<F> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let task = self.project();
        if task.call.poll(context).is_ready() {
            return Poll::Ready(());
        }
        if let Some(give_up) = GIVE_UP.with(Cell::take) {
            *task.give_up = Some(Box::new(PollOnWake::new(give_up)));
        }
        match task.give_up {
            Some(give_up) => give_up.poll(context),
            None => Poll::Pending,
        }
    }
}
