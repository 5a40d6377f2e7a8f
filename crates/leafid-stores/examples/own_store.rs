//! A store of your own: the contract is `SegmentStore`, and the conformance suite checks it.
#![expect(clippy::print_stdout, reason = "an example shows its ids")]

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use leafid::store::{
    Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagKind, TagPatch,
    TagRecord, TagSpec,
};
use leafid::{Generators, Options, Tag};

/// Keeps tags in memory, to be short: a real store answers only once its change is durable.
#[derive(Default)]
struct OwnStore(Mutex<BTreeMap<Tag, Row>>);

struct Row {
    record: TagRecord,
    /// A deleted tag stays, so that it continues where it was if it is created again.
    is_deleted: bool,
}

impl OwnStore {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Tag, Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the row of a tag, in one transaction.
    fn change<T>(
        &self,
        tag: &Tag,
        change: impl FnOnce(&mut Row) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.lock().get_mut(tag) {
            Some(row) if !row.is_deleted => change(row),
            _ => Err(StoreError::UnknownTag),
        }
    }
}

impl SegmentStore for OwnStore {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        Box::pin(async {
            self.change(&reserve.tag, |row| {
                if row.record.settings.kind != TagKind::Segment {
                    return Err(StoreError::UnknownTag);
                }
                let reserved = reserve.reserved(row.record.max_id)?;
                row.record.max_id = reserved.segment.end();
                if reserve.is_longest {
                    row.record.segment_max = row.record.segment_max.max(Some(reserve.count));
                }
                Ok(reserved)
            })
        })
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        Box::pin(async {
            let rows = self.lock();
            let found = tags.iter().filter_map(|tag| rows.get(tag));
            let live = found.filter(|row| !row.is_deleted);
            Ok(live.map(|row| row.record.clone()).collect())
        })
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        Box::pin(async move {
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            let rows = self.lock();
            let rows = rows.range::<Tag, _>((from, Bound::Unbounded));
            let live = rows.filter(|(_, row)| !row.is_deleted).take(count as usize);
            Ok(live.map(|(_, row)| row.record.clone()).collect())
        })
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        Box::pin(async {
            let mut rows = self.lock();
            let former = match rows.get(&spec.tag) {
                Some(row) if !row.is_deleted => return Err(StoreError::TagExists),
                Some(row) => {
                    let former = &row.record;
                    spec.check_former(former.settings.kind, former.format.as_deref())?;
                    row.record.max_id
                }
                None => 1,
            };
            let mut record = spec.record();
            record.max_id = record.max_id.max(former);
            let is_deleted = false;
            let row = Row {
                record: record.clone(),
                is_deleted,
            };
            rows.insert(spec.tag.clone(), row);
            Ok(record)
        })
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        Box::pin(async {
            self.change(tag, |Row { record, .. }| {
                let settings = &mut record.settings;
                settings.step = patch.step.unwrap_or(settings.step);
                settings.policy = patch.policy.unwrap_or(settings.policy);
                settings.limit = patch.limit.unwrap_or(settings.limit);
                if let Some(description) = &patch.description {
                    record.description.clone_from(description);
                }
                Ok(record.clone())
            })
        })
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        Box::pin(async {
            self.change(tag, |row| {
                row.is_deleted = true;
                Ok(())
            })
        })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(async {
            Ok(StoreReport {
                product: "my store".into(),
                location: "memory".into(),
                identity: "this process".into(),
                has_own_table: true,
                missing: Vec::new(),
                transport: None,
                weaknesses: Vec::new(), // what could lose a reservation, such as a setting
            })
        })
    }

    fn probe(&self) -> StoreResult<'_, String> {
        Box::pin(async { Ok("memory".into()) })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (ids, driver) = Generators::open(OwnStore::default(), Options::default());
    tokio::spawn(driver);
    let orders = ids.ensure_tag("order").await?;
    println!("order {}", orders.next().await?);
    Ok(())
}

#[cfg(test)]
mod support;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use leafid::blocking::block_on;
    use leafid::store::conformance::{Handles, run_all};

    use super::OwnStore;
    use super::support::{Example, check_shown};

    /// Guards that the store keeps the contract.
    #[test]
    fn it_conforms() {
        let fresh = || async {
            let first = Arc::new(OwnStore::default());
            let second = first.clone();
            let by_hand = None;
            Handles {
                first,
                second,
                by_hand,
            }
        };
        let passed = run_all(|future| block_on(future), fresh);
        passed.expect("the contract is kept");
    }

    /// Guards that it gives ids.
    #[test]
    fn it_runs() {
        let Some(mut example) = Example::start("tests::it_runs", super::main, &[]) else {
            return;
        };
        assert_eq!(example.read("order "), "1");
        example.finish();
    }

    /// Guards that what the docs show is what runs.
    #[test]
    fn it_is_shown() {
        check_shown(include_str!("own_store.rs"), "docs/library.md");
    }
}
