//! `Transaction`: the commands between MULTI and EXEC, queued until they are executed.

use std::ops::Range;

use super::args::Args;
use super::command::Command;
use crate::config::RespLimits;

/// Commands in the order they came. The same command several times in a row is stored once, so that
/// a client's pipeline of many INCRs stays small and needs one reservation.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// The arguments of all commands, concatenated, and their ranges.
    bytes: Vec<u8>,
    ranges: Vec<Range<usize>>,
    queue: Vec<Queued>,
    /// The number of commands, repetitions included.
    len: u64,
    is_broken: bool,
    /// During execution: the index of the next command.
    next: usize,
}

/// A command that came `times` times in a row.
#[derive(Debug)]
struct Queued {
    /// The index of the command in the table, and its row.
    at: usize,
    command: &'static Command,
    /// Which of the ranges are its arguments.
    args: Range<usize>,
    times: u64,
}

/// A command to execute.
pub(super) struct Due<'a> {
    pub(super) at: usize,
    pub(super) command: &'static Command,
    pub(super) args: Args<'a>,
    pub(super) times: u64,
}

impl Transaction {
    /// Queues a command that came `times` times in a row; returns how many of those it queued.
    pub(super) fn push(
        &mut self,
        at: usize,
        command: &'static Command,
        args: Args<'_>,
        times: u64,
        limits: &RespLimits,
    ) -> u64 {
        let times = times.min(limits.queued_max.saturating_sub(self.len));
        if times == 0 || self.repeat(command, args, times) {
            return times;
        }
        let len: usize = args.from(0).map(<[u8]>::len).sum();
        let ranges_len = args.len() * size_of::<Range<usize>>() + size_of::<Queued>();
        if self.used_len() + len + ranges_len > limits.queue_len_max {
            return 0;
        }
        let first = self.ranges.len();
        for arg in args.from(0) {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(arg);
            self.ranges.push(start..self.bytes.len());
        }
        self.queue.push(Queued {
            at,
            command,
            args: first..self.ranges.len(),
            times,
        });
        self.len += times;
        times
    }

    /// Increments the last command's count if this is the same, and can be answered together with
    /// it.
    fn repeat(&mut self, command: &'static Command, args: Args<'_>, times: u64) -> bool {
        if !command.can_repeat(args) {
            return false;
        }
        let Some(last) = self.queue.last_mut() else {
            return false;
        };
        let before = Args::new(&self.bytes, &self.ranges[last.args.clone()]);
        if !before.from(0).eq(args.from(0)) {
            return false;
        }
        last.times += times;
        self.len += times;
        true
    }

    /// Bytes that the commands need.
    fn used_len(&self) -> usize {
        self.bytes.len()
            + self.ranges.len() * size_of::<Range<usize>>()
            + self.queue.len() * size_of::<Queued>()
    }

    /// Bytes of memory, of which up to a half is unused while the buffers double.
    pub(super) fn held_len(&self) -> usize {
        self.bytes.capacity()
            + self.ranges.capacity() * size_of::<Range<usize>>()
            + self.queue.capacity() * size_of::<Queued>()
    }

    /// The number of commands.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// Notes that a command was refused, so that EXEC executes none.
    pub(super) const fn break_off(&mut self) {
        self.is_broken = true;
    }

    pub(super) const fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// The next command to execute, at most `times_max` times; `None` when all are done.
    pub(super) fn due(&mut self, times_max: u64) -> Option<Due<'_>> {
        let queued = self.queue.get_mut(self.next)?;
        let times = queued.times.min(times_max);
        queued.times -= times;
        if queued.times == 0 {
            self.next += 1;
        }
        Some(Due {
            at: queued.at,
            command: queued.command,
            args: Args::new(&self.bytes, &self.ranges[queued.args.clone()]),
            times,
        })
    }
}
