//! `Unread`: counts the bytes of answers that peers have not read yet, for each connection and for
//! the whole process, and limits both (back-pressure).
//!
//! Over HTTP/2, buffers that a peer's HPACK table refers to count for the process, and so do open
//! requests.
//!
//! A connection at its limit makes no more answers until its peer has read. If all connections
//! together exceed theirs, those that hold the most are cut.
//!
//! Only large amounts are counted: answers beyond [`FREE_LEN`], and what a socket did not take. An
//! answer with one id neither locks nor counts here.

mod backlog;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::config::Limits;

pub(crate) use backlog::{Backlog, Charge, Progress};

/// What a request takes while it is open, about: that of HTTP/2 with its stream.
const REQUEST_LEN: usize = 9 * 1024;
/// What a header field takes beside its text, about, in a table that is half empty.
const FIELD_LEN: usize = 160;

/// The memory of a request while it is open, about. The texts of its header fields refer to the
/// buffers that they came in.
pub(crate) const fn request_len(fields: usize, text_len: usize) -> usize {
    REQUEST_LEN + fields * FIELD_LEN + text_len
}

/// Fewer bytes are not worth counting: a connection itself needs more.
pub(crate) const FREE_LEN: usize = 1024;

/// All unread bytes of this process.
pub(crate) struct Unread {
    /// Bytes over all connections.
    total: AtomicUsize,
    total_max: usize,
    connection_max: usize,
    /// Connections that were cut because the process exceeded its limit.
    cut: AtomicU64,
    /// Connections that were cut for a flood of HTTP/2 frames.
    floods: AtomicU64,
    /// Connections that have counted anything. Each is added once, and removed after it ends.
    connections: Mutex<Vec<Weak<Backlog>>>,
}

impl Unread {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            total: AtomicUsize::new(0),
            total_max: limits.unread_max,
            connection_max: limits.connection_unread_max,
            cut: AtomicU64::new(0),
            floods: AtomicU64::new(0),
            connections: Mutex::default(),
        })
    }

    /// The backlog of a new connection.
    pub(crate) fn connection(self: &Arc<Self>) -> Arc<Backlog> {
        Arc::new(Backlog::new(Arc::clone(self)))
    }

    // Relaxed, in all of them: counters order nothing.

    /// Bytes over all connections.
    pub(crate) fn bytes(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    /// Connections that were cut because the process exceeded its limit.
    pub(crate) fn cut_count(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }

    /// Connections that were cut for a flood of HTTP/2 frames.
    pub(crate) fn flood_count(&self) -> u64 {
        self.floods.load(Ordering::Relaxed)
    }

    fn flooded(&self) {
        let count = self.floods.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() {
            tracing::warn!(
                count,
                "cut a connection whose peer sent endless HTTP/2 frames that request nothing"
            );
        }
    }

    fn add(&self, len: usize) {
        let before = self.total.fetch_add(len, Ordering::Relaxed);
        if before + len > self.total_max {
            self.make_room();
        }
    }

    fn subtract(&self, len: usize) {
        self.total.fetch_sub(len, Ordering::Relaxed);
    }

    /// Called when a connection counts for the first time.
    fn enter(&self, backlog: &Arc<Backlog>) {
        let mut connections = self.lock();
        if connections.len() == connections.capacity() {
            connections.retain(|connection| connection.strong_count() > 0);
        }
        connections.push(Arc::downgrade(backlog));
    }

    /// Cuts the connections that hold the most, until the rest is within the limit.
    #[cold]
    fn make_room(&self) {
        let mut held: Vec<_> = {
            let mut connections = self.lock();
            connections.retain(|connection| connection.strong_count() > 0);
            // A copy of the numbers: they change while they are sorted.
            let held = connections.iter().filter_map(Weak::upgrade);
            held.map(|backlog| (backlog.held_len(), backlog)).collect()
        };
        // The bytes of connections that are already cut will be freed.
        held.retain(|(_, backlog)| !backlog.is_cut());
        held.sort_unstable_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        let mut left: usize = held.iter().map(|(bytes, _)| bytes).sum();
        for (bytes, backlog) in held {
            if left <= self.total_max {
                return;
            }
            left = left.saturating_sub(bytes);
            if backlog.cut() {
                let count = self.cut.fetch_add(1, Ordering::Relaxed) + 1;
                if count.is_power_of_two() {
                    tracing::warn!(
                        bytes,
                        count,
                        "cut the connection that holds the most memory for its client: all \
                         together are beyond unread-max"
                    );
                }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Backlog>>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unread")
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread(unread_max: usize) -> Arc<Unread> {
        Unread::new(&Limits {
            unread_max,
            connection_unread_max: 1000,
            ..Limits::default()
        })
    }

    /// Guards that connections are compared by copied numbers, as the real ones change meanwhile.
    #[test]
    fn bytes_may_change_while_connections_are_compared() {
        let unread = unread(1);
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let connections: Vec<_> = (0..64).map(|_| unread.connection()).collect();
                    for round in 0..300 {
                        let charges = connections.iter().enumerate();
                        let charges = charges.map(|(n, one)| one.charge(1 + (n * round) % 97));
                        drop(charges.collect::<Vec<_>>());
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!((done.into_inner(), unread.bytes()), (4, 0));
    }

    /// Guards that when the process exceeds its limit, the connections that hold the most are cut,
    /// and no more than needed.
    #[test]
    fn those_that_hold_the_most_are_cut() {
        let unread = unread(1000);
        let lens = [100, 400, 300, 150];
        let connections = lens.map(|len| {
            let backlog = unread.connection();
            let charge = backlog.charge(len);
            (backlog, charge)
        });
        assert_eq!((unread.bytes(), unread.cut_count()), (950, 0));
        let late = unread.connection();
        let _charge = late.charge(60);
        let cut = connections.each_ref().map(|(backlog, _)| backlog.is_cut());
        assert_eq!(cut, [false, true, false, false]);
        // The connection that was cut has not ended yet: no other is cut for it.
        let _charge = late.charge(60);
        assert_eq!(unread.cut_count(), 1);
        drop(connections);
        assert_eq!(unread.bytes(), 120);
    }
}
