//! `Config`: every setting of the server. Their names, defaults, limits and trade-offs are one
//! table (`config/table.rs`), from which flags, environment variables, the file's keys, the help
//! and `docs/config.md` are derived.
//!
//! Left to others: what a setting does. Invariant: a `Config` from [`Sources::load`] is within
//! the limits of the table, and no password in it is ever shown.

mod table;

// Who may take ids, and how many.
mod access;
mod exposure;

// What a setting is, and how its value is read and shown.
mod password;
mod secrets;
mod setting;
mod tls;
mod value;
mod workers;

// Where values come from.
mod environment;
mod file;
mod jdbc;
mod layers;
mod leaf_properties;
mod origin;
mod properties;

#[cfg(test)]
mod document;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use leafid::StepPolicy;
use leafid_stores::{StoreOptions, StoreUrl, UrlError};
use tracing::level_filters::LevelFilter;

pub use access::AccessFile;
pub use layers::{ConfigError, Loaded, Shown, Sources};
pub use origin::Origin;
pub use password::without_password;
pub use setting::Setting;
pub use table::SETTINGS;
pub use tls::TlsConfig;
pub use workers::{WorkerConfig, WorkerIdSource};

use crate::limits::Limits;
use crate::listeners::Addresses;
use crate::service::{QuotaScope, TokenSpec};

/// Open files for what there are few of: listeners, the journal, the log, a registry, files that are
/// read again.
const FILES_RESERVE: u64 = 64;
/// The embedded store's file in its folder.
const EMBEDDED_FILE: &str = "leafid.db";

/// Every setting of the server, parsed and checked. Printing it for debugging shows no password.
///
/// # Example
///
/// ```
/// let config = leafid_server::Config::default();
/// assert_eq!(config.http.to_string(), "127.0.0.1:8080");
/// ```
#[derive(Clone, PartialEq)]
pub struct Config {
    /// Where HTTP listens.
    pub http: SocketAddr,
    /// Where the Redis protocol listens; `None`: nowhere.
    pub resp: Option<SocketAddr>,
    /// Where gRPC listens; `None`: nowhere.
    pub grpc: Option<SocketAddr>,
    /// Names under which HTTP may be called, besides those of this machine; empty: any, unless it
    /// listens on loopback only.
    pub allowed_hosts: Vec<String>,
    /// Serve whoever comes, also from other machines.
    pub insecure: bool,
    /// Whether and how they speak TLS.
    pub tls: TlsConfig,
    /// Connections open at once, through all doors.
    pub connections_max: u32,
    /// Connections of one peer address; 0: three quarters of `connections_max`.
    pub connections_per_address: u32,
    /// Bytes of answers that were not read yet, over all connections.
    pub unread_max: u64,
    /// The same of one connection.
    pub connection_unread_max: u64,
    /// Where the embedded store keeps its file.
    pub data_dir: PathBuf,
    /// Store URLs, tried in order, with their passwords; empty: SQLite in `data_dir`.
    pub store: Vec<String>,
    /// Start although the store's settings could lose acknowledged reservations.
    pub allow_weak_store: bool,
    /// Connections to the store.
    pub store_connections: u32,
    /// Time-out of a connection to the store.
    pub store_connect_timeout: Duration,
    /// Time-out of a statement.
    pub store_statement_timeout: Duration,
    /// How often the store is asked whether reservations go through.
    pub store_probe_interval: Duration,
    /// Whether segment ids are served (Leaf's `leaf.segment.enable`).
    pub segment: bool,
    /// Whether a tag is created on first use; `None`: with the embedded store only.
    pub create_tags: Option<bool>,
    /// How many tags a minute are created on first use.
    pub create_tags_per_minute: u32,
    /// The step of tags created without one.
    pub step: u32,
    /// The policy of tags that name none.
    pub policy: StepPolicy,
    /// How long a request waits for a segment under way.
    pub wait_max: Duration,
    /// How often the rows of tags in use are read again.
    pub refresh_interval: Duration,
    /// How many ids are left out when the store of a tag went back; `None`: worked out.
    pub regression_margin: Option<u64>,
    /// How many tags may be in use at once.
    pub tags_max: usize,
    /// Whether snowflake ids are served (Leaf's `leaf.snowflake.enable`).
    pub snowflake: bool,
    /// How they are made, and where the worker id comes from.
    pub workers: WorkerConfig,
    /// Threads that serve requests; 0: one per core.
    pub threads: usize,
    /// The file of tokens and quotas; what it says is read by [`AccessFile::read`].
    pub access_file: Option<PathBuf>,
    /// Who may take ids; empty: everybody.
    pub tokens: Vec<TokenSpec>,
    /// Quotas in force from the start, in ids a second, besides those of the tokens.
    pub quotas: Vec<(QuotaScope, u64)>,
    /// How long requests are still served after SIGTERM, without being ready.
    pub shutdown_delay: Duration,
    /// How long requests in flight may take after that.
    pub shutdown_grace: Duration,
    /// How much is logged.
    pub log: LevelFilter,
    /// In which form.
    pub log_format: LogFormat,
}

/// How log lines look.
///
/// # Example
///
/// ```
/// assert_eq!(leafid_server::Config::default().log_format, leafid_server::LogFormat::Text);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// A line of plain text, for people.
    Text,
    /// A JSON object on a line, for programs.
    Json,
}

impl Config {
    /// Whether ids come from the embedded store, because no store is named.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        self.store.is_empty()
    }

    /// Whether a tag is created on first use: where nobody says, with SQLite only. On a shared
    /// database a typing error would make a tag for everybody.
    #[must_use]
    pub fn creates_tags(&self) -> bool {
        let is_local = || self.store.iter().all(|url| url.starts_with("sqlite:"));
        self.create_tags.unwrap_or_else(is_local)
    }

    /// How many threads serve connections: one for each core this process may use, if nobody
    /// says.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Where the store is: what `store` says, else `leafid.db` in `data_dir`.
    ///
    /// # Errors
    ///
    /// When `store` holds no URL of a store; [`Sources::load`] lets no such settings pass.
    pub fn store_url(&self) -> Result<StoreUrl, UrlError> {
        if self.is_embedded() {
            return Ok(StoreUrl::sqlite(self.data_dir.join(EMBEDDED_FILE)));
        }
        self.store.join(",").parse()
    }

    /// The bounds of the server, as far as settings have them.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            connections_max: self.connections_max,
            connections_per_address: self.connections_per_address,
            unread_max: usize::try_from(self.unread_max).unwrap_or(usize::MAX),
            connection_unread_max: usize::try_from(self.connection_unread_max)
                .unwrap_or(usize::MAX),
            ..Limits::default()
        }
    }

    /// How many connections a process may have that may have so many files open: fewer than
    /// `connections_max`, where stores, journal and log would be left without any.
    #[must_use]
    pub fn connections_within(&self, open_files: u64) -> u32 {
        let operators = u64::from(Limits::default().operator_connections_max);
        // A connection to SQLite is three files; a thread that serves connections has three.
        let stores = 3 * u64::from(self.store_connections);
        let threads = 3 * u64::try_from(self.thread_count()).unwrap_or(u64::MAX);
        let reserve = FILES_RESERVE + operators + stores + threads;
        let left = open_files.saturating_sub(reserve).max(open_files / 4);
        let left = u32::try_from(left).unwrap_or(u32::MAX).max(1);
        self.connections_max.min(left)
    }

    /// Where the doors listen.
    #[must_use]
    pub const fn addresses(&self) -> Addresses {
        Addresses {
            http: self.http,
            resp: self.resp,
            grpc: self.grpc,
        }
    }

    /// The bounds of the store.
    #[must_use]
    pub fn store_options(&self) -> StoreOptions {
        StoreOptions {
            connections_max: usize::try_from(self.store_connections).unwrap_or(usize::MAX),
            connect_timeout: self.store_connect_timeout,
            statement_timeout: self.store_statement_timeout,
            allow_weak: self.allow_weak_store,
            ..StoreOptions::default()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            http: SocketAddr::from(([127, 0, 0, 1], 8080)),
            resp: Some(SocketAddr::from(([127, 0, 0, 1], 6380))),
            grpc: Some(SocketAddr::from(([127, 0, 0, 1], 50051))),
            allowed_hosts: Vec::new(),
            insecure: false,
            tls: TlsConfig::default(),
            connections_max: Limits::default().connections_max,
            connections_per_address: 0,
            unread_max: Limits::default().unread_max as u64,
            connection_unread_max: Limits::default().connection_unread_max as u64,
            data_dir: PathBuf::from("leafid-data"),
            store: Vec::new(),
            allow_weak_store: false,
            store_connections: 8,
            store_connect_timeout: Duration::from_secs(10),
            store_statement_timeout: Duration::from_secs(15),
            store_probe_interval: Duration::from_secs(2),
            segment: true,
            create_tags: None,
            create_tags_per_minute: 600,
            step: leafid::store::TagSettings::STEP_DEFAULT,
            policy: StepPolicy::default(),
            wait_max: Duration::from_secs(1),
            refresh_interval: Duration::from_secs(60),
            regression_margin: None,
            tags_max: 1_000_000,
            snowflake: true,
            workers: WorkerConfig::default(),
            threads: 0,
            access_file: None,
            tokens: Vec::new(),
            quotas: Vec::new(),
            shutdown_delay: Duration::ZERO,
            shutdown_grace: Duration::from_secs(10),
            log: LevelFilter::INFO,
            log_format: LogFormat::Text,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = SETTINGS.iter().map(|row| (row.key, row.shown(self)));
        f.debug_map().entries(rows).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that whatever the limit on open files is, some are left for the store.
    #[test]
    fn connections_leave_open_files_for_the_store() {
        let config = Config {
            threads: 2,
            ..Config::default()
        };
        for (open_files, connections) in [
            (1_048_576, 50_000),
            (50_158, 50_000),
            (50_157, 49_999),
            (1024, 866),
            (100, 25),
            (1, 1),
        ] {
            let within = config.connections_within(open_files);
            assert_eq!(within, connections, "{open_files}");
        }
    }

    /// Guards the promise that no password is ever printed.
    #[test]
    fn debug_output_shows_no_password() {
        let config = Config {
            store: vec!["mysql://leaf:hunter2@db:3306/leaf".to_owned()],
            workers: WorkerConfig {
                registry: vec!["postgres://leaf:hunter2@db/leaf".to_owned()],
                ..WorkerConfig::default()
            },
            ..Config::default()
        };
        let text = format!("{config:?}");
        assert!(text.contains("mysql://leaf:***@db:3306/leaf"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
