//! The atomics of the issuing path: from `std`, or from loom while its model runs.
//!
//! Only `segment.rs` needs these. A build with `--cfg leafid_loom` swaps them, so that loom can
//! try every interleaving and every value a weak memory model allows.

#[cfg(leafid_loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(not(leafid_loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
