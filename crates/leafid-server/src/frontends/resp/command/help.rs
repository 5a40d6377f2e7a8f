//! HELP of a two-word command, made from the table.

use super::spec::Command;
use super::turn::{Outcome, Turn};
use crate::frontends::resp::args::Args;

pub(super) fn help(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let is_named = |command: &&Command| args.is(0, command.name);
    let Some(command) = turn.context.commands.iter().find(is_named) else {
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
