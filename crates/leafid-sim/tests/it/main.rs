//! The simulations from outside, as `cargo xtask sim` and `cargo test` use them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first surprise"
)]

mod segment;
mod worker;
