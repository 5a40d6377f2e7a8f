//! `COMMANDS`: every command, in one table. COMMAND, the check of the argument count, and what is
//! refused or unknown all follow from it.

mod client;
mod config;
mod decode;
mod greeting;
mod help;
mod ids;
mod refused;
mod server;
mod spec;
mod table;
mod transaction;
mod turn;

use super::args::Args;

pub(super) use ids::wait;
pub(super) use refused::reason;
pub(super) use spec::{Command, Group, Kind};
pub(super) use table::COMMANDS;
pub(super) use turn::{Ends, Outcome, Turn, Wanted};

/// The result of looking up a command's name.
pub(super) enum Found {
    Command(&'static Command),
    Unknown,
    /// The first word is known, the second is not.
    UnknownWord(&'static Command),
}

/// The number of commands.
pub(crate) const COMMANDS_LEN: usize = COMMANDS.len();

/// The name in the metrics of the command at an index of the table.
pub(crate) fn command_name(at: usize) -> &'static str {
    COMMANDS.get(at).map_or("(other)", |command| command.name)
}

/// Finds a command, and its index in the table.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that names in the table are in lower case and unique, that two-word names begin with
    /// their first word, and that the arity fits.
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
