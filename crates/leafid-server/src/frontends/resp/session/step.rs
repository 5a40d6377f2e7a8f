//! How a command ends, as the session sees it.

use crate::config::RespLimits;
use crate::frontends::resp::command::Wanted;
use crate::frontends::resp::reply::ID_LEN_MAX;

/// What is waited for.
#[derive(Debug)]
pub(in crate::frontends::resp) struct Pending {
    /// Which command wants it.
    pub(super) at: usize,
    pub(super) wanted: Wanted,
}

/// How a command ended, as the session sees it.
pub(super) enum Step {
    Next,
    Wait(Pending),
    Close,
    /// Ends without an answer, not even to what came before in the same read.
    Abandon,
}

/// How many ids there is room for in the answers; at least one.
pub(super) fn room(out: &[u8], limits: &RespLimits) -> u64 {
    let room = limits.out_len_max.saturating_sub(out.len()) / ID_LEN_MAX;
    u64::try_from(room).unwrap_or(u64::MAX).max(1)
}
