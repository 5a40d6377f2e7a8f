//! `State`: the settings of a connection so far, and how its next command is handled.

mod pending_replies;

use super::context::Context;
use super::reply::Protocol;
use super::transaction::Transaction;
use crate::service::Caller;

pub(super) use pending_replies::PendingReplies;

/// The settings of a connection so far. Commands read and change them.
#[derive(Debug)]
pub(super) struct State {
    /// Differs for each connection of this process.
    pub(super) id: u64,
    pub(super) name: Box<[u8]>,
    pub(super) library: Box<[u8]>,
    pub(super) library_version: Box<[u8]>,
    pub(super) protocol: Protocol,
    pub(super) caller: Caller,
    pub(super) replies: Replies,
    /// Replies to commands that were executed; they are written before the next command.
    pub(super) pending: Option<Box<PendingReplies>>,
    pub(super) mode: Mode,
    /// Commands that were answered and are not in the metrics of latency yet.
    pub(super) answered: u64,
}

/// Which commands are answered: CLIENT REPLY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replies {
    On,
    Off,
    /// The next command is not answered. `CLIENT REPLY SKIP` sets `SkipNext`, which becomes this.
    Skip,
    SkipNext,
}

/// How commands are handled.
#[derive(Debug, Default)]
pub(super) enum Mode {
    /// Each is executed.
    #[default]
    Direct,
    /// Between MULTI and EXEC: they are queued.
    Queuing(Box<Transaction>),
    /// During EXEC: the queued commands are executed before any other is read.
    Executing(Box<Transaction>),
}

impl State {
    pub(super) fn new(id: u64) -> Self {
        Self {
            id,
            name: Box::default(),
            library: Box::default(),
            library_version: Box::default(),
            protocol: Protocol::default(),
            caller: Caller::anonymous(),
            replies: Replies::On,
            pending: None,
            mode: Mode::Direct,
            answered: 0,
        }
    }

    /// Checked each time: whether tokens are required may change while a connection is open.
    pub(super) fn is_authenticated(&self, context: &Context) -> bool {
        !context.service.needs_token() || self.caller.token().is_some()
    }

    /// Repeats what stands in `answer` for `times` more commands, as soon as there is room.
    pub(super) fn repeat_reply(&mut self, answer: &[u8], times: u64) {
        self.pending = PendingReplies::new(answer, times);
    }

    /// Removes what was answered from `start` on, if the peer wants no answers.
    pub(super) fn hush(&mut self, out: &mut Vec<u8>, start: usize) {
        if self.replies.are_silent() {
            out.truncate(start);
            self.pending = None;
        }
    }

    /// The number of commands that wait for EXEC; `None` outside a transaction.
    pub(super) fn queued(&self) -> Option<u64> {
        match &self.mode {
            Mode::Queuing(transaction) => Some(transaction.len()),
            Mode::Direct | Mode::Executing(_) => None,
        }
    }

    pub(super) const fn is_queuing(&self) -> bool {
        matches!(self.mode, Mode::Queuing(_))
    }

    pub(super) const fn is_executing(&self) -> bool {
        matches!(self.mode, Mode::Executing(_))
    }

    /// Ends the queuing, and returns what was queued; `None` outside a transaction.
    pub(super) fn take_queue(&mut self) -> Option<Box<Transaction>> {
        match std::mem::take(&mut self.mode) {
            Mode::Queuing(transaction) => Some(transaction),
            other => {
                self.mode = other;
                None
            }
        }
    }

    /// Notes that a command was refused, so that EXEC executes none.
    pub(super) fn abort_transaction(&mut self) {
        if let Mode::Queuing(transaction) = &mut self.mode {
            transaction.break_off();
        }
    }
}

impl Replies {
    pub(super) const fn are_silent(self) -> bool {
        matches!(self, Self::Off | Self::Skip | Self::SkipNext)
    }

    /// For the command after this one.
    pub(super) const fn after(self) -> Self {
        match self {
            Self::Off => Self::Off,
            Self::SkipNext => Self::Skip,
            Self::On | Self::Skip => Self::On,
        }
    }
}
