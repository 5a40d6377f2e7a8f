//! `PollOnWake`: a future that waits beside a busy one in the same task. It is polled only after it
//! was woken, not each time that the task runs. Polling a timer or a watch takes a lock; checking
//! for a wake-up is one load.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A future that is only polled after it was woken.
pub(crate) struct PollOnWake<F> {
    /// `None` once it has completed.
    future: Option<Pin<Box<F>>>,
    flag: Option<Arc<WakeFlag>>,
}

/// Wakes a task, and records that it did.
struct WakeFlag {
    task: Waker,
    is_woken: AtomicBool,
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        // Release pairs with the acquire in `PollOnWake::poll`.
        self.is_woken.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

impl<F: Future> PollOnWake<F> {
    pub(crate) fn new(future: F) -> Self {
        Self {
            future: Some(Box::pin(future)),
            flag: None,
        }
    }

    /// Whether it has completed.
    pub(crate) fn is_over(&self) -> bool {
        self.future.is_none()
    }

    /// Is ready once, when the future is.
    #[inline]
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<F::Output> {
        let task = context.waker();
        if let Some(flag) = &self.flag
            && !flag.is_woken.load(Ordering::Acquire)
            && flag.task.will_wake(task)
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
        // A new waker each time: an old one may still be used, for a task that has moved on.
        let flag = Arc::new(WakeFlag {
            task: task.clone(),
            is_woken: AtomicBool::new(false),
        });
        self.flag = Some(Arc::clone(&flag));
        let waker = Waker::from(flag);
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

    /// Guards that a task that is woken for other reasons all the time notices the flag, and polls
    /// its future only then.
    #[tokio::test(start_paused = true)]
    async fn a_busy_task_polls_on_wake() {
        let polls = Cell::new(0);
        let mut timer = Box::pin(sleep(Duration::from_secs(10)));
        let counted = poll_fn(|context| {
            polls.set(polls.get() + 1);
            timer.as_mut().poll(context)
        });
        let mut polled_on_wake = PollOnWake::new(counted);
        let mut ready_at = Vec::new();
        for millisecond in 0..20_000 {
            advance(Duration::from_millis(1)).await;
            if poll_fn(|context| Poll::Ready(polled_on_wake.poll(context).is_ready())).await {
                ready_at.push(millisecond);
            }
        }
        assert!(polled_on_wake.is_over());
        assert!(matches!(ready_at[..], [9_990..=10_010]), "{ready_at:?}");
        assert_eq!(polls.get(), 2);
    }

    /// Guards that an idle task is woken.
    #[tokio::test(start_paused = true)]
    async fn a_task_at_rest_is_woken() {
        let mut polled_on_wake = PollOnWake::new(sleep(Duration::from_secs(10)));
        poll_fn(|context| polled_on_wake.poll(context)).await;
        assert!(polled_on_wake.is_over());
    }
}
