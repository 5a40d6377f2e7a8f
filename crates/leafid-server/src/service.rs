//! `Service`: the one service behind all front ends. It knows no HTTP, gRPC or RESP type; front
//! ends translate between their protocol and these calls, and call nothing else.

// The state of the process.
pub(crate) mod health;
pub(crate) mod regressions;
pub(crate) mod reloads;

// The caller, and its permissions.
mod access;
mod audit;
mod caller;
mod console;
mod gate;
mod grants;
#[cfg(test)]
mod in_memory;
mod quota;

// Results.
mod counter_names;
mod counter_rights;
mod create_on_first_use;
mod decode;
mod first_use;
mod forms;
mod issue;
mod issued;
mod late_rows;
mod period_numbers;
mod periods;
mod ranges;
mod ranking;
mod shards;
mod share;
mod snowflake;
mod snowflakes;
mod store_calls;
mod tags;
mod texts;
mod workers;

// Errors.
mod code;
mod error;
mod error_code;
mod remediation;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use leafid::store::TagSettings;
use leafid::{Clock, Closed, Generators, Layout, Parts, Stage, Status, WorkerRegistry};
use leafid_formats::{Formats, Keys};

use crate::config::{Config, Limits, QuotaScope, TokenSpec};
use crate::service::health::Health;
use crate::worker_ids::Peers;

use access::Access;
pub(crate) use access::TokenRefusal;
pub(crate) use audit::{Audit, AuditWriter};
pub use caller::Caller;
pub(crate) use code::Class;
pub use code::Code;
use counter_names::CounterNames;
pub use error::ServiceError;
use first_use::FirstUse;
use gate::Gate;
pub(crate) use issue::LastTag;
pub use issued::{Issued, IssuedId};
use late_rows::LateRows;
pub use leafid_stores::AuditRecord;
pub(crate) use ranking::{RANKED_MAX, Ranking};
use reloads::Reloads;
pub(crate) use remediation::Wording;
pub use shards::{ShardChoice, TwoShards};
pub use snowflake::SnowflakeParts;
use snowflakes::Snowflakes;
pub(crate) use snowflakes::WorkerSettings;
pub use tags::{TagPage, TagView};
pub use texts::Texts;
pub use workers::{ClockView, WorkerView};

/// Answers all requests of the front ends.
///
/// **Thread-safe.** Ids are unique and ascending per tag, as [`Generators`] says.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use leafid::store::MemoryStore;
/// use leafid_server::{Caller, Config, Limits, Listeners, Server, Stores};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let config = Config { create_tags: Some(true), allow_weak_store: true, ..Config::default() };
/// let listeners = Listeners::bind("127.0.0.1:0".parse::<std::net::SocketAddr>()?).await?;
/// let stores = Stores { segments: Arc::new(MemoryStore::new()), workers: None, audit: None };
/// let server = Server::new(&config, Limits::default(), stores, listeners);
/// let service = server.service();
/// tokio::spawn(server.run(std::future::pending()));
/// while !service.health().readiness().is_ready() {
///     tokio::task::yield_now().await;
/// }
/// assert_eq!(service.next(&Caller::anonymous(), "order").await?.to_string(), "1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Service {
    generators: Generators,
    formats: Formats,
    /// `None`: snowflake ids are off.
    snowflakes: Option<Snowflakes>,
    access: Access,
    clock: Arc<dyn Clock>,
    /// How long the periods of calendar counters are kept.
    periods_kept: Duration,
    audit: Audit,
    first_use: Arc<FirstUse>,
    /// Which names are those of calendar counters.
    counter_names: Arc<CounterNames>,
    gate: Gate,
    late_rows: Arc<LateRows>,
    health: Health,
    reloads: Reloads,
    limits: Limits,
    /// Step of tags that are created without one.
    step: u32,
    /// Whether segment ids are served at all.
    segment: bool,
    /// Whether the store is gear_idgen's, whose callers take numbers and texts of one sequence.
    gear_numbers: bool,
    /// How snowflake ids divide their bits.
    layout: Layout,
}

impl Service {
    pub(crate) fn new(
        (generators, formats): (Generators, Formats),
        workers: Option<(WorkerRegistry, Peers)>,
        health: Health,
        clock: Arc<dyn Clock>,
        audit: Audit,
        limits: Limits,
        config: &Config,
    ) -> Self {
        let created = TagSettings {
            step: config.step,
            ..TagSettings::default()
        };
        let created = config.creates_tags().then_some(created);
        let per_minute = config.create_tags_per_minute;
        let first_use = FirstUse::new(Arc::clone(&clock), created, per_minute);
        Self {
            audit,
            access: Access::new(Arc::clone(&clock), &config.tokens, &config.quotas),
            clock,
            periods_kept: config.periods_kept,
            first_use: Arc::new(first_use),
            counter_names: Arc::new(CounterNames::new()),
            gate: Gate::new(&limits, config.store_connections),
            late_rows: Arc::default(),
            generators,
            formats,
            snowflakes: workers.map(|(registry, peers)| {
                Snowflakes::new(registry, peers, WorkerSettings::of(&config.workers))
            }),
            health,
            reloads: Reloads::default(),
            limits,
            step: config.step,
            segment: config.segment,
            gear_numbers: config
                .store_url()
                .is_ok_and(|url| url.table() == Some("gear_key")),
            layout: config.workers.layout,
        }
    }

    /// The state of up to `count` tags on this server, ordered by name.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SegmentOff`].
    pub fn statuses(&self, caller: &Caller, count: usize) -> Result<Vec<Status>, ServiceError> {
        self.access.check_look(caller, None)?;
        self.switched_on()?;
        let mut statuses = self.generators.statuses(count);
        statuses.retain(|status| self.access.shows(caller, status.tag.as_str()));
        statuses.sort_by(|a, b| a.tag.cmp(&b.tag));
        Ok(statuses)
    }

    /// Visits the state of each loaded segment tag, one after the other.
    pub(crate) fn for_each_status(&self, mut visit: impl FnMut(Status)) {
        self.generators.for_each_status(|status| {
            if status.stage != Stage::OtherKind {
                visit(status);
            }
        });
    }

    /// The number of tags loaded here.
    #[must_use]
    pub fn loaded_len(&self) -> usize {
        self.generators.loaded_len()
    }

    /// Authenticates a caller by the secret of a token and optionally its name.
    ///
    /// # Errors
    ///
    /// [`ServiceError::BadToken`].
    pub fn authenticate(&self, name: Option<&str>, secret: &str) -> Result<Caller, ServiceError> {
        self.access.authenticate(name, secret)
    }

    /// Whether anonymous callers are refused.
    #[must_use]
    pub fn needs_token(&self) -> bool {
        self.access.needs_token()
    }

    /// Writes opaque ids with these keys from now on, and reads those that they wrote. Tags whose
    /// key was missing issue ids within a second.
    ///
    /// # Example
    ///
    /// See [`FormatKeys`](crate::FormatKeys).
    pub fn apply_format_keys(&self, keys: Keys) {
        self.formats.replace_keys(keys);
    }

    /// Applies the tokens and quotas of an access file that was reloaded. Connections of a token that
    /// stays are kept; a token that was removed is refused, even on connections that authenticated
    /// with it before. Only quotas that differ from those of the last call change, so the last
    /// change of a quota wins, whether it came from here or from [`set_quota`](Self::set_quota).
    pub fn apply_access(&self, tokens: &[TokenSpec], quotas: &[(QuotaScope, u64)]) {
        self.access.apply(tokens, quotas);
    }

    /// The quotas of this server in ids per second, ordered by what they limit.
    ///
    /// # Errors
    ///
    /// [`ServiceError::NoToken`].
    pub fn quotas(&self, caller: &Caller) -> Result<Vec<(QuotaScope, u64)>, ServiceError> {
        self.access.check_look(caller, None)?;
        let mut quotas = self.access.quotas.all();
        quotas.retain(|(scope, _)| match scope {
            QuotaScope::Tag(tag) => self.access.shows(caller, tag.as_str()),
            QuotaScope::Server | QuotaScope::Token(_) => true,
        });
        Ok(quotas)
    }

    /// Applies a quota in ids per second to this server at once; 0 blocks what it limits, and `None`
    /// removes it. Ids issued before do not count. It holds until it is changed again, here or in
    /// the access file, or the process ends. Calls that already wait for ids may finish.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownToken`], [`ServiceError::TooManyQuotas`], [`ServiceError::NotAdmin`],
    /// [`ServiceError::NoToken`], and [`ServiceError::BadCount`] above
    /// [`ids_per_second_max`](Limits::ids_per_second_max).
    pub fn set_quota(
        &self,
        caller: &Caller,
        scope: &QuotaScope,
        per_second: Option<u64>,
    ) -> Result<(), ServiceError> {
        let action = "quota changed";
        let subject = scope.to_string();
        self.admit(caller, action, &subject)?;
        let max = self.limits.ids_per_second_max;
        ServiceError::check_max("ids_per_second", per_second.unwrap_or(0), max)?;
        let tags_max = self.limits.quotas_max;
        let before = self.access.quotas.get(scope);
        if before == per_second {
            return Ok(());
        }
        let before = audit::of_quota(before);
        let attempt = self.audit.attempt(caller, action, subject, before);
        let set = self.access.set_quota(scope, per_second, tags_max);
        attempt.settled(set, |()| audit::of_quota(per_second))
    }

    /// The last `count` changes recorded in the store, by this server and all others, newest first.
    ///
    /// # Errors
    ///
    /// [`ServiceError::NotAdmin`], [`ServiceError::NoToken`], [`ServiceError::BadCount`],
    /// [`ServiceError::Store`].
    pub async fn changes(
        &self,
        caller: &Caller,
        count: u32,
    ) -> Result<Vec<AuditRecord>, ServiceError> {
        self.access.check_admin(caller)?;
        let max = self.limits.page_len_max;
        ServiceError::check_count("limit", count.into(), max.into())?;
        let _place = self.gate.read().await;
        Ok(self.audit.recent(count).await?)
    }

    /// Authorizes a caller to change things; an unauthorized attempt is recorded.
    fn admit(&self, caller: &Caller, action: &str, subject: &str) -> Result<(), ServiceError> {
        let allowed = self.access.check_admin(caller);
        allowed.inspect_err(|error| {
            let (name, address) = (caller.shown_name(), caller.address());
            self.audit
                .note_refused(name, address, action, subject, error);
        })
    }

    /// Records that a peer at this address showed an unknown token, in order to change something.
    pub(crate) fn note_unknown(
        &self,
        address: Option<SocketAddr>,
        subject: &str,
        why: &ServiceError,
    ) {
        let action = "a call that changes something";
        self.audit.note_refused("", address, action, subject, why);
    }

    /// Waits until all changes are recorded.
    pub(crate) async fn end_audit(&self) {
        self.audit.end().await;
    }

    /// How the last reading of each file that can be reloaded ended.
    pub(crate) const fn reloads(&self) -> &Reloads {
        &self.reloads
    }

    /// Tokens and quotas, for the metrics.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// The number of calls that wait for ids now.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.gate.waiting()
    }

    /// Decodes a snowflake id of Leaf's layout.
    #[must_use]
    pub fn decode_snowflake(&self, id: i64) -> SnowflakeParts {
        SnowflakeParts::of(id)
    }

    /// Decodes a snowflake id of any layout.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Decompose`].
    pub fn decode(&self, id: u64, layout: Layout) -> Result<Parts, ServiceError> {
        Ok(layout.try_decompose(id)?)
    }

    /// The layout of snowflake ids made here, and of ids whose layout is not named.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The step of tags that are created without one.
    #[must_use]
    pub fn step(&self) -> u32 {
        self.step
    }

    /// The bounds in force.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Liveness and readiness of this process, and the state of its store.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// What became of the worker id, as far as that is known now; `None` if snowflake ids are off.
    pub(crate) async fn closed_registry(&self) -> Option<Closed> {
        let snowflakes = self.snowflakes.as_ref()?;
        Some(snowflakes.registry.close(Duration::ZERO).await)
    }

    /// Stops issuing for good.
    pub(crate) fn stop(&self) {
        self.generators.stop();
        if let Some(snowflakes) = &self.snowflakes {
            snowflakes.registry.stop();
        }
    }

    pub(crate) fn generators(&self) -> &Generators {
        &self.generators
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}
