//! The Rust examples of README.md and docs/, as doc tests: they compile; the tests of
//! `examples/library.rs` run the one of the README.

#[doc = include_str!("../../../README.md")]
pub struct Readme;

#[doc = include_str!("../../../docs/snowflake.md")]
pub struct Snowflake;

#[doc = include_str!("../../../docs/library.md")]
pub struct Library;
