//! MULTI, EXEC, DISCARD: several commands executed together. Ids are unique with or without them;
//! clients send them because their pipelines do.

use super::{Outcome, Turn};
use crate::frontends::resp::args::Args;
use crate::frontends::resp::state::Mode;

pub(super) fn multi(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    if turn.state.is_queuing() {
        return turn.fail("ERR MULTI calls can not be nested");
    }
    turn.state.mode = Mode::Queuing(Box::default());
    turn.ok()
}

pub(super) fn discard(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    match turn.state.take_queue() {
        Some(_) => turn.ok(),
        None => turn.fail("ERR DISCARD without MULTI"),
    }
}

/// Announces the number of answers; the session then executes the commands.
pub(super) fn exec(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    let Some(transaction) = turn.state.take_queue() else {
        return turn.fail("ERR EXEC without MULTI");
    };
    if transaction.is_broken() {
        return turn.fail("EXECABORT Transaction discarded because of previous errors.");
    }
    let count = usize::try_from(transaction.len()).unwrap_or(usize::MAX);
    turn.reply.array(count);
    if count > 0 {
        turn.state.mode = Mode::Executing(transaction);
    }
    Outcome::Done
}

pub(super) fn unwatch(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    turn.ok()
}
