//! `Turn`: the execution of a command.

use super::wanted::Wanted;
use crate::frontends::resp::context::Context;
use crate::frontends::resp::error;
use crate::frontends::resp::reply::Reply;
use crate::frontends::resp::state::State;
use crate::service::ServiceError;

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

impl Turn<'_> {
    /// Answers with an error.
    pub(in crate::frontends::resp) fn fail(&mut self, text: &str) -> Outcome {
        self.reply.error(&[text.as_bytes()]);
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
