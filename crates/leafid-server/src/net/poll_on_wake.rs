//! `PollOnWake`: a future that waits beside a busy one, in the same task. It is polled only when it
//! has rung: when what it waits for has happened, and not each time that the other has something
//! to do. To poll a timer or a watch takes a lock; to see that nothing rang is one look.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A future that is polled when it has rung.
pub(crate) struct PollOnWake<F> {
    /// `None` once it is over.
    future: Option<Pin<Box<F>>>,
    bell: Option<Arc<WakeFlag>>,
}

/// Wakes a task, and leaves a note that it did.
struct WakeFlag {
    task: Waker,
    has_rung: AtomicBool,
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        // Release pairs with the acquire in `PollOnWake::poll`.
        self.has_rung.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

impl<F: Future> PollOnWake<F> {
    pub(crate) fn new(future: F) -> Self {
        Self {
            future: Some(Box::pin(future)),
            bell: None,
        }
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.future.is_none()
    }

    /// Is ready once, when the future is.
    #[inline]
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<F::Output> {
        let task = context.waker();
        if let Some(bell) = &self.bell
            && !bell.has_rung.load(Ordering::Acquire)
            && bell.task.will_wake(task)
        {
            return Poll::Pending;
        }
        self.poll_future(task)
    }

    #[cold]
    fn poll_future(&mut self, task: &Waker) -> Poll<F::Output> {
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        // A new one each time: an old one may still ring, for a task that has moved on.
        let bell = Arc::new(WakeFlag {
            task: task.clone(),
            has_rung: AtomicBool::new(false),
        });
        self.bell = Some(Arc::clone(&bell));
        let waker = Waker::from(bell);
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::time::Duration;

    use tokio::time::{advance, sleep};

    use super::*;

    /// Guards: a task that is woken for other reasons all the time hears the bell, and asks its
    /// future only then.
    #[tokio::test(start_paused = true)]
    async fn a_busy_task_hears_the_bell() {
        let polls = Cell::new(0);
        let mut timer = Box::pin(sleep(Duration::from_secs(10)));
        let counted = poll_fn(|context| {
            polls.set(polls.get() + 1);
            timer.as_mut().poll(context)
        });
        let mut belled = PollOnWake::new(counted);
        let mut rang = Vec::new();
        for millisecond in 0..20_000 {
            advance(Duration::from_millis(1)).await;
            if poll_fn(|context| Poll::Ready(belled.poll(context).is_ready())).await {
                rang.push(millisecond);
            }
        }
        assert!(belled.is_over());
        assert!(matches!(rang[..], [9_990..=10_010]), "{rang:?}");
        assert_eq!(polls.get(), 2);
    }

    /// Guards: a task at rest is woken.
    #[tokio::test(start_paused = true)]
    async fn a_task_at_rest_is_woken() {
        let mut belled = PollOnWake::new(sleep(Duration::from_secs(10)));
        poll_fn(|context| belled.poll(context)).await;
        assert!(belled.is_over());
    }
}
