//! `Command`: a row of the table of commands.

use super::one_id::takes_one;
use super::turn::{Outcome, Turn};
use crate::frontends::resp::args::Args;

/// One command, or one word of a command of two words.
#[derive(Debug)]
pub(in crate::frontends::resp) struct Command {
    /// In lower case; of the second word with the first in front, as in `client|id`.
    pub(in crate::frontends::resp) name: &'static str,
    /// How many words, the name among them; if negative, at least as many.
    pub(in crate::frontends::resp) arity: i32,
    pub(in crate::frontends::resp) kind: Kind,
    pub(in crate::frontends::resp) group: Group,
    /// What follows the name, for people.
    pub(in crate::frontends::resp) usage: &'static str,
    /// What it does, for people.
    pub(in crate::frontends::resp) summary: &'static str,
    pub(in crate::frontends::resp) run: fn(&mut Turn<'_>, Args<'_>) -> Outcome,
    /// The second words.
    pub(in crate::frontends::resp) words: &'static [Command],
}

/// What the session has to know of a command before it runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::frontends::resp) enum Kind {
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
pub(in crate::frontends::resp) enum Group {
    Ids,
    Connection,
    Server,
    Transactions,
}

impl Command {
    /// Whether so many words are right.
    pub(in crate::frontends::resp) fn takes(&self, words: usize) -> bool {
        let words = i32::try_from(words).unwrap_or(i32::MAX);
        words == self.arity || (self.arity < 0 && words >= -self.arity)
    }

    /// The last word of the name.
    pub(in crate::frontends::resp) fn word(&self) -> &'static str {
        self.name.rsplit('|').next().unwrap_or(self.name)
    }

    pub(in crate::frontends::resp) fn has_tag(&self) -> bool {
        matches!(self.kind, Kind::Taking | Kind::Asking)
    }

    pub(in crate::frontends::resp) fn is_before_auth(&self) -> bool {
        matches!(self.kind, Kind::BeforeAuth | Kind::Always)
    }

    pub(in crate::frontends::resp) fn is_in_transaction(&self) -> bool {
        matches!(self.kind, Kind::InTransaction | Kind::Always)
    }

    /// Whether the same command sent again takes the next id, so that several are one reservation.
    #[inline]
    pub(in crate::frontends::resp) fn can_repeat(&self, args: Args<'_>) -> bool {
        self.kind == Kind::Taking && takes_one(args)
    }
}
