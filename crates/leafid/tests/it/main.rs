//! The library from outside, as a program uses it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first surprise"
)]

mod availability;
mod claims;
mod clocks;
mod cluster;
mod conformance;
mod crowd;
mod elsewhere;
mod forgotten;
mod kinds;
mod lease_conformance;
mod odd_registry;
mod preferred;
mod races;
mod registry;
mod regression;
mod stress;
mod supply;
mod tags;
mod worker_races;
mod world;
