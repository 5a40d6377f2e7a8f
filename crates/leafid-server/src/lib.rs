//! The Leafid server: one service behind several doors. Today there is one, HTTP: Leaf's own API
//! beside a modern one, with health and metrics.
//!
//! Everything comes from outside: the store, the listeners, the shutdown. See [`Server`].

mod alarms;
mod config;
mod error;
mod health;
mod http;
mod limits;
mod metrics;
mod server;
mod service;
mod shutdown;
mod suggest;
mod supply;
mod wall;
mod watch;

pub use config::{
    Config, ConfigError, Loaded, LogFormat, Origin, SETTINGS, Setting, Shown, Sources,
    without_password,
};
pub use error::ServeError;
pub use health::{Health, Readiness};
pub use http::openapi;
pub use limits::Limits;
pub use server::{Listeners, Server, warm_up};
pub use service::{Service, ServiceError, SnowflakeParts, TagPage, TagView};
pub use shutdown::shutdown_signal;
