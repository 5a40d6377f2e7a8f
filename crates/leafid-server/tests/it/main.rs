//! The server from outside: a real one on a free port, spoken to over TCP.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first surprise"
)]

mod access;
mod admin_slots;
mod audit;
mod calendar_counters;
mod console;
mod decode;
mod decoded_alike;
mod decoded_by_layout;
mod families_by_lease;
mod floods;
mod format_warnings;
mod formats;
mod grpc;
mod http1;
mod http2;
mod ids;
mod json_bodies;
mod leaf;

mod openapi;
mod operation;
mod protocols_agree;
mod resp;
mod resp_clients;
mod resp_table;
mod shards;
mod snowflake_tags;
mod tags;
mod test_server;
mod tls;
mod weak_registry;
