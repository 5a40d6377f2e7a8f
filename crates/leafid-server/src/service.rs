//! `Service`: the one door behind all front ends. It knows no HTTP, gRPC or RESP type; front ends
//! translate between their wire and these calls, and call nothing else.

mod error;
mod issued;
mod snowflake;
mod workers;

use leafid::store::{TagKind, TagPatch, TagRecord, TagSpec};
use leafid::{Generators, Id, Layout, Parts, Segment, Stage, Status, Tag, WorkerRegistry};

use crate::config::Config;
use crate::health::{Health, Phase};
use crate::limits::Limits;

pub use error::ServiceError;
pub use issued::Issued;
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
/// use leafid_server::{Config, Limits, Listeners, Server, Stores};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let config = Config { create_tags: Some(true), allow_weak_store: true, ..Config::default() };
/// let listeners = Listeners::bind("127.0.0.1:0".parse()?).await?;
/// let stores = Stores { segments: Arc::new(MemoryStore::new()), workers: None };
/// let server = Server::new(&config, Limits::default(), stores, listeners);
/// let service = server.service();
/// tokio::spawn(server.run(std::future::pending()));
/// while !service.health().readiness().is_ready() {
///     tokio::task::yield_now().await;
/// }
/// assert_eq!(service.next("order").await?.get(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Service {
    generators: Generators,
    /// `None`: snowflake ids are off.
    snowflakes: Option<Snowflakes>,
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
        registry: Option<WorkerRegistry>,
        health: Health,
        limits: Limits,
        config: &Config,
    ) -> Self {
        Self {
            generators,
            snowflakes: registry.map(Snowflakes::new),
            health,
            limits,
            step: config.step,
            segment: config.segment,
            layout: config.workers.layout,
        }
    }

    /// The next id of a tag of either kind, waiting for a segment under way.
    ///
    /// # Errors
    ///
    /// As [`segment_next`](Self::segment_next), and for snowflake tags as
    /// [`snowflake_next`](Self::snowflake_next).
    pub async fn next(&self, tag: &str) -> Result<Id, ServiceError> {
        match self.segment_next(tag).await {
            Err(error) if error.has_no_segments() => self.snowflake_next().await,
            done => done,
        }
    }

    /// The next id of a segment tag, waiting for a segment under way.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SegmentOff`], [`ServiceError::NotStarted`], [`ServiceError::Issue`], also
    /// for a snowflake tag.
    pub async fn segment_next(&self, tag: &str) -> Result<Id, ServiceError> {
        self.switched_on()?;
        match self.generators.try_next(tag) {
            Ok(id) => Ok(id),
            Err(error) if error.is_retryable() => {
                self.started().await?;
                Ok(self.generators.next(tag).await?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The next `count` ids of a tag of either kind: ascending, not always adjacent.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next), and [`ServiceError::BadCount`].
    pub async fn next_many(&self, tag: &str, count: u64) -> Result<Issued, ServiceError> {
        self.check_count("count", count, self.limits.count_max)?;
        self.started().await?;
        match self.generators.next_many(tag, count).await {
            Ok(taken) => Ok(Issued::Segment(taken)),
            Err(error) => match ServiceError::from(error) {
                error if error.has_no_segments() => {
                    Ok(Issued::Snowflake(self.snowflake_next_many(count).await?))
                }
                error => Err(error),
            },
        }
    }

    /// A run of `length` adjacent ids of a tag, for issuing by the caller.
    ///
    /// # Errors
    ///
    /// As [`segment_next`](Self::segment_next), and [`ServiceError::BadCount`],
    /// [`ServiceError::SnowflakeTag`].
    pub async fn take(&self, tag: &str, length: u64) -> Result<Segment, ServiceError> {
        self.check_count("length", length, self.limits.range_len_max)?;
        self.started().await?;
        let taken = self.generators.take(tag, length).await;
        taken.map_err(ServiceError::of_run)
    }

    fn check_count(&self, field: &'static str, count: u64, max: u64) -> Result<(), ServiceError> {
        self.switched_on()?;
        if count == 0 || count > max {
            return Err(ServiceError::BadCount { field, count, max });
        }
        Ok(())
    }

    /// Whether segment ids are served here.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SegmentOff`].
    pub fn switched_on(&self) -> Result<(), ServiceError> {
        if self.segment {
            Ok(())
        } else {
            Err(ServiceError::SegmentOff)
        }
    }

    /// Before the store's settings were seen, nothing is reserved from it.
    async fn started(&self) -> Result<(), ServiceError> {
        if self.health.phase() != Phase::Starting {
            return Ok(());
        }
        let wait_max = self.generators.options().wait_max;
        let started = self.health.started(wait_max).await;
        started.map_err(|reason| ServiceError::NotStarted { reason })
    }

    /// One page of up to `count` tags, from the first one after `after`.
    ///
    /// # Errors
    ///
    /// [`ServiceError::BadCount`], [`ServiceError::Store`].
    pub async fn tags(&self, after: Option<&Tag>, count: u32) -> Result<TagPage, ServiceError> {
        let max = self.limits.page_len_max;
        if count == 0 || count > max {
            return Err(ServiceError::BadCount {
                field: "limit",
                count: count.into(),
                max: max.into(),
            });
        }
        let mut tags = self.generators.list_tags(after, count + 1).await?;
        let page_len = usize::try_from(count).unwrap_or(usize::MAX);
        let more = tags.len() > page_len;
        tags.truncate(page_len);
        let next = tags.last().filter(|_| more).map(|last| last.tag.clone());
        Ok(TagPage { tags, next })
    }

    /// A tag's row, and how it stands here.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::Store`].
    pub async fn tag(&self, tag: &Tag) -> Result<TagView, ServiceError> {
        match self.generators.read_tag(tag).await? {
            Some(record) => Ok(self.view(record)),
            None => Err(ServiceError::UnknownTag { tag: tag.clone() }),
        }
    }

    /// Creates a tag.
    ///
    /// # Errors
    ///
    /// [`ServiceError::TagExists`], [`ServiceError::Store`].
    pub async fn create_tag(&self, spec: &TagSpec) -> Result<TagView, ServiceError> {
        let created = self.generators.create_tag(spec).await;
        let record = created.map_err(|error| ServiceError::of_tag(error, &spec.tag))?;
        Ok(self.view(record))
    }

    /// Changes a tag's settings.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::SnowflakeTag`], [`ServiceError::Store`].
    pub async fn update_tag(&self, tag: &Tag, patch: &TagPatch) -> Result<TagView, ServiceError> {
        if patch.step.is_some() || patch.policy.is_some() || patch.limit.is_some() {
            let record = self.generators.read_tag(tag).await?;
            let kind = record.map(|record| record.settings.kind);
            if kind == Some(TagKind::Snowflake) {
                let (tag, what) = (tag.clone(), "step, policy or limit");
                return Err(ServiceError::SnowflakeTag { tag, what });
            }
        }
        let updated = self.generators.update_tag(tag, patch).await;
        let record = updated.map_err(|error| ServiceError::of_tag(error, tag))?;
        Ok(self.view(record))
    }

    /// Deletes a tag.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::Store`].
    pub async fn delete_tag(&self, tag: &Tag) -> Result<(), ServiceError> {
        let deleted = self.generators.delete_tag(tag).await;
        deleted.map_err(|error| ServiceError::of_tag(error, tag))
    }

    /// How up to `count` tags stand here, in the order of their names.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SegmentOff`].
    pub fn statuses(&self, count: usize) -> Result<Vec<Status>, ServiceError> {
        self.switched_on()?;
        let mut statuses = self.generators.statuses(count);
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
