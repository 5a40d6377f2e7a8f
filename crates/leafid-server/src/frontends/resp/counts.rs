//! `RespCounts`: commands of the Redis protocol by name and outcome.

use super::command::{COMMANDS_LEN, command_name};
use crate::ops::metrics::{CallCounts, CallMetric, CountedCalls};

/// The columns of commands that succeeded, and of those that failed.
const OUTCOMES: [&str; 2] = ["ok", "error"];

/// Commands by name and outcome. The last row counts unknown commands.
#[derive(Debug, Default)]
pub(crate) struct RespCounts(CallCounts<{ COMMANDS_LEN + 1 }, { OUTCOMES.len() }>);

impl RespCounts {
    /// Counts several executions of the command at index `at` of the table.
    #[inline]
    pub(crate) fn count(&self, at: usize, answered: u64, failed: u64) {
        if answered > 0 {
            self.0.add(at, 0, answered);
        }
        if failed > 0 {
            self.0.add(at, 1, failed);
        }
    }
}

impl CountedCalls for RespCounts {
    fn metric(&self) -> CallMetric {
        CallMetric {
            name: "resp_commands",
            help: "commands of the Redis protocol by name and outcome",
            labels: ["command", "outcome"],
        }
    }

    fn for_each(&self, each: &mut dyn FnMut([&str; 2], u64)) {
        for (at, outcome, count) in self.0.counted() {
            each([command_name(at), OUTCOMES[outcome]], count);
        }
    }
}
