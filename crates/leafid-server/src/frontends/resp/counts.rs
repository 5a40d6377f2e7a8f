//! `RespCounts`: commands of the Redis protocol by name and outcome.

use super::command::{COMMANDS_LEN, command_name};
use crate::net::connection_counts::Protocol;
use crate::ops::metrics::{CallCounts, CallMetric, CountedCalls, Latency};

/// The columns of commands that succeeded, and of those that failed.
const OUTCOMES: [&str; 2] = ["ok", "error"];

/// Commands by name and outcome, and how long they took. The last row counts unknown commands.
#[derive(Debug, Default)]
pub(crate) struct RespCounts {
    calls: CallCounts<{ COMMANDS_LEN + 1 }, { OUTCOMES.len() }>,
    pub(super) latency: Latency,
}

impl RespCounts {
    /// Counts several executions of the command at index `at` of the table.
    #[inline]
    pub(crate) fn count(&self, at: usize, answered: u64, failed: u64) {
        if answered > 0 {
            self.calls.add(at, 0, answered);
        }
        if failed > 0 {
            self.calls.add(at, 1, failed);
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

    fn protocol(&self) -> Protocol {
        Protocol::Resp
    }

    fn latency(&self) -> &Latency {
        &self.latency
    }

    fn for_each(&self, each: &mut dyn FnMut([&str; 2], u64)) {
        for (at, outcome, count) in self.calls.counted() {
            each([command_name(at), OUTCOMES[outcome]], count);
        }
    }
}
