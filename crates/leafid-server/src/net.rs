//! Connections of any protocol: accepts them, limits their number and memory, does TLS, and closes
//! them. Knows no request and no id.

pub(crate) mod acceptor;
pub(crate) mod connection_counts;
pub(crate) mod connection_limiter;
pub(crate) mod front_end;
pub(crate) mod graceful_close;
mod hpack_table;
pub(crate) mod http2_frames;
pub(crate) mod listeners;
pub(crate) mod poll_on_wake;
pub(crate) mod preface;
pub(crate) mod progress;
pub(crate) mod runtimes;
pub(crate) mod shutdown;
pub(crate) mod socket;
pub(crate) mod tls;
pub(crate) mod unread;
