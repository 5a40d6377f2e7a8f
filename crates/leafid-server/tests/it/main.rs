//! The server from outside: a real one on a free port, spoken to over TCP.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first surprise"
)]

mod access;
mod audit;
mod decode;
mod doors;
mod floods;
mod grpc;
mod http2;
mod ids;
mod kinds;
mod leaf;
mod openapi;
mod operation;
mod places;
mod resp;
mod resp_clients;
mod resp_table;
mod site;
mod tags;
mod tls;
mod weak_registry;
mod wire;
