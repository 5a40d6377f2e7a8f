//! The real binary, as people and scripts use it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "everything here serves a test"
)]

mod outage;
mod server_process;
mod snowflake_load;

mod access;
mod audit;
mod backup;
mod baidu;
mod calendar_counters;
mod clients;
mod clock_faults;
mod commands;
mod conformance;
mod console;
mod container;
mod debian_package;
mod decode;
mod deployment;
mod docs;
mod families;
mod full_disk;
mod health;
mod journals;
mod leaf;
mod log_outlet;
mod lookalike_names;
mod monitoring;
mod one_database;
mod opaque_ids;
mod open_files;
mod registries;
mod registry_outage;
mod registry_regression;
mod releases;
mod restarts;
mod rolling_restart;
mod settings;
mod snowflake;
mod snowflake_tags;
mod socket_activation;
mod store;
mod store_files;
mod store_went_back;
mod swapped_tables;
mod systemd;
mod tls;
mod traces;
mod units;
mod unknown_tags;
mod unread;
mod web_pages;
mod worker;
mod worker_faults;
mod worker_id_release;
