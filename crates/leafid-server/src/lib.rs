//! The Leafid server: one service behind three front ends: HTTP, with Leaf's own API beside a
//! modern one, health and metrics; the Redis protocol; and gRPC. Each of them can use TLS.
//!
//! Everything is passed in: the store, the listeners, the shutdown. See [`Server`].

// Only tests describe the API and compare it with the file that the server embeds. Elsewhere the
// macros of utoipa generate nothing, and utoipa is not compiled.
#[cfg(not(test))]
extern crate leafid_no_openapi as utoipa;

pub mod api;
mod config;
mod error;
mod excerpt;
mod frontends;
mod log_rate_limit;
mod named;
mod net;
mod ops;
mod server;
mod service;
mod sharded;
mod tag_id;
mod trace;
mod wall_clock;
mod worker_ids;

pub use config::{
    AccessFile, Addresses, Config, ConfigError, FormatKeys, Limits, Loaded, LogFormat, Origin,
    QuotaScope, RespLimits, SETTINGS, Setting, Shown, Sources, TagPattern, TlsConfig, TokenScope,
    TokenSpec, TraceConfig, WorkerConfig, WorkerIdSource, percent_encoded, without_password,
};
pub use error::{ServeError, with_causes};
pub use frontends::http::openapi;
pub use net::listeners::{Listeners, PassedSockets};
pub use net::progress::Progress;
pub use net::runtimes::CoreRuntime;
pub use net::shutdown::shutdown_signal;
pub use net::tls::Tls;
pub use ops::reload::{Hangups, Reloader};
pub use server::{Server, Stores, warm_up};
pub use service::health::{Health, Readiness};
pub use service::{
    AuditRecord, Caller, ClockView, Code, Issued, IssuedId, Service, ServiceError, ShardChoice,
    SnowflakeParts, TagPage, TagView, Texts, TwoShards, WorkerView,
};
pub use tag_id::TagId;
pub use worker_ids::{WorkerNodeRow, Workers};
