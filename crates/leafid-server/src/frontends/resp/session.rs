//! `Session`: the state of one connection, without its I/O. Bytes go in, answers come out; a
//! command that memory cannot answer is handed back, to be waited for.
//!
//! The answers do not depend on how the bytes were cut into reads. Taking ids from memory needs
//! neither a lock nor an allocation.

mod answering;

use std::sync::Arc;
use std::time::Duration;

use super::command::{self, Turn};
use super::context::Context;
use super::parser::{Broken, Parsed, Parser};
use super::state::{Mode, State};
use crate::config::Limits;
use answering::room;

pub(super) use answering::{Pending, Then};

/// The state of one connection.
pub(super) struct Session {
    context: Arc<Context>,
    parser: Parser,
    state: State,
}

/// What a session does next.
enum Next {
    /// The answers so far must be sent.
    Flush,
    /// Writes replies that are due.
    Reply,
    /// Runs the next command of a transaction.
    Execute,
    /// Reads the next command.
    Read,
}

/// The progress of a session.
#[derive(Debug)]
pub(super) struct Fed {
    /// The number of bytes consumed.
    pub(super) consumed: usize,
    pub(super) then: Then,
}

impl Session {
    pub(super) fn new(context: Arc<Context>, id: u64) -> Self {
        let state = State::new(id);
        Self {
            context,
            parser: Parser::default(),
            state,
        }
    }

    pub(super) fn limits(&self) -> &Limits {
        self.context.service.limits()
    }

    pub(super) fn is_authenticated(&self) -> bool {
        self.state.is_authenticated(&self.context)
    }

    /// The bytes of commands that wait for EXEC, or are executed by it.
    pub(super) fn held_len(&self) -> usize {
        match &self.state.mode {
            Mode::Queuing(transaction) | Mode::Executing(transaction) => transaction.held_len(),
            Mode::Direct => 0,
        }
    }

    /// Records how long the commands took that were answered since the last call.
    pub(super) fn record(&mut self, took: Duration) {
        let answered = std::mem::take(&mut self.state.answered);
        if answered > 0 {
            self.context.counts.latency.record(took, answered);
        }
    }

    /// Answers the commands in `stream`, with the answers in `out`, which is empty before, until more
    /// bytes are needed, `out` is full, or a command must wait.
    pub(super) fn feed(&mut self, stream: &[u8], out: &mut Vec<u8>) -> Fed {
        debug_assert!(out.is_empty(), "the answers of an earlier read");
        let mut consumed = 0;
        loop {
            let then = match self.next(out) {
                Next::Flush => Some(Then::Flush),
                Next::Reply => {
                    self.reply_pending(out);
                    None
                }
                Next::Execute => self.execute(out),
                Next::Read => {
                    let (used, then) = self.read(&stream[consumed..], out);
                    consumed += used;
                    then
                }
            };
            if let Some(then) = then {
                return Fed { consumed, then };
            }
        }
    }

    fn next(&self, out: &[u8]) -> Next {
        if out.len() >= self.context.limits.out_len_max {
            Next::Flush
        } else if self.state.pending.is_some() {
            Next::Reply
        } else if self.state.is_executing() {
            Next::Execute
        } else {
            Next::Read
        }
    }

    fn reply_pending(&mut self, out: &mut Vec<u8>) {
        if let Some(pending) = &mut self.state.pending
            && pending.write(out, self.context.limits.out_len_max)
        {
            self.state.pending = None;
        }
    }

    /// Takes the next command from `rest`. Returns how many bytes that consumed, and what is needed
    /// to continue, if anything.
    fn read(&mut self, rest: &[u8], out: &mut Vec<u8>) -> (usize, Option<Then>) {
        let is_authenticated = self.state.is_authenticated(&self.context);
        match self
            .parser
            .parse(rest, &self.context.limits, is_authenticated)
        {
            Parsed::Command(len) => {
                let mut turn = Turn::new(&self.context, &mut self.state, out);
                turn.command(rest, len, self.parser.args(rest))
            }
            Parsed::Nothing(len) => {
                self.state.replies = self.state.replies.after();
                (len, None)
            }
            Parsed::Part(len) => {
                self.parser.shrink();
                (0, Some(Then::Read(len)))
            }
            Parsed::Broken(broken) => {
                self.complain(broken, out);
                (0, Some(Then::Close))
            }
        }
    }

    /// Waits for what a command needs, and answers it.
    pub(super) async fn resume(&mut self, pending: Pending, out: &mut Vec<u8>) {
        let start = out.len();
        let times = pending.wanted.commands();
        let mut turn = Turn::new(&self.context, &mut self.state, out);
        turn.times = times;
        command::wait(&mut turn, pending.wanted).await;
        let failed = turn.failed;
        turn.count(pending.at, times - failed, failed);
        self.state.hush(out, start);
        if !self.state.is_executing() {
            self.state.replies = self.state.replies.after();
        }
    }

    /// Executes the next command of a transaction.
    fn execute(&mut self, out: &mut Vec<u8>) -> Option<Then> {
        let Mode::Executing(mut execution) = std::mem::take(&mut self.state.mode) else {
            return None;
        };
        let limits = &self.context.limits;
        let times_max = limits.repeats_max.min(room(out, limits));
        let Some(due) = execution.due(times_max) else {
            self.state.replies = self.state.replies.after();
            return None;
        };
        let mut turn = Turn::new(&self.context, &mut self.state, out);
        let then = turn.run(due.at, due.command, due.args, due.times);
        self.state.mode = Mode::Executing(execution);
        then
    }

    fn complain(&mut self, broken: Broken, out: &mut Vec<u8>) {
        let is_silent = self.state.replies.are_silent();
        let mut turn = Turn::new(&self.context, &mut self.state, out);
        turn.count(command::COMMANDS.len(), 0, 1);
        if is_silent {
            return;
        }
        let text = broken.text().as_bytes();
        match broken {
            Broken::NotBulk(byte) => {
                turn.fail_with(&[b"ERR Protocol error: ", text, b"'", &[byte], b"'"])
            }
            _ => turn.fail_with(&[b"ERR Protocol error: ", text]),
        };
    }
}

#[cfg(test)]
mod allocations;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
