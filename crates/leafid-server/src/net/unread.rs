//! `Unread`: bytes of answers that were made and that their peers have not read yet, counted for
//! each connection and for the whole process, and bounded in both.
//!
//! A connection at its bound makes no more answers until its peer has read. Where all connections
//! together are beyond theirs, those that hold the most are cut.
//!
//! Only what may become much is counted: answers beyond [`FREE_LEN`], and what a socket did not
//! take. An answer with one id comes here neither to lock nor to count.

mod backlog;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::config::Limits;

pub(crate) use backlog::{Backlog, Charge, Progress};

/// So many bytes are not worth counting: a connection needs more for itself.
pub(crate) const FREE_LEN: usize = 1024;

/// All that is unread in this process.
pub(crate) struct Unread {
    /// Bytes over all connections.
    total: AtomicUsize,
    total_max: usize,
    connection_max: usize,
    /// Connections that were cut because the process was beyond its bound.
    cut: AtomicU64,
    /// Connections that were cut because their peers sent frames without end.
    floods: AtomicU64,
    /// Connections that have counted anything. A connection comes in once, and its entry goes
    /// after it.
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

    /// That of a new connection.
    pub(crate) fn connection(self: &Arc<Self>) -> Arc<Backlog> {
        Arc::new(Backlog::new(Arc::clone(self)))
    }

    // Relaxed, in all of them: counters order nothing.

    /// Bytes over all connections.
    pub(crate) fn bytes(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    /// Connections that were cut because the process was beyond its bound.
    pub(crate) fn cut_count(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }

    /// Connections that were cut because their peers sent frames without end.
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

    /// A connection counts for the first time.
    fn enter(&self, backlog: &Arc<Backlog>) {
        let mut connections = self.lock();
        if connections.len() == connections.capacity() {
            connections.retain(|connection| connection.strong_count() > 0);
        }
        connections.push(Arc::downgrade(backlog));
    }

    /// Cuts those connections that hold the most, until what the others hold is within the bound.
    #[cold]
    fn make_room(&self) {
        let mut held: Vec<_> = {
            let mut connections = self.lock();
            connections.retain(|connection| connection.strong_count() > 0);
            // Their bytes as they are now: the numbers change while they are sorted.
            let held = connections.iter().filter_map(Weak::upgrade);
            held.map(|backlog| (backlog.bytes(), backlog)).collect()
        };
        // What those hold that are cut already goes by itself.
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
                        "cut the connection with the most unread answers: all together are \
                         beyond unread-max"
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

    /// Guards: connections are compared by numbers that stand still, while others change them.
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

    /// Guards: beyond the bound of the process the connections that hold the most are cut, as
    /// many as it takes and no more.
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
        // The one that was cut has not gone yet: nobody else goes for it.
        let _charge = late.charge(60);
        assert_eq!(unread.cut_count(), 1);
        drop(connections);
        assert_eq!(unread.bytes(), 120);
    }
}
