//! What the console's pages read. These documents serve the pages of the same release, and are no
//! part of the API that others may rely on.

use serde::{Deserialize, Serialize};

use super::{OwnWorker, Tag};

/// The caller of the console, and what the server offers.
#[derive(Debug, Serialize)]
pub(crate) struct Session {
    pub(crate) needs_token: bool,
    /// The name of the caller's token.
    pub(crate) token: Option<String>,
    /// Whether the caller may change things.
    pub(crate) admin: bool,
    pub(crate) server: String,
    pub(crate) version: &'static str,
    pub(crate) segment: bool,
    pub(crate) snowflake: bool,
}

/// A login.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// The secret of a token.
    pub(crate) token: String,
}

/// One server at a glance.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Overview {
    pub(crate) unix_ms: String,
    pub(crate) server: ServerFacts,
    pub(crate) ids_per_second: f64,
    pub(crate) requests_per_second: PerProtocol<f64>,
    pub(crate) errors_per_second: f64,
    pub(crate) connections: PerProtocol<i64>,
    pub(crate) tags_loaded: u64,
    pub(crate) cover: ShortestCover,
    pub(crate) store: Option<StoreFacts>,
    pub(crate) worker: Option<OwnWorker>,
    pub(crate) certificate: Option<CertificateFacts>,
    pub(crate) events: Vec<RecentEvent>,
}

/// What the server is, and whether it is ready.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerFacts {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) uptime_seconds: f64,
    pub(crate) ready: bool,
    pub(crate) phase: String,
    /// The lines of `/readyz?verbose` that speak against it.
    pub(crate) reasons: Vec<String>,
    pub(crate) http: String,
    pub(crate) resp: Option<String>,
    pub(crate) grpc: Option<String>,
}

/// A number for each front end.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct PerProtocol<N> {
    pub(crate) http: N,
    pub(crate) resp: N,
    pub(crate) grpc: N,
}

/// The tag that would run out first without its store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ShortestCover {
    pub(crate) seconds: Option<f64>,
    pub(crate) tag: Option<String>,
    /// How old the figure is: many tags are looked at more rarely.
    pub(crate) age_seconds: f64,
}

/// The store of the tags.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoreFacts {
    /// The scheme of its URL, such as `mysql`.
    pub(crate) kind: String,
    /// Its URL without a password.
    pub(crate) location: String,
    /// `up`, `down` or `unknown`.
    pub(crate) state: String,
    pub(crate) down_seconds: Option<f64>,
    pub(crate) error: Option<String>,
}

/// When the server's certificate ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CertificateFacts {
    pub(crate) not_after: String,
    pub(crate) days_left: f64,
}

/// Something that happened on this server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RecentEvent {
    pub(crate) unix_ms: String,
    /// `error`, `warn` or `info`.
    pub(crate) level: String,
    pub(crate) what: String,
    pub(crate) tag: Option<String>,
    pub(crate) text: String,
}

/// The last half hour.
#[derive(Debug, Serialize)]
pub(crate) struct History {
    pub(crate) interval_seconds: u64,
    pub(crate) points: Vec<HistoryPoint>,
}

/// The rates at one time.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct HistoryPoint {
    pub(crate) unix_ms: String,
    pub(crate) ids_per_second: f64,
    pub(crate) requests_per_second: f64,
    pub(crate) errors_per_second: f64,
    pub(crate) cover_seconds: Option<f64>,
}

/// A page of the table of tags.
#[derive(Debug, Serialize)]
pub(crate) struct TagRows {
    pub(crate) tags: Vec<TagRow>,
    pub(crate) next_after: Option<String>,
    pub(crate) next_offset: Option<usize>,
    /// How many tags are in use on this server.
    pub(crate) loaded: usize,
}

/// A row of the table of tags; what only the store or only memory knows is null.
#[derive(Debug, Serialize)]
pub(crate) struct TagRow {
    pub(crate) tag: String,
    pub(crate) kind: String,
    pub(crate) format: Option<String>,
    pub(crate) max_id: Option<String>,
    pub(crate) step: Option<u64>,
    pub(crate) limit: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) updated: Option<String>,
    pub(crate) stage: Option<&'static str>,
    pub(crate) rate: Option<f64>,
    pub(crate) cover_seconds: Option<f64>,
    pub(crate) remaining: Option<u64>,
    pub(crate) headroom_days: Option<f64>,
    pub(crate) quota: Option<u64>,
}

/// All about one tag.
#[derive(Debug, Serialize)]
pub(crate) struct TagDetail {
    pub(crate) tag: Tag,
    pub(crate) segments: Vec<SegmentBounds>,
    pub(crate) cursor: Option<String>,
    pub(crate) refill_at: Option<String>,
    pub(crate) quota: Option<u64>,
    pub(crate) reservations: Vec<Reservation>,
    pub(crate) events: Vec<RecentEvent>,
    pub(crate) row: Option<TagPlace>,
}

/// A segment: `[start, end)`.
#[derive(Debug, Serialize)]
pub(crate) struct SegmentBounds {
    pub(crate) start: String,
    pub(crate) end: String,
}

/// A segment that this server reserved.
#[derive(Debug, Serialize)]
pub(crate) struct Reservation {
    pub(crate) unix_ms: String,
    pub(crate) start: String,
    pub(crate) end: String,
    pub(crate) took_ms: f64,
}

/// Where a tag's row lives.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TagPlace {
    pub(crate) store: String,
    pub(crate) location: String,
    pub(crate) table: Option<String>,
}

/// The map of worker ids.
#[derive(Debug, Serialize)]
pub(crate) struct WorkerMap {
    pub(crate) pool: String,
    pub(crate) worker_max: u32,
    pub(crate) own: Option<u32>,
    pub(crate) workers: Vec<WorkerCell>,
    pub(crate) clocks: Vec<PeerClock>,
}

/// One worker id.
#[derive(Debug, Serialize)]
pub(crate) struct WorkerCell {
    pub(crate) worker: u32,
    pub(crate) state: &'static str,
    pub(crate) address: String,
    pub(crate) holder: String,
    pub(crate) epoch: String,
    pub(crate) until: Option<String>,
}

/// How far the clock of another server is ahead of this one's.
#[derive(Debug, Serialize)]
pub(crate) struct PeerClock {
    pub(crate) address: String,
    pub(crate) worker: u32,
    pub(crate) answers: bool,
    pub(crate) difference_ms: Option<f64>,
}

/// What the server found about itself.
#[derive(Debug, Serialize)]
pub(crate) struct Findings {
    pub(crate) findings: Vec<Finding>,
}

/// Something to look at.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    /// `error`, `warn` or `note`.
    pub(crate) level: &'static str,
    pub(crate) code: &'static str,
    pub(crate) what: String,
    pub(crate) next: String,
}

/// Every server of the cluster that is known.
#[derive(Debug, Serialize)]
pub(crate) struct Servers {
    pub(crate) servers: Vec<KnownServer>,
}

/// A server, and its answer.
#[derive(Debug, Serialize)]
pub(crate) struct KnownServer {
    pub(crate) address: String,
    pub(crate) worker: Option<u32>,
    pub(crate) own: bool,
    pub(crate) overview: Option<Overview>,
    pub(crate) error: Option<String>,
}
