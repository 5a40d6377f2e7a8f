//! `Service`: the one door behind all front ends. It knows no HTTP, gRPC or RESP type; front ends
//! translate between their wire and these calls, and call nothing else.

// Who asks, and what they may.
mod access;
mod audit;
mod caller;
mod gate;
#[cfg(test)]
mod in_memory;
mod quota;

// What they get.
mod first_use;
mod issue;
mod issued;
mod snowflake;
mod workers;

// What they are told instead.
mod advice;
mod code;
mod error;

use std::net::SocketAddr;
use std::sync::Arc;

use leafid::store::{StoreError, TagKind, TagPatch, TagRecord, TagSettings, TagSpec};
use leafid::{Clock, Generators, IssueError, Layout, Parts, Stage, Status, Tag, WorkerRegistry};

use crate::config::Config;
use crate::health::Health;
use crate::limits::Limits;
use crate::workers::Peers;

use access::Access;
pub(crate) use access::TokenRefusal;
pub use access::{QuotaScope, TagPattern, TokenScope, TokenSpec};
pub(crate) use advice::Wording;
pub(crate) use audit::{Audit, Scribe};
pub use caller::Caller;
pub use code::Code;
pub use error::ServiceError;
use first_use::FirstUse;
use gate::Gate;
pub(crate) use issue::LastTag;
pub use issued::Issued;
pub use leafid_stores::AuditRecord;
pub use snowflake::SnowflakeParts;
use workers::Snowflakes;
pub use workers::{ClockView, WorkerView};

/// Answers every question that a front end may ask.
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
/// assert_eq!(service.next(&Caller::anonymous(), "order").await?.get(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Service {
    generators: Generators,
    /// `None`: snowflake ids are off.
    snowflakes: Option<Snowflakes>,
    access: Access,
    audit: Audit,
    first_use: Arc<FirstUse>,
    gate: Gate,
    health: Health,
    limits: Limits,
    /// Step of tags that are created without one.
    step: u32,
    /// Whether segment ids are served at all.
    segment: bool,
    /// How snowflake ids divide their bits.
    layout: Layout,
}

/// A tag as the store has it, and as it stands in this process.
///
/// # Example
///
/// See [`Service::tag`].
#[derive(Debug, Clone, PartialEq)]
pub struct TagView {
    /// The row in the store.
    pub record: TagRecord,
    /// How it stands here; `None` if this process did not use it yet, or it has no segments.
    pub live: Option<Status>,
}

/// One page of tags.
///
/// # Example
///
/// See [`Service::tags`].
#[derive(Debug, Clone, PartialEq)]
pub struct TagPage {
    /// The tags, in ascending byte order.
    pub tags: Vec<TagRecord>,
    /// Where the next page starts, after this tag; `None` on the last page.
    pub next: Option<Tag>,
}

impl Service {
    pub(crate) fn new(
        generators: Generators,
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
            access: Access::new(clock, &config.tokens, &config.quotas),
            first_use: Arc::new(first_use),
            gate: Gate::new(&limits),
            generators,
            snowflakes: workers.map(|(registry, peers)| {
                Snowflakes::new(registry, peers, config.workers.clock_offset_max)
            }),
            health,
            limits,
            step: config.step,
            segment: config.segment,
            layout: config.workers.layout,
        }
    }

    /// One page of up to `count` tags, from the first one after `after`.
    ///
    /// # Errors
    ///
    /// [`ServiceError::BadCount`], [`ServiceError::NotAllowed`], [`ServiceError::Store`].
    pub async fn tags(
        &self,
        caller: &Caller,
        after: Option<&Tag>,
        count: u32,
    ) -> Result<TagPage, ServiceError> {
        self.access.check_look(caller, None)?;
        let max = self.limits.page_len_max;
        if count == 0 || count > max {
            return Err(ServiceError::BadCount {
                field: "limit",
                count: count.into(),
                max: max.into(),
            });
        }
        let _place = self.gate.admin().await;
        let mut tags = self.generators.list_tags(after, count + 1).await?;
        let page_len = usize::try_from(count).unwrap_or(usize::MAX);
        let more = tags.len() > page_len;
        tags.truncate(page_len);
        let next = tags.last().filter(|_| more).map(|last| last.tag.clone());
        tags.retain(|record| self.access.shows(caller, record.tag.as_str()));
        Ok(TagPage { tags, next })
    }

    /// A tag's row, and how it stands here.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::Store`].
    pub async fn tag(&self, caller: &Caller, tag: &Tag) -> Result<TagView, ServiceError> {
        self.access.check_look(caller, Some(tag.as_str()))?;
        let _place = self.gate.admin().await;
        match self.generators.read_tag(tag).await? {
            Some(record) => Ok(self.view(record)),
            None => Err(ServiceError::UnknownTag { tag: tag.clone() }),
        }
    }

    /// Whether a tag is there of which a caller may take ids.
    pub(crate) async fn check_exists(
        &self,
        caller: &Caller,
        tag: &Tag,
    ) -> Result<(), ServiceError> {
        self.access.check(caller, Some(tag.as_str()), 0)?;
        let _place = self.gate.caller_call().await;
        match self.generators.read_tag(tag).await? {
            Some(_) => Ok(()),
            None => Err(ServiceError::UnknownTag { tag: tag.clone() }),
        }
    }

    /// Creates a tag.
    ///
    /// # Errors
    ///
    /// [`ServiceError::TagExists`], [`ServiceError::Issue`] for a name that no new tag may have,
    /// [`ServiceError::Store`].
    pub async fn create_tag(
        &self,
        caller: &Caller,
        spec: &TagSpec,
    ) -> Result<TagView, ServiceError> {
        let action = "tag created";
        self.admit(caller, action, spec.tag.as_str())?;
        let checked = spec.tag.check_new();
        checked.map_err(|error| IssueError::Never(error.into()))?;
        let _place = self.gate.admin().await;
        let attempt = self
            .audit
            .attempt(caller, action, spec.tag.as_str(), String::new());
        let created = self.generators.create_tag(spec).await;
        let created = created.map_err(|error| ServiceError::of_tag(error, &spec.tag));
        let record = attempt.settled(created, AuditRecord::of_tag)?;
        Ok(self.view(record))
    }

    /// Changes a tag's settings.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::SnowflakeTag`], [`ServiceError::Store`].
    pub async fn update_tag(
        &self,
        caller: &Caller,
        tag: &Tag,
        patch: &TagPatch,
    ) -> Result<TagView, ServiceError> {
        let action = "tag changed";
        self.admit(caller, action, tag.as_str())?;
        let _place = self.gate.admin().await;
        let is_empty = *patch == TagPatch::default();
        let is_of_segments =
            patch.step.is_some() || patch.policy.is_some() || patch.limit.is_some();
        let before = match self.generators.read_tag(tag).await {
            Err(error) if is_empty || is_of_segments => return Err(error.into()),
            // For the record only.
            read => read.ok().flatten(),
        };
        if is_of_segments {
            let kind = before.as_ref().map(|record| record.settings.kind);
            if kind == Some(TagKind::Snowflake) {
                let (tag, what) = (tag.clone(), "step, policy or limit");
                return Err(ServiceError::SnowflakeTag { tag, what });
            }
        }
        if is_empty {
            // Only to be raised, which is another call.
            let tag = tag.clone();
            return before.map_or(Err(ServiceError::UnknownTag { tag }), |record| {
                Ok(self.view(record))
            });
        }
        let before = audit::of_tag(before.as_ref());
        let attempt = self.audit.attempt(caller, action, tag.as_str(), before);
        let updated = self.generators.update_tag(tag, patch).await;
        let updated = updated.map_err(|error| ServiceError::of_tag(error, tag));
        let record = attempt.settled(updated, AuditRecord::of_tag)?;
        Ok(self.view(record))
    }

    /// Changes a tag's settings, and where its next segment starts. What can be refused is refused
    /// before anything is changed.
    ///
    /// # Errors
    ///
    /// As [`update_tag`](Self::update_tag) and [`raise_tag`](Self::raise_tag).
    pub(crate) async fn change_tag(
        &self,
        caller: &Caller,
        tag: &Tag,
        patch: &TagPatch,
        next: Option<u64>,
    ) -> Result<TagView, ServiceError> {
        let Some(next) = next else {
            return self.update_tag(caller, tag, patch).await;
        };
        self.admit(caller, "tag changed", tag.as_str())?;
        self.check_next(tag, next).await?;
        self.update_tag(caller, tag, patch).await?;
        self.raise_tag(caller, tag, next).await
    }

    /// Refuses to raise a tag of snowflakes, or one that has come that far already.
    async fn check_next(&self, tag: &Tag, next: u64) -> Result<(), ServiceError> {
        let record = self.generators.read_tag(tag).await?;
        let record = record.ok_or(ServiceError::UnknownTag { tag: tag.clone() })?;
        if record.settings.kind == TagKind::Snowflake {
            let (tag, what) = (tag.clone(), "next");
            return Err(ServiceError::SnowflakeTag { tag, what });
        }
        if next <= record.max_id {
            let (tag, max_id) = (tag.clone(), record.max_id);
            return Err(ServiceError::NextBehind { tag, max_id });
        }
        Ok(())
    }

    /// Lets the next segment of a tag start at `next`, upwards only.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::SnowflakeTag`], [`ServiceError::NextBehind`],
    /// [`ServiceError::Store`].
    pub async fn raise_tag(
        &self,
        caller: &Caller,
        tag: &Tag,
        next: u64,
    ) -> Result<TagView, ServiceError> {
        let action = "tag raised";
        self.admit(caller, action, tag.as_str())?;
        let _place = self.gate.admin().await;
        let before = self.before(tag).await;
        let attempt = self.audit.attempt(caller, action, tag.as_str(), before);
        let raised = self.generators.raise_tag(tag, next).await;
        let raised = match raised {
            // With words of ours, if it is one of these.
            Err(error @ StoreError::Unsupported { .. }) => {
                let told = self.check_next(tag, next).await;
                told.and(Err(ServiceError::of_tag(error, tag)))
            }
            raised => raised.map_err(|error| ServiceError::of_tag(error, tag)),
        };
        let record = attempt.settled(raised, AuditRecord::of_tag)?;
        Ok(self.view(record))
    }

    /// Deletes a tag.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::Store`].
    pub async fn delete_tag(&self, caller: &Caller, tag: &Tag) -> Result<(), ServiceError> {
        let action = "tag deleted";
        self.admit(caller, action, tag.as_str())?;
        let _place = self.gate.admin().await;
        let before = self.before(tag).await;
        let attempt = self.audit.attempt(caller, action, tag.as_str(), before);
        let deleted = self.generators.delete_tag(tag).await;
        let deleted = deleted.map_err(|error| ServiceError::of_tag(error, tag));
        attempt.settled(deleted, |()| String::new())
    }

    /// How up to `count` tags stand here, in the order of their names.
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

    /// Tells how each loaded segment tag stands, one after the other.
    pub(crate) fn for_each_status(&self, mut told: impl FnMut(Status)) {
        self.generators.for_each_status(|status| {
            if status.stage != Stage::OtherKind {
                told(status);
            }
        });
    }

    /// How many tags are loaded here.
    #[must_use]
    pub fn loaded_len(&self) -> usize {
        self.generators.loaded_len()
    }

    /// Who a caller is, by the secret of a token and maybe its name.
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

    /// Lets these tokens in and no others, and puts these quotas in force, for an access file that
    /// was read again. A token that stays keeps its connections; one that is gone lets nobody in
    /// any more, also not those who showed it before. Only quotas change that differ from those of
    /// the last time, so the last change of a quota holds, whether it came from here or from
    /// [`set_quota`](Self::set_quota).
    pub fn put_access(&self, tokens: &[TokenSpec], quotas: &[(QuotaScope, u64)]) {
        self.access.put(tokens, quotas);
    }

    /// The quotas in force on this server, in ids a second, in the order of what they are on.
    ///
    /// # Errors
    ///
    /// [`ServiceError::NoToken`].
    pub fn quotas(&self, caller: &Caller) -> Result<Vec<(QuotaScope, u64)>, ServiceError> {
        self.access.check_look(caller, None)?;
        let mut quotas = self.access.quotas();
        quotas.retain(|(scope, _)| match scope {
            QuotaScope::Tag(tag) => self.access.shows(caller, tag.as_str()),
            QuotaScope::Server | QuotaScope::Token(_) => true,
        });
        Ok(quotas)
    }

    /// Puts a quota in force on this server at once, in ids a second; 0 stops what it is on, and
    /// `None` takes it away. What went out before is forgotten. It holds until it is changed
    /// again, here or in the access file, or the process ends. Calls that wait for ids already
    /// are let finish.
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
        if let Some(count) = per_second.filter(|per_second| *per_second > max) {
            let field = "ids_per_second";
            return Err(ServiceError::BadCount { field, count, max });
        }
        let tags_max = self.limits.quotas_max;
        let before = audit::of_quota(self.access.quota(scope));
        let attempt = self.audit.attempt(caller, action, subject, before);
        let set = self.access.set_quota(scope, per_second, tags_max);
        attempt.settled(set, |()| audit::of_quota(per_second))
    }

    /// The last `count` changes that were recorded in the store, by this server and all others, the
    /// newest first.
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
        if count == 0 || count > max {
            return Err(ServiceError::BadCount {
                field: "limit",
                count: count.into(),
                max: max.into(),
            });
        }
        let _place = self.gate.admin().await;
        Ok(self.audit.recent(count).await?)
    }

    /// A tag's row for the record; a row that is bad may be changed all the same.
    async fn before(&self, tag: &Tag) -> String {
        let read = self.generators.read_tag(tag).await;
        audit::of_tag(read.ok().flatten().as_ref())
    }

    /// Lets a caller in who may change things; another one is noted down.
    fn admit(&self, caller: &Caller, action: &str, subject: &str) -> Result<(), ServiceError> {
        let admitted = self.access.check_admin(caller);
        admitted.inspect_err(|error| {
            let (name, address) = (caller.shown_name(), caller.address());
            self.audit
                .note_refused(name, address, action, subject, error);
        })
    }

    /// Notes down that somebody at this address showed a token that is not known, in order to
    /// change something.
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

    /// Tokens and quotas, for the metrics.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// How many calls wait for ids now.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.gate.waiting()
    }

    /// Takes a snowflake id of Leaf's layout apart.
    #[must_use]
    pub fn decode_snowflake(&self, id: i64) -> SnowflakeParts {
        SnowflakeParts::of(id)
    }

    /// Takes a snowflake id apart, of any layout.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Decompose`].
    pub fn decode(&self, id: u64, layout: Layout) -> Result<Parts, ServiceError> {
        Ok(layout.try_decompose(id)?)
    }

    /// The layout of snowflake ids made here, and of those whose layout is not named.
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

    /// Whether this process lives, is ready, and reaches its store.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
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

    fn view(&self, record: TagRecord) -> TagView {
        let live = self.generators.status(record.tag.as_str());
        let live = live.filter(|_| record.settings.kind == TagKind::Segment);
        TagView { record, live }
    }
}
