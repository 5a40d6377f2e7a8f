//! `Traffic`: what goes on on one connection, and the watch that ends it when nothing does, or
//! when the peer does not read.
//!
//! A call is owed for until all of its answer has been handed over to be sent, which needs a peer
//! that reads. A stream whose caller asks for nothing owes nothing, however long it stays open.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use crate::config::Limits;
use crate::net::shutdown::Shutdown;
use crate::net::unread::{Backlog, Progress};

/// What one connection has seen. Relaxed where nothing else is said: the watch only asks whether
/// anything moved.
pub(super) struct Traffic {
    /// Whether the peer speaks HTTP/2.
    is_open: AtomicBool,
    /// Calls.
    begun: AtomicU64,
    ended: AtomicU64,
    /// Streams that owe nothing.
    quiet: AtomicU64,
    /// Pieces of answers of streams that were handed over.
    pieces: AtomicU64,
    /// What the peer has not read.
    backlog: Arc<Backlog>,
    /// The end of the call that begins, for its task: see `Traffic::announce`.
    announced: AtomicU64,
    /// Told when a call was refused for want of a place, or came while the server leaves.
    refused: Notify,
    shutdown: Shutdown,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// The peer is told to begin no more calls; those that it began are finished.
    Finish,
    /// At once: the peer would not hear of it.
    Cut,
}

/// A call that goes on, until it is dropped.
pub(super) struct Ongoing(Arc<Traffic>);

/// The answers of a stream, as they are handed over.
pub(super) struct Pieces {
    traffic: Arc<Traffic>,
    is_quiet: bool,
}

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamEnd {
    /// `None`: with the server.
    pub(super) left: Option<Duration>,
}

/// Nothing is announced: the call is no stream.
const NO_STREAM: u64 = 0;
/// A stream without a deadline, or with one that nobody lives to see.
const NO_DEADLINE: u64 = u64::MAX;

impl Traffic {
    pub(super) fn new(shutdown: Shutdown, backlog: Arc<Backlog>) -> Self {
        Self {
            is_open: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            quiet: AtomicU64::new(0),
            pieces: AtomicU64::new(0),
            backlog,
            announced: AtomicU64::new(NO_STREAM),
            refused: Notify::new(),
            shutdown,
        }
    }

    /// The peer has said that it speaks HTTP/2.
    pub(super) fn opened(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    pub(super) fn begin(self: &Arc<Self>) -> Ongoing {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Ongoing(Arc::clone(self))
    }

    /// The call that begins is a stream, with so much time. hyper makes a task for a call right
    /// after it has begun, in the same turn of the connection, and tells that task nothing.
    pub(super) fn announce(&self, left: Option<Duration>) {
        let left = left.and_then(|left| u64::try_from(left.as_nanos()).ok());
        let announced = left.map_or(NO_DEADLINE, |left| left.max(NO_STREAM + 1));
        self.announced.store(announced, Ordering::Relaxed);
    }

    /// What was announced of the call that has just begun; `None`: it is no stream.
    pub(super) fn announced(&self) -> Option<StreamEnd> {
        let announced = self.announced.load(Ordering::Relaxed);
        if announced == NO_STREAM {
            return None;
        }
        self.announced.store(NO_STREAM, Ordering::Relaxed);
        let left = (announced != NO_DEADLINE).then(|| Duration::from_nanos(announced));
        Some(StreamEnd { left })
    }

    pub(super) const fn backlog(&self) -> &Arc<Backlog> {
        &self.backlog
    }

    /// Makes the connection begin no more calls.
    pub(super) fn refuse(&self) {
        self.refused.notify_one();
    }

    /// Is ready when the connection has to end: the server shuts down, its place is wanted, or
    /// its peer was silent for too long.
    pub(super) async fn leave(&self, limits: &Limits) -> Leave {
        tokio::select! {
            () = self.shutdown.asked() => {}
            () = self.refused.notified() => {}
            () = self.leaving() => {}
            leave = self.silent(limits) => return leave,
            () = self.backlog.cut_off() => return Leave::Cut,
        }
        if self.is_open() {
            Leave::Finish
        } else {
            Leave::Cut
        }
    }

    /// Is ready once the server is about to shut down, if there were calls. Others are told with
    /// their first.
    async fn leaving(&self) {
        self.shutdown.leaving().await;
        if self.begun.load(Ordering::Relaxed) == 0 {
            pending::<()>().await;
        }
    }

    /// Is ready once the server shuts down.
    pub(super) async fn shutdown(&self) {
        self.shutdown.asked().await;
    }

    /// Is ready once the peer has been silent for too long: it does not speak HTTP/2, does not
    /// read what it is owed, or no call has begun and none goes on.
    async fn silent(&self, limits: &Limits) -> Leave {
        sleep(limits.first_head_max).await;
        if !self.is_open() {
            return Leave::Cut;
        }
        let mut before = self.seen();
        loop {
            sleep(limits.idle_max).await;
            let now = self.seen();
            let is_slow = now.is_too_slow(&before, limits);
            if is_slow || (now.calls == before.calls && now.owed > 0) {
                return Leave::Cut;
            }
            if now.calls == before.calls && now.is_idle() {
                return Leave::Finish;
            }
            before = now;
        }
    }

    /// Is ready once a peer that was told to go has stayed for too long, with nothing moving.
    pub(super) async fn overstayed(&self, limits: &Limits) {
        tokio::select! {
            () = self.standing_still(limits) => {}
            () = self.backlog.cut_off() => {}
        }
    }

    async fn standing_still(&self, limits: &Limits) {
        let mut before = self.seen();
        loop {
            sleep(limits.idle_max).await;
            let now = self.seen();
            if now.is_too_slow(&before, limits) || now.calls == before.calls {
                return;
            }
            before = now;
        }
    }

    fn seen(&self) -> Seen {
        // First, and acquire: who sees a stream awake, or gone, sees what it did before.
        let quiet = self.quiet.load(Ordering::Acquire);
        let calls = Calls {
            begun: self.begun.load(Ordering::Relaxed),
            ended: self.ended.load(Ordering::Relaxed),
            pieces: self.pieces.load(Ordering::Relaxed),
        };
        Seen {
            calls,
            owed: calls.begun.saturating_sub(calls.ended + quiet),
            progress: self.backlog.progress(),
        }
    }
}

/// What the watch saw at a time.
struct Seen {
    calls: Calls,
    /// Calls that are not over, but for streams that owe nothing.
    owed: u64,
    progress: Progress,
}

/// What moves when something moves.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Calls {
    begun: u64,
    ended: u64,
    pieces: u64,
}

impl Seen {
    /// Whether something waits for the peer, and next to nothing has left since.
    fn is_too_slow(&self, before: &Self, limits: &Limits) -> bool {
        let len_min = limits.read_len_min;
        self.progress.is_too_slow(&before.progress, len_min)
    }

    fn is_idle(&self) -> bool {
        self.calls.begun == self.calls.ended
    }
}

/// No addition: two that are counted as one still show that something moved.
#[inline]
fn count_up(count: &AtomicU64) {
    let before = count.load(Ordering::Relaxed);
    count.store(before.wrapping_add(1), Ordering::Relaxed);
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

impl Pieces {
    pub(super) const fn new(traffic: Arc<Traffic>) -> Self {
        Self {
            traffic,
            is_quiet: false,
        }
    }

    /// A piece is handed over. Until another is asked for, it is owed.
    #[inline]
    pub(super) fn give(&mut self) {
        count_up(&self.traffic.pieces);
        self.wake();
    }

    /// All pieces that there are were taken.
    #[inline]
    pub(super) fn rest(&mut self) {
        if !self.is_quiet {
            self.is_quiet = true;
            self.traffic.quiet.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[inline]
    fn wake(&mut self) {
        if self.is_quiet {
            self.is_quiet = false;
            // Release pairs with the acquire in `Traffic::seen`.
            self.traffic.quiet.fetch_sub(1, Ordering::Release);
        }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.wake();
    }
}

#[cfg(test)]
impl Traffic {
    /// On a connection of its own.
    pub(super) fn for_tests() -> Self {
        let backlog = crate::net::unread::Unread::new(&Limits::default()).connection();
        Self::new(Shutdown::new(), backlog)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    /// How a connection ends, and after how many times `idle_max` from `first_head_max` on.
    async fn end_of(traffic: &Traffic) -> (Leave, u128) {
        let limits = Limits::default();
        let begun = Instant::now();
        let leave = traffic.leave(&limits).await;
        let idle = begun.elapsed().saturating_sub(limits.first_head_max);
        (leave, idle.as_millis() / limits.idle_max.as_millis())
    }

    fn open() -> Arc<Traffic> {
        let traffic = Traffic::for_tests();
        traffic.opened();
        Arc::new(traffic)
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_told_and_one_that_owes_is_cut() {
        let mute = Traffic::for_tests();
        assert_eq!(end_of(&mute).await, (Leave::Cut, 0));
        let traffic = open();
        assert_eq!(end_of(&traffic).await, (Leave::Finish, 1));
        drop(traffic.begin());
        assert_eq!(end_of(&traffic).await, (Leave::Finish, 1));
        let _ongoing = traffic.begin();
        assert_eq!(end_of(&traffic).await, (Leave::Cut, 1));
    }

    /// Guards: once the server is about to shut down, a connection that had calls is told at once,
    /// and another with its first.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_leaves_says_so() {
        let traffic = open();
        let begun = Instant::now();
        traffic.shutdown.leave();
        let rest = tokio::time::timeout(Duration::from_secs(1), end_of(&traffic)).await;
        assert!(rest.is_err(), "a new connection was told: {rest:?}");
        drop(traffic.begin());
        traffic.refuse();
        assert_eq!(end_of(&traffic).await.0, Leave::Finish);
        assert_eq!(end_of(&traffic).await.0, Leave::Finish);
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
    }

    /// Guards: a stream keeps its connection as long as it owes nothing, or its answers leave.
    #[tokio::test(start_paused = true)]
    async fn a_stream_is_cut_only_while_it_owes() {
        let traffic = open();
        let day = Duration::from_secs(86_400);
        let ongoing = traffic.begin();
        let mut pieces = Pieces::new(Arc::clone(&traffic));
        pieces.give();
        pieces.rest();
        let ended = tokio::time::timeout(day, end_of(&traffic)).await;
        assert!(ended.is_err(), "a quiet stream was ended: {ended:?}");
        let giving = async {
            for _ in 0..1000 {
                pieces.give();
                sleep(Limits::default().idle_max / 2).await;
            }
        };
        tokio::select! {
            ended = end_of(&traffic) => panic!("a slow stream was ended: {ended:?}"),
            () = giving => {}
        }
        assert_eq!(end_of(&traffic).await, (Leave::Cut, 1));
        // A quiet one that is given up leaves nothing behind.
        pieces.rest();
        drop(ongoing);
        drop(pieces);
        assert_eq!(end_of(&traffic).await, (Leave::Finish, 1));
    }

    /// Guards: where the socket takes no more, it does not matter how little is owed.
    #[tokio::test(start_paused = true)]
    async fn a_stuck_connection_is_cut() {
        let traffic = open();
        let _ongoing = traffic.begin();
        let mut pieces = Pieces::new(Arc::clone(&traffic));
        pieces.rest();
        traffic.backlog().stuck(true);
        assert_eq!(end_of(&traffic).await, (Leave::Cut, 1));
        let sending = async {
            for _ in 0..1000 {
                traffic.backlog().sent(64 * 1024);
                traffic.backlog().stuck(true);
                sleep(Limits::default().idle_max / 2).await;
            }
        };
        tokio::select! {
            ended = end_of(&traffic) => panic!("it was ended while it sent: {ended:?}"),
            () = sending => {}
        }
        // A trickle is not enough, whatever else goes on.
        let trickling = async {
            loop {
                traffic.backlog().sent(1000);
                traffic.backlog().stuck(true);
                pieces.give();
                sleep(Limits::default().idle_max / 10).await;
            }
        };
        tokio::select! {
            ended = end_of(&traffic) => assert_eq!(ended, (Leave::Cut, 1)),
            () = trickling => {}
        }
    }
}
