//! The library from outside, as a program uses it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first surprise"
)]

mod availability;
mod claim_conformance;
mod clocks;
mod closing;
mod cluster;
mod errors;
mod evicted_tags;
mod foreign_journal;
mod fuzz;
mod lease_conformance;
mod races;
mod recovery;
mod registry;
mod registry_quirks;
mod registry_regression;
mod shards;
mod snowflake_tags;
mod store_conformance;
mod store_regression;
mod stress;
mod tags;
mod unknown_tags;
mod worker_id_hint;
mod worker_races;
mod world;
