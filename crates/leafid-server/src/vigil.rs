//! `Vigil`: what a connection listens to beside its peer: a timer, and the shutdown of the server.
//!
//! To ask them takes locks, one of them shared by all threads. So a connection that moves asks
//! only when a look at a plain number says that there is something to hear.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use crate::shutdown::Shutdown;

/// Keeps watch while a connection is served.
pub(crate) struct Vigil {
    timer: Pin<Box<Sleep>>,
    shutdown: Shutdown,
    /// Wakes the connection when the server shuts down.
    asked: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_asked: bool,
    /// Who is woken.
    armed: Option<Waker>,
}

/// What was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// The server shuts down. Told once.
    Shutdown,
    /// The time is over. [`Vigil::again`] starts another.
    Time,
}

impl Vigil {
    /// Begins with a time.
    pub(crate) fn new(shutdown: &Shutdown, time: Duration) -> Self {
        let asked = shutdown.clone();
        Self {
            timer: Box::pin(sleep(time)),
            shutdown: shutdown.clone(),
            asked: Box::pin(async move { asked.asked().await }),
            is_asked: false,
            armed: None,
        }
    }

    /// Whether the shutdown was told.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Starts another time; it is heard at the next poll at the earliest.
    pub(crate) fn again(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        self.timer.as_mut().reset(deadline);
        // The timer does not know yet whom to wake.
        self.armed = None;
    }

    /// Is ready when there is something to hear.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Alarm> {
        if self.is_quiet(context.waker()) {
            return Poll::Pending;
        }
        if !self.is_asked && self.asked.as_mut().poll(context).is_ready() {
            self.is_asked = true;
            return Poll::Ready(Alarm::Shutdown);
        }
        if self.timer.as_mut().poll(context).is_ready() {
            return Poll::Ready(Alarm::Time);
        }
        self.armed = Some(context.waker().clone());
        Poll::Pending
    }

    /// Whether both know whom to wake, and have nothing to tell.
    fn is_quiet(&self, waker: &Waker) -> bool {
        let is_armed = |armed: &Waker| armed.will_wake(waker);
        self.armed.as_ref().is_some_and(is_armed)
            && (self.is_asked || !self.shutdown.is_asked())
            && !self.timer.is_elapsed()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    async fn next(vigil: &mut Vigil) -> Alarm {
        poll_fn(|context| vigil.poll(context)).await
    }

    /// Guards: a connection that is polled for other reasons all the time still hears both.
    #[tokio::test(start_paused = true)]
    async fn a_busy_connection_hears_the_time_and_the_shutdown() {
        let shutdown = Shutdown::new();
        let mut vigil = Vigil::new(&shutdown, Duration::from_secs(10));
        let mut heard = Vec::new();
        for millisecond in 0..30_000 {
            tokio::time::advance(Duration::from_millis(1)).await;
            if millisecond == 25_000 {
                shutdown.ask();
            }
            let alarm = poll_fn(|context| Poll::Ready(vigil.poll(context))).await;
            if let Poll::Ready(alarm) = alarm {
                heard.push((alarm, millisecond / 100));
                vigil.again(Duration::from_secs(10));
            }
        }
        let time = |at| (Alarm::Time, at);
        assert_eq!(heard, [time(99), time(199), (Alarm::Shutdown, 250)]);
        assert!(vigil.is_asked());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_at_rest_is_woken() {
        let shutdown = Shutdown::new();
        let mut vigil = Vigil::new(&shutdown, Duration::from_secs(10));
        assert_eq!(next(&mut vigil).await, Alarm::Time);
        vigil.again(Duration::from_secs(10));
        let asking = shutdown.clone();
        tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            asking.ask();
        });
        assert_eq!(next(&mut vigil).await, Alarm::Shutdown);
        assert_eq!(next(&mut vigil).await, Alarm::Time);
    }
}
