//! `Connection`: what one connection has, and when it ends: with the server, when it is idle, or
//! when its peer does not read. `serve.rs` serves it.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::call::{Activity, Snapshot};
use crate::config::Limits;
use crate::net::front_end::{ConnectionInfo, Peer, Slot};
use crate::net::shutdown::Shutdown;
use crate::net::unread::{Backlog, Charge, request_len};
use crate::service::ServiceError;

/// So many open calls are in the cost of a connection, unless they have much metadata.
const FREE_CALLS: u64 = 8;
/// So many fields of metadata are usual.
const FREE_FIELDS: usize = 32;
/// So many bytes of metadata are usual.
const FREE_TEXT_LEN: usize = 2 * 1024;

/// One connection.
pub(super) struct Connection {
    pub(super) slot: Slot,
    pub(super) peer: Peer,
    pub(super) shutdown: Shutdown,
    /// What the peer has not read.
    pub(super) backlog: Arc<Backlog>,
    pub(super) activity: Arc<Activity>,
    /// Notified when the connection shall take no more calls.
    goaway: Notify,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Close {
    /// With a GOAWAY: the peer begins no more calls, and those that it began are finished.
    Gracefully,
    /// At once: the peer would not read a GOAWAY.
    AtOnce,
}

impl Connection {
    pub(super) fn new(info: ConnectionInfo) -> Self {
        let ConnectionInfo {
            slot,
            peer,
            shutdown,
            backlog,
        } = info;
        Self {
            slot,
            peer,
            shutdown,
            backlog,
            activity: Arc::default(),
            goaway: Notify::new(),
        }
    }

    /// The memory that a call with this metadata takes while its peer keeps it open; 0 if it is in
    /// the cost of the connection.
    pub(super) fn call_len(&self, fields: usize, text_len: usize) -> usize {
        let open_calls = self.activity.snapshot().open_calls;
        let is_large = fields > FREE_FIELDS || text_len > FREE_TEXT_LEN;
        match is_large || open_calls > FREE_CALLS {
            true => request_len(fields, text_len),
            false => 0,
        }
    }

    /// Counts the memory of a call that its peer keeps open. Refuses it while the process holds too
    /// much: one task can take a hundred calls before the connections that were cut have ended.
    pub(super) fn hold(&self, call_len: usize) -> Result<Option<Charge>, ServiceError> {
        if call_len == 0 {
            return Ok(None);
        }
        let held = self.backlog.hold(call_len);
        match self.backlog.is_process_full() {
            true => Err(ServiceError::TooMuchHeld),
            false => Ok(Some(held)),
        }
    }

    /// Has the connection close gracefully.
    pub(super) fn send_goaway(&self) {
        self.goaway.notify_one();
    }

    /// Is ready when the connection has to end: the server shuts down, its slot is needed, or
    /// nothing has happened on it for too long.
    pub(super) async fn close(&self, limits: &Limits) -> Close {
        tokio::select! {
            () = self.shutdown.asked() => {}
            () = self.goaway.notified() => {}
            () = self.leaving() => {}
            close = self.idle(limits) => return close,
            () = self.backlog.cut_off() => return Close::AtOnce,
        }
        Close::Gracefully
    }

    /// Is ready once the server is about to shut down, if there were calls. A connection without
    /// any gets its GOAWAY with the first.
    async fn leaving(&self) {
        self.shutdown.leaving().await;
        if self.activity.snapshot().events == 0 {
            pending::<()>().await;
        }
    }

    /// Is ready once the peer does not read its replies, or no call has begun and none goes on.
    async fn idle(&self, limits: &Limits) -> Close {
        self.stalled(limits, |calls| {
            calls.pending_replies > 0 || calls.open_calls == 0
        })
        .await
    }

    /// Is ready once a peer that was sent a GOAWAY has stayed too long with nothing happening.
    pub(super) async fn overstayed(&self, limits: &Limits) {
        tokio::select! {
            _ = self.stalled(limits, |_| true) => {}
            () = self.backlog.cut_off() => {}
        }
    }

    /// Is ready once the peer reads too slowly, or nothing has happened for `idle_max` while the
    /// calls are such that this `is_end`.
    async fn stalled(&self, limits: &Limits, is_end: impl Fn(&Snapshot) -> bool) -> Close {
        let look = || (self.activity.snapshot(), self.backlog.progress());
        let (mut calls, mut progress) = look();
        loop {
            sleep(limits.idle_max).await;
            let (calls_now, progress_now) = look();
            if progress_now.is_too_slow(&progress, limits.read_len_min) {
                return Close::AtOnce;
            }
            if calls_now.events == calls.events && is_end(&calls_now) {
                return match calls_now.open_calls {
                    0 => Close::Gracefully,
                    _ => Close::AtOnce,
                };
            }
            (calls, progress) = (calls_now, progress_now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;
    use crate::frontends::grpc::call::Call;

    fn open() -> Connection {
        Connection::new(ConnectionInfo::for_tests(Shutdown::new()))
    }

    fn begin(connection: &Connection) -> Call {
        Call::begin(&connection.activity)
    }

    /// How a connection ends, and after how many times `idle_max`.
    async fn end_of(connection: &Connection) -> (Close, u128) {
        let limits = Limits::default();
        let begun = Instant::now();
        let close = connection.close(&limits).await;
        let idle = begun.elapsed();
        (close, idle.as_millis() / limits.idle_max.as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_told_and_one_with_a_pending_reply_is_cut() {
        let connection = open();
        assert_eq!(end_of(&connection).await, (Close::Gracefully, 1));
        drop(begin(&connection));
        assert_eq!(end_of(&connection).await, (Close::Gracefully, 1));
        let _call = begin(&connection);
        assert_eq!(end_of(&connection).await, (Close::AtOnce, 1));
    }

    /// Guards: once the server is about to shut down, a connection that had calls is told at once,
    /// and another with its first.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_leaves_says_so() {
        let connection = open();
        let begun = Instant::now();
        connection.shutdown.leave();
        let rest = tokio::time::timeout(Duration::from_secs(1), end_of(&connection)).await;
        assert!(rest.is_err(), "a new connection was told: {rest:?}");
        drop(begin(&connection));
        connection.send_goaway();
        assert_eq!(end_of(&connection).await.0, Close::Gracefully);
        assert_eq!(end_of(&connection).await.0, Close::Gracefully);
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
    }

    /// Guards: a stream keeps its connection as long as it has no pending reply, or its replies
    /// leave.
    #[tokio::test(start_paused = true)]
    async fn a_stream_is_cut_only_while_its_reply_is_pending() {
        let connection = open();
        let day = Duration::from_secs(86_400);
        let mut stream = begin(&connection);
        stream.reply_pending();
        stream.reply_taken();
        let ended = tokio::time::timeout(day, end_of(&connection)).await;
        assert!(ended.is_err(), "a quiet stream was ended: {ended:?}");
        let replying = async {
            for _ in 0..1000 {
                stream.reply_pending();
                sleep(Limits::default().idle_max / 2).await;
            }
        };
        tokio::select! {
            ended = end_of(&connection) => panic!("a slow stream was ended: {ended:?}"),
            () = replying => {}
        }
        assert_eq!(end_of(&connection).await, (Close::AtOnce, 1));
        // A quiet one that is given up leaves nothing behind.
        stream.reply_taken();
        drop(stream);
        assert_eq!(end_of(&connection).await, (Close::Gracefully, 1));
    }

    /// Guards that the usual calls are free, and that many, wide and long ones count.
    #[tokio::test]
    async fn large_calls_count() {
        let connection = open();
        let _calls = [(); 8].map(|()| begin(&connection));
        assert_eq!(connection.call_len(10, 500), 0);
        assert!(connection.call_len(10, 15_500) > 15_500);
        assert!(connection.call_len(40, 500) > 40 * 100);
        let _ninth = begin(&connection);
        assert!(connection.call_len(10, 500) > 0);
    }

    /// Guards that a process that holds too much takes no more, even from calls of one task.
    #[tokio::test]
    async fn a_full_process_refuses_calls() {
        let connection = open();
        let limit = Limits::default().unread_max;
        let held = connection.hold(limit).unwrap();
        assert!(connection.hold(10_000).is_err());
        drop(held);
        assert!(connection.hold(10_000).is_ok());
    }

    /// Guards: where the socket takes no more, it does not matter how few replies are pending.
    #[tokio::test(start_paused = true)]
    async fn a_stuck_connection_is_cut() {
        let connection = open();
        let mut stream = begin(&connection);
        stream.reply_taken();
        connection.backlog.stuck(true);
        assert_eq!(end_of(&connection).await, (Close::AtOnce, 1));
        let sending = async {
            for _ in 0..1000 {
                connection.backlog.sent(64 * 1024);
                connection.backlog.stuck(true);
                sleep(Limits::default().idle_max / 2).await;
            }
        };
        tokio::select! {
            ended = end_of(&connection) => panic!("it was ended while it sent: {ended:?}"),
            () = sending => {}
        }
        // A trickle is not enough, whatever else goes on.
        let trickling = async {
            loop {
                connection.backlog.sent(1000);
                connection.backlog.stuck(true);
                stream.reply_pending();
                sleep(Limits::default().idle_max / 10).await;
            }
        };
        tokio::select! {
            ended = end_of(&connection) => assert_eq!(ended, (Close::AtOnce, 1)),
            () = trickling => {}
        }
    }
}
