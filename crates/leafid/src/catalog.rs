//! Creates, changes, deletes and lists tags. With `allocator/refill.rs`, the only code that calls a
//! store; it keeps the loaded tags in step with its changes.

mod period_names;
mod raise;
mod snowflake_format;
mod warnings;

use std::sync::Arc;

use crate::allocator::Allocator;
use crate::format::{Form, FormatCompiler, FormatError};
use crate::generators::Generators;
use crate::limit::Limit;
use crate::segment::Segment;
use crate::store::{
    Reserve, SegmentStore, StoreError, StoreReport, StoreResult, StoreState, TagFieldError,
    TagKind, TagPatch, TagRecord, TagSpec,
};
use crate::tag::Tag;

impl Generators {
    /// Creates a tag in the store. This process issues from it at once; others do at the next
    /// request, at most `unknown_for` later.
    ///
    /// # Errors
    ///
    /// As [`SegmentStore::create`](crate::store::SegmentStore::create),
    /// [`StoreError::BadField`] for settings that a tag may not have ([`TagSpec::check`]), and
    /// [`StoreError::Unsupported`] for a name that no new tag may have ([`Tag::check_new`]).
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::{MemoryStore, TagSpec};
    /// use leafid::{Generators, Options, Tag, blocking};
    ///
    /// let (generators, driver) = Generators::open(MemoryStore::new(), Options::default());
    /// let driver = blocking::spawn(driver)?;
    /// let mut spec = TagSpec::new(Tag::new("order")?);
    /// spec.start = 5000;
    /// blocking::block_on(generators.create_tag(&spec))?;
    /// assert_eq!(generators.next_blocking("order")?.get(), 5000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn create_tag(&self, spec: &TagSpec) -> Result<TagRecord, StoreError> {
        let spec = self.new_tag(spec).await?;
        spec.check_start()?;
        self.create_checked(&spec).await
    }

    /// A tag that is to be created, checked, and with what its format and its name demand.
    async fn new_tag(&self, spec: &TagSpec) -> Result<TagSpec, StoreError> {
        let checked = spec.tag.check_new();
        checked.map_err(|error| StoreError::Unsupported {
            message: error.to_string(),
        })?;
        spec.check()?;
        let spec = self.with_room_for_format(spec)?;
        self.check_beside_counter(&spec).await?;
        self.as_period(spec).await
    }

    async fn create_checked(&self, spec: &TagSpec) -> Result<TagRecord, StoreError> {
        let created = self.call_store(|store| store.create(spec)).await;
        if let Ok(_) | Err(StoreError::TagExists) = &created
            && let Some(allocator) = self.loaded(spec.tag.as_str())
        {
            allocator.expect_row();
        }
        created
    }

    /// Changes a tag's settings. They apply here at once, elsewhere within `refresh_interval`.
    ///
    /// # Errors
    ///
    /// As [`SegmentStore::update`](crate::store::SegmentStore::update), and
    /// [`StoreError::BadField`] for settings that the tag may not have ([`TagPatch::check`],
    /// [`TagPatch::check_kind`]).
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::{MemoryStore, TagPatch, TagSpec};
    /// use leafid::{Generators, Options, Tag, blocking::block_on};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// let tag = Tag::new("order")?;
    /// block_on(generators.create_tag(&TagSpec::new(tag.clone())))?;
    /// let patch = TagPatch { step: Some(5000), ..TagPatch::default() };
    /// assert_eq!(block_on(generators.update_tag(&tag, &patch))?.settings.step, 5000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn update_tag(&self, tag: &Tag, patch: &TagPatch) -> Result<TagRecord, StoreError> {
        patch.check()?;
        // A row that cannot be read may be mended by the patch.
        if patch.check_kind(TagKind::Snowflake).is_err()
            && let Ok(Some(record)) = self.read_tag(tag).await
        {
            patch.check_kind(record.settings.kind)?;
            self.check_limit(patch.limit, &record)?;
            self.check_limit_of_period(patch.limit, tag).await?;
        }
        let record = self.call_store(|store| store.update(tag, patch)).await?;
        if let Some(allocator) = self.loaded(tag.as_str()) {
            allocator.refresh(self.shared(), &record, None);
        }
        Ok(record)
    }

    /// Deletes a tag. This process stops issuing from it at once, others within
    /// `refresh_interval`. The store remembers how far it went.
    ///
    /// # Errors
    ///
    /// As [`SegmentStore::delete`](crate::store::SegmentStore::delete); and, where the store went
    /// back in time, as [`reserve`](Self::reserve).
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::{MemoryStore, TagSpec};
    /// use leafid::{Generators, Options, Tag, blocking::block_on};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// let tag = Tag::new("order")?;
    /// block_on(generators.create_tag(&TagSpec::new(tag.clone())))?;
    /// block_on(generators.delete_tag(&tag))?;
    /// assert!(block_on(generators.read_tag(&tag))?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn delete_tag(&self, tag: &Tag) -> Result<(), StoreError> {
        if let Some(record) = self.read_tag(tag).await? {
            self.repair_row(record).await?;
        }
        self.call_store(|store| store.delete(tag)).await?;
        if let Some(allocator) = self.loaded(tag.as_str()) {
            allocator.forget_row(self.shared(), None);
        }
        Ok(())
    }

    /// Reserves exactly `count` adjacent ids of a tag directly from the store, past memory: for a
    /// program that takes a few ids and ends, and would lose the rest of a segment. Unique like all
    /// ids, but not in order with those from memory.
    ///
    /// # Errors
    ///
    /// As [`SegmentStore::reserve`](crate::store::SegmentStore::reserve), and
    /// [`StoreError::Unsupported`] for a snowflake tag.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::{MemoryStore, TagSpec};
    /// use leafid::{Generators, Options, Tag, blocking::block_on};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// let tag = Tag::new("order")?;
    /// block_on(generators.create_tag(&TagSpec::new(tag.clone())))?;
    /// assert_eq!(block_on(generators.reserve(&tag, 3))?.to_string(), "[1, 4)");
    /// assert_eq!(block_on(generators.reserve(&tag, 3))?.to_string(), "[4, 7)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn reserve(&self, tag: &Tag, count: u64) -> Result<Segment, StoreError> {
        let record = self.read_segment_tag(tag).await?;
        let reserve = Reserve {
            tag: tag.clone(),
            count: count.max(1),
            floor: Some(record.max_id),
            margin: 0,
            limit: record.settings.limit,
            is_longest: record.segment_max < Some(count),
        };
        let Some(allocator) = self.guard_of(tag)? else {
            let reserved = self.call_store(|store| store.reserve(&reserve)).await?;
            return Ok(reserved.segment);
        };
        loop {
            // At most twice: a store that went back twice in a row is refused.
            let call = self.call_store(|store| {
                // The tag may have come further since the last try.
                let wish = allocator.with_current_state(self.shared(), &reserve);
                Box::pin(async move {
                    let reserved = store.reserve(&wish).await?;
                    Ok((wish, reserved))
                })
            });
            let (wish, reserved) = call.await?;
            if let Some(segment) = allocator.accept(self.shared(), &wish, reserved)? {
                return Ok(segment);
            }
        }
    }

    /// What the ids of a tag look like, by its row.
    ///
    /// # Errors
    ///
    /// [`FormatError::Invalid`] for a format that the compiler of [`Options`](crate::Options)
    /// refuses, and [`FormatError::Unavailable`] without one.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::format::Form;
    /// use leafid::{Generators, Options, Tag, store::{MemoryStore, TagSpec}};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// let record = TagSpec::new(Tag::new("order")?).record();
    /// assert!(matches!(generators.form_of(&record)?, Form::Plain));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn form_of(&self, record: &TagRecord) -> Result<Form, FormatError> {
        let compiler = self.options().formats.as_ref().map(FormatCompiler::get);
        Form::of(record, compiler)
    }

    /// Whether the segments of a tag are those of its periods.
    fn is_calendar(&self, record: &TagRecord) -> bool {
        matches!(self.form_of(record), Ok(Form::Calendar(_)))
    }

    /// The tag with a limit that its format can write. The format is checked.
    fn with_room_for_format(&self, spec: &TagSpec) -> Result<TagSpec, StoreError> {
        let mut spec = spec.clone();
        let form = self.form_of(&spec.record()).map_err(|error| match error {
            FormatError::Invalid(message) => {
                TagFieldError::bad_format(spec.format.as_deref(), &message).into()
            }
            error => StoreError::Unsupported {
                message: error.to_string(),
            },
        })?;
        if let Some(Err(FormatError::MissingKey(message))) =
            form.format().map(|one| one.check(None))
        {
            return Err(TagFieldError::missing_key(spec.format.as_deref(), &message).into());
        }
        if let Form::Calendar(format) = &form {
            period_names::check_counter(&spec, &**format)?;
        }
        if let Form::Formatted(format) = form
            && spec.settings.kind == TagKind::Segment
        {
            let largest = Limit::new(format.largest()).unwrap_or_default();
            spec.settings.limit = spec.settings.limit.min(largest);
        }
        Ok(spec)
    }

    /// Refuses a limit beyond what the tag's format can write.
    fn check_limit(&self, limit: Option<Limit>, record: &TagRecord) -> Result<(), StoreError> {
        let (Some(limit), Ok(Form::Formatted(format))) = (limit, self.form_of(record)) else {
            return Ok(());
        };
        let largest = format.largest();
        match record.settings.kind == TagKind::Segment && limit.largest() > largest {
            true => Err(TagFieldError::bad_limit(limit, largest).into()),
            false => Ok(()),
        }
    }

    /// The row, after a reservation if it is behind what this process has seen: a change or
    /// deletion would make the lower value look original to servers that saw less.
    async fn repair_row(&self, record: TagRecord) -> Result<TagRecord, StoreError> {
        let tag = &record.tag;
        let allocator = self.guard_of(tag)?;
        let is_behind = |one: &Arc<Allocator>| one.has_seen_beyond(self.shared(), record.max_id);
        let Some(allocator) = allocator.filter(is_behind) else {
            return Ok(record);
        };
        if record.settings.kind != TagKind::Segment {
            return Ok(record);
        }
        allocator.skip_whole(self.reserve(tag, 1).await?);
        self.read_segment_tag(tag).await
    }

    async fn read_segment_tag(&self, tag: &Tag) -> Result<TagRecord, StoreError> {
        let record = self.read_tag(tag).await?.ok_or(StoreError::UnknownTag)?;
        if record.settings.kind == TagKind::Segment && !self.is_calendar(&record) {
            return Ok(record);
        }
        let message = record.no_segments().to_string();
        Err(StoreError::Unsupported { message })
    }

    /// Reads a tag's row; `None` if it has none.
    ///
    /// # Errors
    ///
    /// As [`SegmentStore::read`](crate::store::SegmentStore::read).
    ///
    /// # Example
    ///
    /// See [`delete_tag`](Self::delete_tag).
    pub async fn read_tag(&self, tag: &Tag) -> Result<Option<TagRecord>, StoreError> {
        let tags = std::slice::from_ref(tag);
        Ok(self.call_store(|store| store.read(tags)).await?.pop())
    }

    /// Lists up to `count` tags in ascending byte order, from the first one after `after`.
    ///
    /// # Errors
    ///
    /// As [`SegmentStore::list`](crate::store::SegmentStore::list).
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Generators, Options, blocking::block_on, store::MemoryStore};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// assert!(block_on(generators.list_tags(None, 10))?.is_empty());
    /// # Ok::<(), leafid::store::StoreError>(())
    /// ```
    pub async fn list_tags(
        &self,
        after: Option<&Tag>,
        count: u32,
    ) -> Result<Vec<TagRecord>, StoreError> {
        self.call_store(|store| store.list(after, count)).await
    }

    /// Reports what the store is and whether it is durable.
    ///
    /// # Errors
    ///
    /// As [`SegmentStore::inspect`](crate::store::SegmentStore::inspect).
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Generators, Options, blocking::block_on, store::MemoryStore};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// assert_eq!(block_on(generators.inspect_store())?.product, "memory");
    /// # Ok::<(), leafid::store::StoreError>(())
    /// ```
    pub async fn inspect_store(&self) -> Result<StoreReport, StoreError> {
        self.call_store(|store| store.inspect()).await
    }

    /// Checks whether a reservation could succeed now, and returns the server that would be used.
    ///
    /// # Errors
    ///
    /// As [`SegmentStore::probe`](crate::store::SegmentStore::probe).
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Generators, Options, blocking::block_on, store::MemoryStore};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// assert_eq!(block_on(generators.probe_store())?, "memory:");
    /// # Ok::<(), leafid::store::StoreError>(())
    /// ```
    pub async fn probe_store(&self) -> Result<String, StoreError> {
        self.shared().store.probe().await
    }

    /// Whether reservations succeed, as the driver last saw it. Makes no call.
    ///
    /// # Example
    ///
    /// See [`StoreState`].
    #[must_use]
    pub fn store_state(&self) -> StoreState {
        self.shared().availability.state()
    }

    /// Calls the store, again after conflicts; a failure makes the driver check whether it is down.
    async fn call_store<'s, T>(
        &'s self,
        call: impl Fn(&'s dyn SegmentStore) -> StoreResult<'s, T>,
    ) -> Result<T, StoreError> {
        let shared = self.shared();
        let answer = shared.conflict_retry.run(|| call(&*shared.store)).await;
        answer.inspect_err(|error| shared.store_suspect(error))
    }

    /// The allocator that knows how far a tag has come here, if the tag was used here.
    fn guard_of(&self, tag: &Tag) -> Result<Option<Arc<Allocator>>, StoreError> {
        let loaded = self.loaded(tag.as_str());
        if loaded.is_some() || !self.shared().floors.knows(tag) {
            return Ok(loaded);
        }
        let made = self.allocator(tag.as_str()).map(Some);
        made.map_err(|error| StoreError::unavailable("the tag cannot be loaded", error))
    }

    fn loaded(&self, tag: &str) -> Option<Arc<Allocator>> {
        self.shared().tags.pin().get(tag).cloned()
    }
}
