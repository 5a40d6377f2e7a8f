//! `Backlog`: the unread bytes of one connection.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::Notify;

use super::{FREE_LEN, Unread};
use crate::net::http2_frames::{Flood, Frames};

/// A smaller change of what an HPACK table keeps alive is not worth counting.
const KEPT_LEN_STEP: usize = 16 * 1024;

/// The unread bytes of one connection.
pub(crate) struct Backlog {
    unread: Arc<Unread>,
    bytes: AtomicUsize,
    /// Bytes beside answers that are held for the peer: what its HPACK table keeps alive, and
    /// requests that are open.
    held: AtomicUsize,
    /// Bytes that the socket has taken since the connection began.
    sent: AtomicU64,
    /// Whether the socket takes no more. Set by the writer of the connection.
    is_stuck: AtomicBool,
    /// Whether the connection is registered with the process.
    is_entered: AtomicBool,
    is_cut: AtomicBool,
    /// Notified when bytes were read, the socket takes more, or the connection is cut.
    changed: Notify,
}

/// Bytes that are counted until they are dropped.
pub(crate) struct Charge {
    backlog: Arc<Backlog>,
    kind: Kind,
    len: usize,
}

/// What bytes are part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Answers: at the bound of the connection no more are made.
    Answer,
    /// Something else that is held for the peer: it counts for the process, and keeps no answer
    /// from being made, because it may go only after that.
    Other,
}

/// The state of a connection at one time, to compare later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    is_behind: bool,
    sent: u64,
}

/// Bytes that count until they are dropped.
struct Counted {
    bytes: Bytes,
    _charge: Charge,
}

impl Backlog {
    pub(super) fn new(unread: Arc<Unread>) -> Self {
        Self {
            unread,
            bytes: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            is_stuck: AtomicBool::new(false),
            is_entered: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            changed: Notify::new(),
        }
    }

    // Relaxed unless a comment says otherwise: a waiting task is notified of each change, and
    // checks again.

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// All that the connection holds: unread bytes and others.
    pub(super) fn held_len(&self) -> usize {
        self.bytes() + self.held.load(Ordering::Relaxed)
    }

    /// Counts bytes of answers.
    pub(crate) fn charge(self: &Arc<Self>, len: usize) -> Charge {
        self.count(Kind::Answer, len)
    }

    /// Counts bytes beside answers. They keep no answer from being made.
    pub(crate) fn hold(self: &Arc<Self>, len: usize) -> Charge {
        self.count(Kind::Other, len)
    }

    fn count(self: &Arc<Self>, kind: Kind, len: usize) -> Charge {
        let mut charge = Charge {
            backlog: Arc::clone(self),
            kind,
            len: 0,
        };
        charge.set(len);
        charge
    }

    /// Waits until an answer of up to that many bytes may be made, and counts them. The only answer
    /// of a connection may have any length.
    pub(crate) async fn room(self: &Arc<Self>, len_max: usize) -> Charge {
        let connection_max = self.unread.connection_max;
        self.wait_until(|| {
            let bytes = self.bytes();
            bytes == 0 || bytes.saturating_add(len_max) <= connection_max
        })
        .await;
        self.charge(len_max)
    }

    /// Whether all connections together hold more than they may, those included that were cut and
    /// have not ended.
    pub(crate) fn is_process_full(&self) -> bool {
        self.unread.bytes() > self.unread.total_max
    }

    /// Whether more of an answer may be made now.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        !self.is_stuck.load(Ordering::Relaxed) && self.bytes() < self.unread.connection_max
    }

    /// Waits until more of an answer may be made.
    pub(crate) async fn opened(&self) {
        self.wait_until(|| self.is_open()).await;
    }

    async fn wait_until(&self, is_so: impl Fn() -> bool) {
        loop {
            let mut changed = pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if is_so() {
                return;
            }
            changed.await;
        }
    }

    /// Counts `bytes`, until the last of them is dropped.
    pub(crate) fn keep(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        if bytes.len() <= FREE_LEN {
            return bytes;
        }
        self.charge(0).keep(bytes)
    }

    /// The socket has taken this many bytes.
    #[inline]
    pub(crate) fn sent(&self, len: usize) {
        // Not a read-modify-write: one task writes it.
        let before = self.sent.load(Ordering::Relaxed);
        let len = u64::try_from(len).unwrap_or(u64::MAX);
        self.sent.store(before.wrapping_add(len), Ordering::Relaxed);
        self.stuck(false);
    }

    /// Checks frames that arrived, and counts what the peer's HPACK table keeps alive; an error if
    /// they are a flood, which ends the connection.
    #[inline]
    pub(crate) fn look(
        &self,
        (frames, kept): &mut (Frames, Charge),
        bytes: &[u8],
    ) -> io::Result<()> {
        let looked = frames.read(bytes, self.sent.load(Ordering::Relaxed));
        if frames.kept_len().abs_diff(kept.len) >= KEPT_LEN_STEP {
            kept.set(frames.kept_len());
        }
        looked.map_err(|Flood| {
            self.unread.flooded();
            io::ErrorKind::ConnectionAborted.into()
        })
    }

    /// Whether the socket takes no more.
    #[inline]
    pub(crate) fn stuck(&self, is_stuck: bool) {
        if self.is_stuck.load(Ordering::Relaxed) != is_stuck {
            self.is_stuck.store(is_stuck, Ordering::Relaxed);
            if !is_stuck {
                self.changed.notify_waiters();
            }
        }
    }

    /// How far the peer has read the answers made for it.
    pub(crate) fn progress(&self) -> Progress {
        let progress = self.socket_progress();
        Progress {
            is_behind: progress.is_behind || self.bytes() > 0,
            ..progress
        }
    }

    /// How far the peer has read the bytes written to it.
    pub(crate) fn socket_progress(&self) -> Progress {
        Progress {
            is_behind: self.is_stuck.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
        }
    }

    /// Ends the connection; `false` if it was ended before.
    pub(super) fn cut(&self) -> bool {
        let is_first = !self.is_cut.swap(true, Ordering::Relaxed);
        self.changed.notify_waiters();
        is_first
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    /// Is ready once the connection must end, because the process exceeds its limit.
    pub(crate) async fn cut_off(&self) {
        self.wait_until(|| self.is_cut()).await;
    }
}

impl Progress {
    /// Whether the peer has read nothing of the waiting answers, or only a trickle, of fewer than
    /// `len_min` bytes since `before`.
    pub(crate) fn is_too_slow(&self, before: &Self, len_min: u64) -> bool {
        self.is_behind && before.is_behind && self.sent.wrapping_sub(before.sent) < len_min
    }
}

impl Charge {
    /// Counts that many bytes from now on.
    pub(crate) fn set(&mut self, len: usize) {
        let backlog = &self.backlog;
        let counted = match self.kind {
            Kind::Answer => &backlog.bytes,
            Kind::Other => &backlog.held,
        };
        let before = std::mem::replace(&mut self.len, len);
        if len > before {
            counted.fetch_add(len - before, Ordering::Relaxed);
            // Lets the process know of the connection.
            if !backlog.is_entered.swap(true, Ordering::Relaxed) {
                backlog.unread.enter(backlog);
            }
            backlog.unread.add(len - before);
        } else if len < before {
            counted.fetch_sub(before - len, Ordering::Relaxed);
            backlog.unread.subtract(before - len);
            if self.kind == Kind::Answer {
                backlog.changed.notify_waiters();
            }
        }
    }

    /// Counts `bytes` alone, until the last part of them is dropped.
    pub(crate) fn keep(mut self, bytes: Bytes) -> Bytes {
        if bytes.len() <= FREE_LEN {
            return bytes;
        }
        self.set(bytes.len());
        Bytes::from_owner(Counted {
            bytes,
            _charge: self,
        })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::task::{Context, Waker};

    use super::*;
    use crate::config::Limits;

    fn is_ready(future: impl Future) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        pin!(future).poll(&mut context).is_ready()
    }

    fn backlog() -> Arc<Backlog> {
        Unread::new(&Limits {
            connection_unread_max: 10_000,
            ..Limits::default()
        })
        .connection()
    }

    /// Guards that bytes count until the last part of them is dropped, and the next answer waits
    /// for that.
    #[test]
    fn bytes_count_until_they_are_dropped() {
        let backlog = backlog();
        let kept = backlog.keep(Bytes::from(vec![b'7'; 9000]));
        let part = kept.slice(10..20);
        drop(kept);
        assert_eq!((backlog.bytes(), backlog.unread.bytes()), (9000, 9000));
        assert!(!is_ready(backlog.room(1001)) && is_ready(backlog.room(1000)));
        drop(part);
        assert_eq!((backlog.bytes(), backlog.unread.bytes()), (0, 0));
        // The only answer may have any length.
        assert!(is_ready(backlog.room(20_000)));
        drop(backlog.keep(Bytes::from(vec![0; FREE_LEN])));
        assert_eq!(backlog.bytes(), 0);
    }

    /// Guards: what is held beside answers counts for the process, and no answer waits for it.
    #[test]
    fn held_bytes_keep_no_answer_waiting() {
        let backlog = backlog();
        let held = backlog.hold(20_000);
        assert_eq!((backlog.bytes(), backlog.held_len()), (0, 20_000));
        assert_eq!(backlog.unread.bytes(), 20_000);
        assert!(backlog.is_open() && is_ready(backlog.room(10_000)));
        drop(held);
        assert_eq!((backlog.held_len(), backlog.unread.bytes()), (0, 0));
    }

    /// Guards that a task which waits for room is notified.
    #[test]
    fn room_is_told() {
        let backlog = backlog();
        let charge = backlog.charge(10_000);
        let mut opened = pin!(backlog.opened());
        let mut context = Context::from_waker(Waker::noop());
        assert!(opened.as_mut().poll(&mut context).is_pending());
        drop(charge);
        assert!(opened.as_mut().poll(&mut context).is_ready());
        backlog.stuck(true);
        assert!(!is_ready(backlog.opened()));
        backlog.sent(1);
        assert!(is_ready(backlog.opened()));
    }

    /// Guards that a peer which reads a trickle of the waiting answers is treated as one that does
    /// not read.
    #[test]
    fn a_trickle_is_too_slow() {
        let backlog = backlog();
        let idle = backlog.progress();
        let _charge = backlog.charge(5000);
        let before = backlog.progress();
        assert!(!before.is_too_slow(&idle, 100));
        backlog.sent(99);
        assert!(backlog.progress().is_too_slow(&before, 100));
        backlog.sent(1);
        assert!(!backlog.progress().is_too_slow(&before, 100));
    }
}
