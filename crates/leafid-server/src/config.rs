//! The settings of the server: plain data that knows nothing of the parts it sets.
//!
//! Names, defaults, limits and trade-offs are one table (`config/table.rs`), from which flags,
//! environment variables, the file's keys, the help and `docs/config.md` are derived. Left to
//! others: what a setting does. Invariant: a [`Config`] from [`Sources::load`] is within the limits
//! of the table, and no password in it is ever shown.

// The values.
mod access;
mod addresses;
mod derived;
mod format_keys;
mod limits;
mod tls;
mod traces;
mod values;
mod workers;

// What a setting is, and how its value is read and shown.
mod parse;
mod password;
mod setting;
mod suggest;
mod table;

// Where values come from.
mod environment;
mod error;
mod file;
mod jdbc;
mod layers;
mod leaf_properties;
mod origin;
mod otel_variables;
mod percent;
mod properties;
mod sources;

// What is made of all of them.
mod checks;
mod exposure;
mod loaded;
mod secrets;

#[cfg(test)]
mod document;
#[cfg(test)]
mod fuzz;

pub(crate) use access::SecretHash;
pub use access::{AccessFile, QuotaScope, TagPattern, TokenScope, TokenSpec};
pub use addresses::Addresses;
pub use error::ConfigError;
pub use format_keys::FormatKeys;
pub use limits::{Limits, RespLimits};
pub use loaded::{Loaded, Shown};
pub use origin::Origin;
pub use password::without_password;
pub use percent::percent_encoded;
pub use setting::Setting;
pub use sources::Sources;
pub(crate) use suggest::nearest;
pub use table::SETTINGS;
pub use tls::TlsConfig;
pub use traces::TraceConfig;
pub use values::{Config, LogFormat};
pub use workers::{WorkerConfig, WorkerIdSource};
