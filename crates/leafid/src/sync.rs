//! The atomics of the issuing path: from `std`, or from loom while its model runs.
//!
//! Only `segment.rs` needs these. A build with `--cfg leafid_loom` swaps them, so that loom can
//! try every interleaving and every value a weak memory model allows.

#[cfg(leafid_loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(not(leafid_loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether the model must run with this operation weakened, as `LEAFID_MUTANT` says.
#[cfg(leafid_loom)]
pub(crate) fn is_weakened(name: &str) -> bool {
    static MUTANT: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    MUTANT
        .get_or_init(|| std::env::var("LEAFID_MUTANT").ok())
        .as_deref()
        == Some(name)
}

/// Nothing is ever weakened outside the model; this is folded away.
#[cfg(not(leafid_loom))]
#[inline(always)]
pub(crate) const fn is_weakened(_name: &str) -> bool {
    false
}
