//! The Leafid server: one service behind three doors: HTTP, with Leaf's own API beside a modern one,
//! health and metrics; the Redis protocol; and gRPC. Each of them with TLS, if that is set up.
//!
//! Everything comes from outside: the store, the listeners, the shutdown. See [`Server`].

mod alarms;
mod bell;
mod config;
mod error;
mod frames;
mod grpc;
mod health;
mod http;
mod lanes;
mod linger;
mod listen;
mod listeners;
mod log_limit;
mod metrics;
mod regressions;
mod reload;
mod resp;
mod server;
mod service;
mod sharded;
mod shown;
mod shutdown;
mod supply;
mod tls;
mod unread;
mod wall;
mod watch;
mod workers;

pub use config::{
    AccessFile, Addresses, Config, ConfigError, Limits, Loaded, LogFormat, Origin, QuotaScope,
    RespLimits, SETTINGS, Setting, Shown, Sources, TagPattern, TlsConfig, TokenScope, TokenSpec,
    WorkerConfig, WorkerIdSource, without_password,
};
pub use error::ServeError;
pub use health::{Health, Readiness};
pub use http::openapi;
pub use lanes::LaneRuntime;
pub use listeners::Listeners;
pub use reload::Hangups;
pub use server::{Server, Stores, warm_up};
pub use service::{
    AuditRecord, Caller, ClockView, Code, Issued, Service, ServiceError, SnowflakeParts, TagPage,
    TagView, WorkerView,
};
pub use shutdown::shutdown_signal;
pub use tls::Tls;
pub use workers::Workers;
