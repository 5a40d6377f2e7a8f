//! The real binary, as people and scripts use it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "everything here serves a test"
)]

mod callers;
mod outage;
mod process;

mod access;
mod audit;
mod backup;
mod baidu;
mod clients;
mod clock_faults;
mod commands;
mod conformance;
mod decode;
mod docs;
mod forgotten;
mod full_disk;
mod give_back;
mod invented;
mod journals;
mod kinds;
mod leaf;
mod log_outlet;
mod names;
mod one_database;
mod open_files;
mod pages;
mod registries;
mod registry_outage;
mod renamed;
mod rolling;
mod serving;
mod settings;
mod snowflake;
mod store;
mod store_files;
mod store_went_back;
mod tls;
mod unread;
mod worker;
mod worker_faults;
