//! `Session`: one connection's conversation, without the connection. Bytes go in, answers come
//! out; whatever cannot be answered from memory is handed back, to be waited for.
//!
//! The answers do not depend on how the bytes were cut. Taking ids from memory costs neither a
//! lock nor an allocation.

mod answering;
mod owed;

use std::sync::Arc;

use super::RespFrontEnd;
use super::command::{self, Turn, Wanted};
use super::parser::{Broken, Parsed, Parser};
use super::reply::{ID_LEN_MAX, Protocol, Reply};
use super::transaction::Transaction;
use crate::config::RespLimits;
use crate::service::Caller;
use answering::Answering;
use owed::Owed;

/// One connection's conversation.
pub(super) struct Session {
    front_end: Arc<RespFrontEnd>,
    parser: Parser,
    state: State,
}

/// What a connection has said of itself so far. Commands read and change it.
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
    /// What commands that were run are still to be answered, before any other is run.
    owed: Option<Box<Owed>>,
    /// Between MULTI and EXEC.
    pub(super) transaction: Option<Box<Transaction>>,
    /// While EXEC is carried out.
    pub(super) execution: Option<Box<Transaction>>,
}

/// Which commands are answered: CLIENT REPLY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replies {
    On,
    Off,
    /// Not this one. `CLIENT REPLY SKIP` puts `SkipNext`, which becomes this for the next.
    Skip,
    SkipNext,
}

/// How far a session came.
#[derive(Debug)]
pub(super) struct Fed {
    /// So many bytes are done with.
    pub(super) consumed: usize,
    pub(super) then: Then,
}

/// What a session needs to go on.
#[derive(Debug)]
pub(super) enum Then {
    /// So many bytes at least, with those that are not consumed.
    Read(usize),
    /// That the answers leave; then the rest of the bytes again.
    Flush,
    /// That this is waited for; then the rest of the bytes again.
    Wait(Pending),
    /// Nothing: the answers leave, and the connection ends.
    Close,
}

/// What is waited for.
#[derive(Debug)]
pub(super) struct Pending {
    /// Which command wants it.
    at: usize,
    wanted: Wanted,
}

/// How a command ended, as the session sees it.
enum Step {
    Next,
    Wait(Pending),
    Close,
    /// Ends without an answer, not even to what came before in the same read.
    Abandon,
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
            owed: None,
            transaction: None,
            execution: None,
        }
    }

    /// Asked each time: tokens may come to be asked for, or no more, while a connection is open.
    pub(super) fn is_authenticated(&self, front_end: &RespFrontEnd) -> bool {
        !front_end.service.needs_token() || self.caller.token().is_some()
    }

    /// Answers `times` commands more with what stands in `answer`, as soon as there is room.
    pub(super) fn owe(&mut self, answer: &[u8], times: u64) {
        self.owed = Owed::new(answer, times);
    }

    /// Takes back what was answered from `start` on, if the peer wants no answers.
    fn hush(&mut self, out: &mut Vec<u8>, start: usize) {
        if self.replies.are_silent() {
            out.truncate(start);
            self.owed = None;
        }
    }

    /// How many commands wait for EXEC; `None` outside a transaction.
    pub(super) fn queued(&self) -> Option<u64> {
        self.transaction
            .as_ref()
            .map(|transaction| transaction.len())
    }
}

impl Session {
    pub(super) fn new(front_end: Arc<RespFrontEnd>, id: u64) -> Self {
        let state = State::new(id);
        Self {
            front_end,
            parser: Parser::default(),
            state,
        }
    }

    pub(super) fn is_authenticated(&self) -> bool {
        self.state.is_authenticated(&self.front_end)
    }

    /// Bytes of commands that wait for EXEC.
    pub(super) fn held_len(&self) -> usize {
        let transaction = self.state.transaction.as_ref();
        transaction.map_or(0, |transaction| transaction.held_len())
    }

    /// Answers the commands in `stream`, behind what `out` holds, until more bytes are needed,
    /// `out` is full, or something has to be waited for.
    pub(super) fn feed(&mut self, stream: &[u8], out: &mut Vec<u8>) -> Fed {
        let start = out.len();
        let mut consumed = 0;
        loop {
            let limits = &self.front_end.limits;
            if out.len() >= limits.out_len_max {
                let then = Then::Flush;
                return Fed { consumed, then };
            }
            if let Some(owed) = &mut self.state.owed {
                if owed.give(out, limits.out_len_max) {
                    self.state.owed = None;
                }
                continue;
            }
            if self.state.execution.is_some() {
                if let Step::Wait(pending) = self.execute(out) {
                    let then = Then::Wait(pending);
                    return Fed { consumed, then };
                }
                continue;
            }
            let rest = &stream[consumed..];
            let is_authenticated = self.state.is_authenticated(&self.front_end);
            let then = match self.parser.parse(rest, limits, is_authenticated) {
                Parsed::Command(len) => {
                    let mut answering = Answering {
                        front_end: &self.front_end,
                        state: &mut self.state,
                        out,
                    };
                    let (used, step) = answering.command(rest, len, self.parser.args(rest));
                    consumed += used;
                    match step {
                        Step::Next => continue,
                        Step::Wait(pending) => Then::Wait(pending),
                        Step::Close => Then::Close,
                        Step::Abandon => {
                            out.truncate(start);
                            Then::Close
                        }
                    }
                }
                Parsed::Nothing(len) => {
                    consumed += len;
                    self.state.replies = self.state.replies.after();
                    continue;
                }
                Parsed::Part(len) => {
                    self.parser.shrink();
                    Then::Read(len)
                }
                Parsed::Broken(broken) => {
                    self.complain(broken, out);
                    Then::Close
                }
            };
            return Fed { consumed, then };
        }
    }

    /// Waits for what a command wants, and answers it.
    pub(super) async fn resume(&mut self, pending: Pending, out: &mut Vec<u8>) {
        let start = out.len();
        let times = pending.wanted.commands();
        let mut turn = Turn {
            front_end: &self.front_end,
            reply: Reply {
                out,
                protocol: self.state.protocol,
            },
            state: &mut self.state,
            times,
            failed: 0,
        };
        command::wait(&mut turn, pending.wanted).await;
        let failed = turn.failed;
        self.front_end
            .counts
            .count(pending.at, times - failed, failed);
        self.state.hush(out, start);
        if self.state.execution.is_none() {
            self.state.replies = self.state.replies.after();
        }
    }

    /// Carries out the next command of a transaction.
    fn execute(&mut self, out: &mut Vec<u8>) -> Step {
        let Some(mut execution) = self.state.execution.take() else {
            return Step::Next;
        };
        let limits = &self.front_end.limits;
        let times_max = limits.repeats_max.min(room(out, limits));
        let Some(due) = execution.due(times_max) else {
            self.state.replies = self.state.replies.after();
            return Step::Next;
        };
        let mut answering = Answering {
            front_end: &self.front_end,
            state: &mut self.state,
            out,
        };
        let step = answering.run(due.at, due.command, due.args, due.times);
        self.state.execution = Some(execution);
        step
    }

    fn complain(&mut self, broken: Broken, out: &mut Vec<u8>) {
        self.front_end.counts.count(command::COMMANDS.len(), 0, 1);
        if self.state.replies.are_silent() {
            return;
        }
        let protocol = self.state.protocol;
        let mut reply = Reply { out, protocol };
        let text = broken.text().as_bytes();
        match broken {
            Broken::NotBulk(byte) => {
                reply.error(&[b"ERR Protocol error: ", text, b"'", &[byte], b"'"]);
            }
            _ => reply.error(&[b"ERR Protocol error: ", text]),
        }
    }
}

/// How many ids there is room for in the answers; at least one.
fn room(out: &[u8], limits: &RespLimits) -> u64 {
    let room = limits.out_len_max.saturating_sub(out.len()) / ID_LEN_MAX;
    u64::try_from(room).unwrap_or(u64::MAX).max(1)
}

impl Replies {
    const fn are_silent(self) -> bool {
        matches!(self, Self::Off | Self::Skip | Self::SkipNext)
    }

    /// For the command after this one.
    const fn after(self) -> Self {
        match self {
            Self::Off => Self::Off,
            Self::SkipNext => Self::Skip,
            Self::On | Self::Skip => Self::On,
        }
    }
}

#[cfg(test)]
mod allocations;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
