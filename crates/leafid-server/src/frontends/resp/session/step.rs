//! The result of a command, as the session sees it.

use crate::config::RespLimits;
use crate::frontends::resp::command::Wanted;
use crate::frontends::resp::reply::ID_LEN_MAX;

/// What the command waits for.
#[derive(Debug)]
pub(in crate::frontends::resp) struct Pending {
    /// The command that waits for it.
    pub(super) at: usize,
    pub(super) wanted: Wanted,
}

/// The result of a command, as the session sees it.
pub(super) enum Step {
    Next,
    Wait(Pending),
    Close,
    /// Ends without an answer, not even to earlier commands of the same read.
    Abandon,
}

/// How many ids the answers have room for; at least one.
pub(super) fn room(out: &[u8], limits: &RespLimits) -> u64 {
    let room = limits.out_len_max.saturating_sub(out.len()) / ID_LEN_MAX;
    u64::try_from(room).unwrap_or(u64::MAX).max(1)
}
