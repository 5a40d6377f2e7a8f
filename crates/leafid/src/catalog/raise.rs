//! Raising a tag: its next segment starts further up.

use crate::generators::Generators;
use crate::limit::Limit;
use crate::store::{Reserve, StoreError, TagPatch, TagRecord};
use crate::tag::Tag;

impl Generators {
    /// Checks, without changing anything, that a tag may be [raised](Self::raise_tag) to `next`;
    /// `limit` is the limit that it is to have by then, if that is to change too.
    ///
    /// # Errors
    ///
    /// As [`raise_tag`](Self::raise_tag).
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::{MemoryStore, StoreError, TagSpec};
    /// use leafid::{Generators, Options, Tag, blocking::block_on};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// let tag = Tag::new("order")?;
    /// block_on(generators.create_tag(&TagSpec::new(tag.clone())))?;
    /// assert!(block_on(generators.check_raise(&tag, 5000, None)).is_ok());
    /// let behind = block_on(generators.check_raise(&tag, 1, None));
    /// assert!(matches!(behind, Err(StoreError::NextBehind { max_id: 1, .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn check_raise(
        &self,
        tag: &Tag,
        next: u64,
        limit: Option<Limit>,
    ) -> Result<(), StoreError> {
        TagPatch::check_next(next)?;
        let record = self.read_segment_tag(tag).await?;
        TagPatch::check_next_within(tag, next, limit.unwrap_or(record.settings.limit))?;
        match next > record.max_id {
            true => Ok(()),
            false => Err(behind(tag, record.max_id)),
        }
    }

    /// Sets the start of a tag's next segment to `next`, which can only be raised: after restoring
    /// a store from a backup, or taking over ids from elsewhere. Servers first issue the ids that
    /// they hold in memory. A period of a calendar counter, `NAME@LABEL`, that has no tag yet gets
    /// one, which starts there. Processes that saw more of a tag whose row is gone go on above that.
    ///
    /// # Errors
    ///
    /// As [`SegmentStore::reserve`](crate::store::SegmentStore::reserve),
    /// [`StoreError::BadField`] for 0 and above the largest [`Limit`](crate::Limit),
    /// [`StoreError::NextBeyond`] for more than one above the tag's limit,
    /// [`StoreError::NextBehind`] if the tag has come that far already, and
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
    /// assert_eq!(block_on(generators.raise_tag(&tag, 5000))?.max_id, 5000);
    /// assert!(block_on(generators.raise_tag(&tag, 5000)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn raise_tag(&self, tag: &Tag, next: u64) -> Result<TagRecord, StoreError> {
        TagPatch::check_next(next)?;
        if let Some(begun) = self.begin_at(tag, next).await? {
            return Ok(begun);
        }
        let record = self.read_segment_tag(tag).await?;
        TagPatch::check_next_within(tag, next, record.settings.limit)?;
        let record = self.repair_row(record).await?;
        if next <= record.max_id {
            return Err(behind(tag, record.max_id));
        }
        // The id below is reserved and skipped: one statement, as durable as any reservation.
        let reserve = Reserve {
            tag: tag.clone(),
            count: 1,
            floor: Some(next - 1),
            margin: 0,
            limit: record.settings.limit,
            is_longest: false,
        };
        let reserved = self.call_store(|store| store.reserve(&reserve)).await?;
        if let Some(allocator) = self.loaded(tag.as_str()) {
            allocator.raise_floor(self.shared(), reserved.segment.end());
        }
        self.read_segment_tag(tag).await
    }

    /// Creates the tag of a calendar counter's period, if it is one that does not exist.
    async fn begin_at(&self, tag: &Tag, next: u64) -> Result<Option<TagRecord>, StoreError> {
        if self.read_tag(tag).await?.is_some() {
            return Ok(None);
        }
        let Some(mut spec) = self.period_of_name(tag).await? else {
            return Ok(None);
        };
        TagPatch::check_next_within(tag, next, spec.settings.limit)?;
        let guard = self.guard_of(tag)?;
        let floor = guard.and_then(|allocator| allocator.floor(self.shared()));
        if let Some(max_id) = floor.filter(|floor| *floor > next) {
            return Err(behind(tag, max_id));
        }
        spec.start = next;
        // Also one above the last number, where the period has none left.
        let spec = self.new_tag(&spec).await?;
        match self.create_checked(&spec).await {
            // Begun meanwhile: it is raised.
            Err(StoreError::TagExists) => Ok(None),
            // It had a tag before, which the store remembers.
            Ok(TagRecord { max_id, .. }) if max_id > next => Err(behind(tag, max_id)),
            begun => begun.map(Some),
        }
    }
}

/// The refusal to raise a tag that has come further.
fn behind(tag: &Tag, max_id: u64) -> StoreError {
    let tag = tag.clone();
    StoreError::NextBehind { tag, max_id }
}
