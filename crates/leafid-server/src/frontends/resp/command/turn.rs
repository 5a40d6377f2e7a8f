//! `Turn`: the execution of a command.

use crate::frontends::resp::context::Context;
use crate::frontends::resp::error;
use crate::frontends::resp::reply::{Form, Reply};
use crate::frontends::resp::state::State;
use crate::service::{ServiceError, ShardChoice};

/// The execution of a command: what it may read, and where it writes its answer.
pub(in crate::frontends::resp) struct Turn<'a> {
    pub(in crate::frontends::resp) context: &'a Context,
    pub(in crate::frontends::resp) state: &'a mut State,
    pub(in crate::frontends::resp) reply: Reply<'a>,
    /// How often the same command was sent in a row, and is to be answered.
    pub(in crate::frontends::resp) times: u64,
    /// How many of those were answered with an error.
    pub(in crate::frontends::resp) failed: u64,
}

/// The result of a command.
#[derive(Debug)]
pub(in crate::frontends::resp) enum Outcome {
    /// It was answered.
    Done,
    /// The rest of the answer has to be waited for.
    Wait(Wanted),
    /// It was answered, and the connection ends.
    Close,
}

/// Ids that memory did not hold, or a tag to be read, that a command waits for.
#[derive(Debug)]
pub(in crate::frontends::resp) enum Wanted {
    /// One id for each of several commands in a row.
    Ids { tag: String, count: u64, form: Form },
    /// Several ids in one answer.
    Several { tag: String, count: u64 },
    /// A range of adjacent ids.
    Run {
        tag: String,
        length: u64,
        ends: Ends,
    },
    /// Ids of a shard; one, without a count.
    InShard {
        tag: String,
        count: Option<u64>,
        shard: ShardChoice,
    },
    /// What an id says, by its tag.
    Decoded { tag: String, id: String },
}

/// The form of the answer to a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::frontends::resp) enum Ends {
    /// Its last id, as a number: INCRBY.
    Last,
    /// Its first and last id, as strings: ID.RANGE.
    Both,
}

impl Wanted {
    /// The number of commands it answers.
    pub(in crate::frontends::resp) const fn commands(&self) -> u64 {
        match self {
            Self::Ids { count, .. } => *count,
            Self::Several { .. }
            | Self::Run { .. }
            | Self::InShard { .. }
            | Self::Decoded { .. } => 1,
        }
    }
}

impl<'a> Turn<'a> {
    /// The execution of a command that was sent once.
    pub(in crate::frontends::resp) fn new(
        context: &'a Context,
        state: &'a mut State,
        out: &'a mut Vec<u8>,
    ) -> Self {
        let protocol = state.protocol;
        Self {
            context,
            state,
            reply: Reply { out, protocol },
            times: 1,
            failed: 0,
        }
    }

    /// Counts commands that were answered, and those of them with an error.
    pub(in crate::frontends::resp) fn count(&mut self, at: usize, succeeded: u64, failed: u64) {
        self.context.counts.count(at, succeeded, failed);
        self.state.answered += succeeded + failed;
    }

    /// Answers with an error.
    pub(in crate::frontends::resp) fn fail(&mut self, text: &str) -> Outcome {
        self.fail_with(&[text.as_bytes()])
    }

    /// Answers with an error in parts.
    pub(in crate::frontends::resp) fn fail_with(&mut self, parts: &[&[u8]]) -> Outcome {
        self.reply.error(parts);
        self.failed = self.times;
        Outcome::Done
    }

    /// Answers the last `count` of the commands with an error of the service.
    pub(in crate::frontends::resp) fn fail_of(
        &mut self,
        error: &ServiceError,
        count: u64,
    ) -> Outcome {
        let start = self.reply.out.len();
        error::write(&mut self.reply, error);
        self.state.repeat_reply(&self.reply.out[start..], count - 1);
        self.failed = count;
        Outcome::Done
    }

    /// Refuses the last `count` of the commands, each of which requests an id. Only the first of
    /// them was tried.
    pub(super) fn stopped(&self, error: ServiceError, count: u64) -> (u64, ServiceError) {
        self.context
            .service
            .access()
            .count_refused(&error, count - 1, count - 1);
        (count, error)
    }

    /// Answers each of the commands in a row with the same error.
    pub(super) fn fail_each(&mut self, text: &str) -> Outcome {
        let start = self.reply.out.len();
        let outcome = self.fail(text);
        self.state
            .repeat_reply(&self.reply.out[start..], self.times - 1);
        outcome
    }

    pub(in crate::frontends::resp) fn syntax_error(&mut self) -> Outcome {
        self.fail("ERR syntax error")
    }

    pub(in crate::frontends::resp) fn not_an_integer(&mut self) -> Outcome {
        self.fail("ERR value is not an integer or out of range")
    }

    pub(in crate::frontends::resp) fn ok(&mut self) -> Outcome {
        self.reply.ok();
        Outcome::Done
    }
}
