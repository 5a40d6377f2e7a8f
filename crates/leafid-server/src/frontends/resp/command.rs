//! `COMMANDS`: every command there is, in one table. What COMMAND tells, which number of arguments
//! is right, and what is refused or unknown all follow from it.

mod client;
mod config;
mod greeting;
mod ids;
mod refused;
mod server;
mod table;
mod transaction;

use super::RespFrontEnd;
use super::args::Args;
use super::error;
use super::reply::Reply;
use super::session::State;
use crate::service::ServiceError;

pub(super) use ids::{Wanted, wait};
pub(super) use refused::reason;
pub(super) use table::COMMANDS;

/// One command, or one word of a command of two words.
#[derive(Debug)]
pub(super) struct Command {
    /// In lower case; of the second word with the first in front, as in `client|id`.
    pub(super) name: &'static str,
    /// How many words, the name among them; if negative, at least as many.
    pub(super) arity: i32,
    pub(super) kind: Kind,
    pub(super) group: Group,
    /// What follows the name, for people.
    pub(super) usage: &'static str,
    /// What it does, for people.
    pub(super) summary: &'static str,
    pub(super) run: fn(&mut Turn<'_>, Args<'_>) -> Outcome,
    /// The second words.
    pub(super) words: &'static [Command],
}

/// What the session has to know of a command before it runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its first argument is a tag, of which it takes ids.
    Taking,
    /// Its first argument is a tag, of which it takes nothing.
    Asking,
    Plain,
    /// Goes through before AUTH.
    BeforeAuth,
    /// Is carried out between MULTI and EXEC, not queued.
    InTransaction,
    /// Both.
    Always,
}

/// Commands that belong together, by the words of Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Ids,
    Connection,
    Server,
    Transactions,
}

/// A command that runs: what it may look at, and where it writes its answer.
pub(super) struct Turn<'a> {
    pub(super) front_end: &'a RespFrontEnd,
    pub(super) state: &'a mut State,
    pub(super) reply: Reply<'a>,
    /// How often the same command was sent in a row, and is to be answered.
    pub(super) times: u64,
    /// How many of those were answered with an error.
    pub(super) failed: u64,
}

/// What became of a command.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It was answered.
    Done,
    /// The rest of the answer has to be waited for.
    Wait(Wanted),
    /// It was answered, and the connection ends.
    Close,
}

/// What a command's name stands for.
pub(super) enum Found {
    Command(&'static Command),
    Unknown,
    /// The first word is known, the second is not.
    UnknownWord(&'static Command),
}

/// How many commands there are.
pub(crate) const COMMANDS_LEN: usize = COMMANDS.len();

/// What the command at a place of the table is called in the metrics.
pub(crate) fn command_name(at: usize) -> &'static str {
    COMMANDS.get(at).map_or("(other)", |command| command.name)
}

/// Finds a command, and where in the table it is.
#[inline]
pub(super) fn find(args: Args<'_>) -> (usize, Found) {
    let name = args.get(0);
    let is_named = |command: &Command| name.eq_ignore_ascii_case(command.name.as_bytes());
    let Some(at) = COMMANDS.iter().position(is_named) else {
        return (COMMANDS.len(), Found::Unknown);
    };
    let command = &COMMANDS[at];
    if command.words.is_empty() || args.len() == 1 {
        return (at, Found::Command(command));
    }
    let word = command.words.iter().find(|word| args.is(1, word.word()));
    (at, word.map_or(Found::UnknownWord(command), Found::Command))
}

impl Command {
    /// Whether so many words are right.
    pub(super) fn takes(&self, words: usize) -> bool {
        let words = i32::try_from(words).unwrap_or(i32::MAX);
        words == self.arity || (self.arity < 0 && words >= -self.arity)
    }

    /// The last word of the name.
    pub(super) fn word(&self) -> &'static str {
        self.name.rsplit('|').next().unwrap_or(self.name)
    }

    pub(super) fn has_tag(&self) -> bool {
        matches!(self.kind, Kind::Taking | Kind::Asking)
    }

    pub(super) fn is_before_auth(&self) -> bool {
        matches!(self.kind, Kind::BeforeAuth | Kind::Always)
    }

    pub(super) fn is_in_transaction(&self) -> bool {
        matches!(self.kind, Kind::InTransaction | Kind::Always)
    }

    /// Whether the same command sent again takes the next id, so that several are one reservation.
    #[inline]
    pub(super) fn can_repeat(&self, args: Args<'_>) -> bool {
        self.kind == Kind::Taking && ids::takes_one(args)
    }
}

impl Turn<'_> {
    /// Answers with an error.
    pub(super) fn fail(&mut self, text: &str) -> Outcome {
        self.reply.error(&[text.as_bytes()]);
        self.failed = self.times;
        Outcome::Done
    }

    /// Answers the last `count` of the commands with an error of the service.
    pub(super) fn fail_of(&mut self, error: &ServiceError, count: u64) -> Outcome {
        let start = self.reply.out.len();
        error::write(&mut self.reply, error);
        self.state.owe(&self.reply.out[start..], count - 1);
        self.failed = count;
        Outcome::Done
    }

    /// What stops the last `count` of the commands, each of which asks for an id. Only the first
    /// of them was asked for.
    fn stopped(&self, error: ServiceError, count: u64) -> (u64, ServiceError) {
        self.front_end
            .service
            .access()
            .count_refused(&error, count - 1);
        (count, error)
    }

    /// Answers each of the commands in a row with the same error.
    fn fail_each(&mut self, text: &str) -> Outcome {
        let start = self.reply.out.len();
        let outcome = self.fail(text);
        self.state.owe(&self.reply.out[start..], self.times - 1);
        outcome
    }

    pub(super) fn syntax_error(&mut self) -> Outcome {
        self.fail("ERR syntax error")
    }

    pub(super) fn not_an_integer(&mut self) -> Outcome {
        self.fail("ERR value is not an integer or out of range")
    }

    pub(super) fn ok(&mut self) -> Outcome {
        self.reply.ok();
        Outcome::Done
    }
}

/// Answers HELP of a command of two words, from the table.
fn help(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let is_named = |command: &&Command| args.is(0, command.name);
    let Some(command) = COMMANDS.iter().find(is_named) else {
        return turn.syntax_error();
    };
    turn.reply.array(1 + 2 * command.words.len());
    let name = command.name.to_ascii_uppercase();
    turn.reply.status(&format!(
        "{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    ));
    for word in command.words {
        let name = word.word().to_ascii_uppercase();
        turn.reply
            .status(format!("{name} {}", word.usage).trim_end());
        turn.reply.status(&format!("    {}", word.summary));
    }
    Outcome::Done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards: names in the table are in lower case and differ, and two-word names begin with
    /// their first word; arity fits.
    #[test]
    fn the_table_is_in_order() {
        for (at, command) in COMMANDS.iter().enumerate() {
            assert_eq!(command.name, command.name.to_ascii_lowercase());
            assert!(command.arity != 0, "{}", command.name);
            assert!(
                COMMANDS[..at]
                    .iter()
                    .all(|other| other.name != command.name)
            );
            for word in command.words {
                let prefix = word.name.strip_suffix(word.word());
                assert_eq!(prefix, Some(format!("{}|", command.name).as_str()));
            }
            assert!(
                reason(command.name.as_bytes()).is_none(),
                "{}",
                command.name
            );
        }
    }
}
