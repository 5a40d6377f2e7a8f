//! Whether a command takes a single id.

use crate::frontends::resp::args::Args;

/// Whether a command that takes ids takes exactly one, so that repeated commands can be combined.
#[inline]
pub(super) fn takes_one(args: Args<'_>) -> bool {
    match args.len() {
        2 => !args.is(0, "GET"),
        3 => args.is(0, "INCRBY") && args.get(2) == b"1",
        _ => false,
    }
}
