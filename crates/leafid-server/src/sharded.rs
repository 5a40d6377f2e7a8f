//! `Sharded`: counters without contention. Each thread writes its own copy, on a cache line of its
//! own; a reader sums them up.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

/// More threads than this share copies: still correct, a little slower. A power of two.
const SHARDS: usize = 16;

/// Several copies of `T`, one for each writing thread.
pub(crate) struct Sharded<T> {
    shards: Box<[CachePadded<T>]>,
}

thread_local! {
    /// The index of this thread's copy; `SHARDS` until it is assigned.
    static SHARD: Cell<usize> = const { Cell::new(SHARDS) };
}

impl<T: Default> Default for Sharded<T> {
    fn default() -> Self {
        Self::of(T::default)
    }
}

impl<T> Sharded<T> {
    /// Creates all copies alike.
    pub(crate) fn of(mut make: impl FnMut() -> T) -> Self {
        let shards = (0..SHARDS).map(|_| CachePadded::new(make())).collect();
        Self { shards }
    }

    /// This thread's copy.
    #[inline]
    pub(crate) fn here(&self) -> &T {
        let shard = SHARD.get();
        if shard < SHARDS {
            return &self.shards[shard];
        }
        &self.shards[settle()]
    }

    /// All copies, to sum them up.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.shards.iter().map(|shard| &**shard)
    }
}

impl<T> fmt::Debug for Sharded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharded").finish_non_exhaustive()
    }
}

/// Assigns a copy to this thread, in turn.
#[cold]
fn settle() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: it only distributes threads; two threads on one copy do no harm.
    let shard = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    SHARD.set(shard);
    shard
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn what_threads_count_adds_up() {
        let counts: Arc<Sharded<AtomicU64>> = Arc::default();
        let threads: Vec<_> = (0..2 * SHARDS)
            .map(|_| {
                let counts = Arc::clone(&counts);
                std::thread::spawn(move || {
                    for _ in 0..100 {
                        counts.here().fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let sum: u64 = counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum();
        assert_eq!(sum, 200 * SHARDS as u64);
        let used = counts
            .iter()
            .filter(|count| count.load(Ordering::Relaxed) > 0);
        assert!(used.count() > 1, "all threads wrote to one copy");
    }
}
