//! `Config`: every setting of the server, its default, its limit and what it trades off.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use leafid::StepPolicy;

/// Every setting of the server, parsed and checked.
///
/// # Example
///
/// ```
/// let config = leafid_server::Config::default();
/// assert_eq!(config.http.to_string(), "127.0.0.1:8080");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where HTTP listens.
    pub http: SocketAddr,
    /// Where the embedded store keeps its file.
    pub data_dir: PathBuf,
    /// Store URLs, tried in order; empty: SQLite in `data_dir`.
    pub store: Vec<String>,
    /// Start although the store's settings could lose acknowledged reservations.
    pub allow_weak_store: bool,
    /// Whether a tag is created on first use; `None`: with the embedded store only.
    pub create_tags: Option<bool>,
    /// The step of tags created without one.
    pub step: u32,
    /// The policy of tags that name none.
    pub policy: StepPolicy,
    /// How long a request waits for a segment under way.
    pub wait_max: Duration,
    /// How often the rows of tags in use are read again.
    pub refresh_interval: Duration,
    /// Connections to the store.
    pub store_connections: u32,
    /// Time-out of a connection to the store.
    pub store_connect_timeout: Duration,
    /// Time-out of a statement.
    pub store_statement_timeout: Duration,
    /// How long requests in flight may take after SIGTERM.
    pub shutdown_grace: Duration,
    /// Whether segment ids are served (Leaf's `leaf.segment.enable`).
    pub segment: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            http: SocketAddr::from(([127, 0, 0, 1], 8080)),
            data_dir: PathBuf::from("leafid-data"),
            store: Vec::new(),
            allow_weak_store: false,
            create_tags: None,
            step: leafid::store::TagSettings::STEP_DEFAULT,
            policy: StepPolicy::default(),
            wait_max: Duration::from_secs(1),
            refresh_interval: Duration::from_secs(60),
            store_connections: 8,
            store_connect_timeout: Duration::from_secs(3),
            store_statement_timeout: Duration::from_secs(5),
            shutdown_grace: Duration::from_secs(10),
            segment: true,
        }
    }
}
