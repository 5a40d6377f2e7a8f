//! The real binary, as people and scripts use it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "everything here serves a test"
)]

mod process;

mod commands;
mod decode;
mod leaf;
mod serving;
mod settings;
mod snowflake;
mod store;
mod worker;
