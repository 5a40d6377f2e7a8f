//! `RespCounts`: commands of the Redis protocol by name and by how they were answered.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::resp::{COMMANDS_LEN, command_name};
use crate::sharded::Sharded;

/// Commands by name and outcome. The last row is for what is no command.
#[derive(Default)]
pub(crate) struct RespCounts {
    shards: Sharded<Shard>,
}

/// What one thread counted.
struct Shard {
    /// Answered, and answered with an error.
    counts: [[AtomicU64; 2]; COMMANDS_LEN + 1],
}

impl Default for Shard {
    fn default() -> Self {
        Self {
            counts: [const { [const { AtomicU64::new(0) }; 2] }; COMMANDS_LEN + 1],
        }
    }
}

impl RespCounts {
    /// Counts several of the command that is at `at` in the table.
    #[inline]
    pub(crate) fn count(&self, at: usize, answered: u64, failed: u64) {
        let [ok, errors] = &self.shards.here().counts[at];
        // Relaxed: a counter orders nothing.
        if answered > 0 {
            ok.fetch_add(answered, Ordering::Relaxed);
        }
        if failed > 0 {
            errors.fetch_add(failed, Ordering::Relaxed);
        }
    }

    /// Name, whether they failed, and count, of those that were counted.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (&'static str, bool, u64)> {
        let rows = (0..=COMMANDS_LEN).flat_map(|at| [(at, false), (at, true)]);
        rows.map(|(at, is_failed)| {
            let counts = self.shards.iter();
            let counts = counts.map(|shard| &shard.counts[at][usize::from(is_failed)]);
            let sum = counts.map(|count| count.load(Ordering::Relaxed)).sum();
            (command_name(at), is_failed, sum)
        })
        .filter(|(_, _, count)| *count > 0)
    }
}

impl std::fmt::Debug for RespCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.counted()).finish()
    }
}
