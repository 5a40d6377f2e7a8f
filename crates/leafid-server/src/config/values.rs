//! `Config`: every setting of the server, parsed and checked, as plain data.
//!
//! Left to others: names, limits and texts (`table.rs`), and where values come from (`sources.rs`).

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use leafid::StepPolicy;
use tracing::level_filters::LevelFilter;

use super::access::{QuotaScope, TokenSpec};
use super::limits::Limits;
use super::tls::TlsConfig;
use super::traces::TraceConfig;
use super::workers::WorkerConfig;

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
    /// Where the Redis protocol listens; `None` if it is off.
    pub resp: Option<SocketAddr>,
    /// Where gRPC listens; `None` if it is off.
    pub grpc: Option<SocketAddr>,
    /// Host names under which HTTP may be called, besides those of this machine; if empty, any,
    /// unless HTTP listens on loopback only.
    pub allowed_hosts: Vec<String>,
    /// Whether to serve other machines without authentication.
    pub insecure: bool,
    /// The files of TLS.
    pub tls: TlsConfig,
    /// The maximum number of open connections, over all front ends.
    pub connections_max: u32,
    /// The maximum from one client address; 0 means three quarters of `connections_max`.
    pub connections_per_address: u32,
    /// The maximum bytes of answers that clients have not read yet, over all connections.
    pub unread_max: u64,
    /// The same for one connection.
    pub connection_unread_max: u64,
    /// The directory of the embedded store and of the journal.
    pub data_dir: PathBuf,
    /// Store URLs with their passwords, tried in order; if empty, SQLite in `data_dir`.
    pub store: Vec<String>,
    /// Whether to use a store that can lose acknowledged reservations.
    pub allow_weak_store: bool,
    /// The maximum number of connections to the store.
    pub store_connections: u32,
    /// The time-out of connecting to the store.
    pub store_connect_timeout: Duration,
    /// The time-out of a call to the store, connecting included.
    pub store_statement_timeout: Duration,
    /// How often the store is probed.
    pub store_probe_interval: Duration,
    /// Whether segment ids are served (Leaf's `leaf.segment.enable`).
    pub segment: bool,
    /// Whether a tag is created on first use; if `None`, with SQLite only.
    pub create_tags: Option<bool>,
    /// How many tags per minute are created on first use.
    pub create_tags_per_minute: u32,
    /// How long the tags of the periods of calendar counters are kept.
    pub periods_kept: Duration,
    /// The step of tags that are created without one.
    pub step: u32,
    /// The step policy of tags without one.
    pub policy: StepPolicy,
    /// How long a request waits for a segment that is being reserved.
    pub wait_max: Duration,
    /// How often the rows of tags in use are read again.
    pub refresh_interval: Duration,
    /// How many ids are skipped when the store of a tag went back in time; if `None`, computed.
    pub regression_margin: Option<u64>,
    /// How many tags may be in use at once.
    pub tags_max: usize,
    /// Whether snowflake ids are served (Leaf's `leaf.snowflake.enable`).
    pub snowflake: bool,
    /// The layout of snowflake ids, and where the worker id comes from.
    pub workers: WorkerConfig,
    /// Threads that serve requests; 0 means one per core.
    pub threads: usize,
    /// The file of tokens and quotas, which [`AccessFile::read`](super::AccessFile::read)
    /// reads.
    pub access_file: Option<PathBuf>,
    /// The file of the keys of opaque ids.
    pub format_keys: Option<PathBuf>,
    /// Those keys themselves, in place of a file: a line for each, or `;` between them.
    pub format_key_lines: Option<String>,
    /// The tokens that callers need; if empty, none is needed.
    pub tokens: Vec<TokenSpec>,
    /// Quotas in ids per second at start, besides those of the tokens.
    pub quotas: Vec<(QuotaScope, u64)>,
    /// How long the server keeps serving after SIGTERM while it reports that it is not ready.
    pub shutdown_delay: Duration,
    /// How long requests in flight may take after that.
    pub shutdown_grace: Duration,
    /// Where traces are sent.
    pub traces: TraceConfig,
    /// The most detailed level that is logged.
    pub log: LevelFilter,
    /// The format of log lines.
    pub log_format: LogFormat,
}

/// The format of log lines.
///
/// # Example
///
/// ```
/// assert_eq!(leafid_server::Config::default().log_format, leafid_server::LogFormat::Text);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// A line of text, for people.
    Text,
    /// A JSON object per line, for programs.
    Json,
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
            periods_kept: Duration::from_secs(90 * 86_400),
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
            format_keys: None,
            format_key_lines: None,
            tokens: Vec::new(),
            quotas: Vec::new(),
            shutdown_delay: Duration::ZERO,
            shutdown_grace: Duration::from_secs(10),
            traces: TraceConfig::default(),
            log: LevelFilter::INFO,
            log_format: LogFormat::Text,
        }
    }
}
