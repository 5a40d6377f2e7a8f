//! Stores in this process: for tests, examples and programs that need no durability.

mod lease;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{
    Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagKind, TagPatch,
    TagRecord, TagSpec, Weakness,
};
use crate::tag::Tag;

pub use lease::MemoryLeaseStore;

/// A store that forgets everything when the process ends. **Thread-safe.**
///
/// Ids repeat after a restart, so use it only where that is harmless.
///
/// # Example
///
/// ```
/// use leafid::store::{MemoryStore, SegmentStore, TagSpec};
/// use leafid::{Tag, blocking::block_on};
///
/// let store = MemoryStore::new();
/// block_on(store.create(&TagSpec::new(Tag::new("order")?)))?;
/// assert_eq!(block_on(store.list(None, 10))?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    rows: Mutex<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    live: BTreeMap<Tag, TagRecord>,
    /// What is left of deleted tags: their row, with how far the segments of that name went.
    deleted: BTreeMap<Tag, TagRecord>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the max id of a tag to any value, even a lower one, as restoring a backup does. For
    /// tests.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownTag`].
    pub fn put_max_id(&self, tag: &Tag, max_id: u64) -> Result<(), StoreError> {
        self.lock().row(tag)?.max_id = max_id;
        Ok(())
    }

    /// Creates the row of a tag past the store, with the settings of a new one: as an operator's
    /// own `INSERT` does, which ignores that the tag existed before. Only its format is that of the
    /// deleted tag. For tests.
    pub fn put_row(&self, tag: &Tag, max_id: u64) {
        let mut rows = self.lock();
        let format = rows.deleted.get(tag).and_then(|row| row.format.clone());
        let record = TagRecord {
            max_id,
            format,
            ..TagSpec::new(tag.clone()).record()
        };
        rows.live.insert(tag.clone(), record);
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn row(&mut self, tag: &Tag) -> Result<&mut TagRecord, StoreError> {
        self.live.get_mut(tag).ok_or(StoreError::UnknownTag)
    }

    /// The row as it is read: not below where a former tag of this name ended.
    fn record(&self, row: &TagRecord) -> TagRecord {
        let former = self.former(&row.tag);
        TagRecord {
            max_id: row.max_id.max(former),
            ..row.clone()
        }
    }

    /// How far a former tag of this name went.
    fn former(&self, tag: &Tag) -> u64 {
        self.deleted.get(tag).map_or(0, |row| row.max_id)
    }

    fn reserve(&mut self, reserve: &Reserve) -> Result<Reserved, StoreError> {
        let former = self.former(&reserve.tag);
        let row = self.row(&reserve.tag)?;
        if row.settings.kind != TagKind::Segment {
            return Err(StoreError::UnknownTag);
        }
        let reserved = reserve.reserved(row.max_id.max(former))?;
        row.max_id = reserved.segment.end();
        if reserve.is_longest {
            row.segment_max = row.segment_max.max(Some(reserve.count));
        }
        Ok(reserved)
    }

    fn create(&mut self, spec: &TagSpec) -> Result<TagRecord, StoreError> {
        if self.live.contains_key(&spec.tag) {
            return Err(StoreError::TagExists);
        }
        let mut record = spec.record();
        if let Some(former) = self.deleted.get(&spec.tag) {
            spec.check_former(former.settings.kind, former.format.as_deref())?;
            record.max_id = record.max_id.max(former.max_id);
        }
        self.live.insert(spec.tag.clone(), record.clone());
        Ok(record)
    }

    fn update(&mut self, tag: &Tag, patch: &TagPatch) -> Result<TagRecord, StoreError> {
        let row = self.row(tag)?;
        row.settings.step = patch.step.unwrap_or(row.settings.step);
        row.settings.policy = patch.policy.unwrap_or(row.settings.policy);
        row.settings.limit = patch.limit.unwrap_or(row.settings.limit);
        if let Some(description) = &patch.description {
            row.description.clone_from(description);
        }
        let row = row.clone();
        Ok(self.record(&row))
    }

    fn delete(&mut self, tag: &Tag) -> Result<(), StoreError> {
        let row = self.live.remove(tag).ok_or(StoreError::UnknownTag)?;
        let max_id = row.max_id.max(self.former(tag));
        self.deleted
            .insert(tag.clone(), TagRecord { max_id, ..row });
        Ok(())
    }
}

impl SegmentStore for MemoryStore {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        Box::pin(async { self.lock().reserve(reserve) })
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        Box::pin(async {
            let rows = self.lock();
            Ok(tags
                .iter()
                .filter_map(|tag| Some(rows.record(rows.live.get(tag)?)))
                .collect())
        })
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        Box::pin(async move {
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            let rows = self.lock();
            let page = rows
                .live
                .range::<Tag, _>((from, Bound::Unbounded))
                .take(count as usize);
            Ok(page.map(|(_, row)| rows.record(row)).collect())
        })
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        Box::pin(async { self.lock().create(spec) })
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        Box::pin(async { self.lock().update(tag, patch) })
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        Box::pin(async { self.lock().delete(tag) })
    }

    fn probe(&self) -> StoreResult<'_, String> {
        Box::pin(async { Ok("memory:".into()) })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(async {
            Ok(StoreReport {
                product: "memory".into(),
                location: "memory:".into(),
                identity: "this process".into(),
                has_own_table: true,
                missing: Vec::new(),
                transport: None,
                weaknesses: vec![Weakness {
                    setting: "store".into(),
                    value: "memory".into(),
                    wanted: "a durable store".into(),
                    danger: "everything is forgotten when the process ends".into(),
                }],
            })
        })
    }
}
