//! `Command`: a row of the table of commands.

use super::turn::{Outcome, Turn};
use crate::frontends::resp::args::Args;

/// One command, or one word of a command of two words.
#[derive(Debug)]
pub(in crate::frontends::resp) struct Command {
    /// In lower case; for a second word with the first before it, as in `client|id`.
    pub(in crate::frontends::resp) name: &'static str,
    /// The number of arguments, the name included; if negative, the minimum.
    pub(in crate::frontends::resp) arity: i32,
    pub(in crate::frontends::resp) kind: Kind,
    pub(in crate::frontends::resp) group: Group,
    /// The arguments, for people.
    pub(in crate::frontends::resp) usage: &'static str,
    /// The summary, for people.
    pub(in crate::frontends::resp) summary: &'static str,
    pub(in crate::frontends::resp) run: fn(&mut Turn<'_>, Args<'_>) -> Outcome,
    /// The second words.
    pub(in crate::frontends::resp) words: &'static [Command],
}

/// How the session treats a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::frontends::resp) enum Kind {
    /// Its first argument is a tag, and it takes ids.
    Taking,
    /// Its first argument is a tag, and it takes no ids.
    Asking,
    Plain,
    /// Allowed before AUTH.
    BeforeAuth,
    /// Executed between MULTI and EXEC, not queued.
    InTransaction,
    /// Both.
    Always,
}

/// Groups of commands, with the names of Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::frontends::resp) enum Group {
    Ids,
    Connection,
    Server,
    Transactions,
}

impl Command {
    /// Whether the number of arguments is right.
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

    /// Whether a repeated command takes the next id, so that several need only one reservation.
    #[inline]
    pub(in crate::frontends::resp) fn can_repeat(&self, args: Args<'_>) -> bool {
        self.kind == Kind::Taking && takes_one(args)
    }
}

/// Whether a command that takes ids takes exactly one, so that repeated commands can be combined.
#[inline]
fn takes_one(args: Args<'_>) -> bool {
    match args.len() {
        2 => !args.is(0, "GET"),
        3 => args.is(0, "INCRBY") && args.get(2) == b"1",
        _ => false,
    }
}
