//! Loads many new tags at once: their rows are read in one statement, so that many unknown names
//! cost the store little, and the real tags among them wait little.
//!
//! Only reads: tags with a row then ask for segments like any tag in use.

use std::collections::HashMap;
use std::sync::Arc;

use super::shared::bounded;
use super::{Allocator, RefillOutcome, Shared};
use crate::event::Event;
use crate::store::TagRecord;
use crate::tag::Tag;

impl Allocator {
    /// Reads the rows of these tags. An invalid row is missing from the answer, like one that does
    /// not exist: the error shows when the tag is requested alone.
    pub(crate) async fn load_all(
        shared: &Shared,
        allocators: Vec<Arc<Self>>,
    ) -> Vec<(Arc<Self>, RefillOutcome)> {
        let tags: Vec<Tag> = allocators.iter().map(|one| one.tag.clone()).collect();
        let versions: Vec<u64> = allocators.iter().map(|one| one.begin(shared)).collect();
        let read = || bounded(shared, shared.store.read(&tags));
        let answer = shared.conflict_retry.run(read).await.map_err(Arc::new);
        let records = answer.as_ref().map(|records| {
            let records = records.iter().map(|record| (&record.tag, record));
            records.collect::<HashMap<&Tag, &TagRecord>>()
        });
        let mut loaded = Vec::with_capacity(allocators.len());
        for (allocator, version) in allocators.into_iter().zip(versions) {
            let outcome = match &records {
                Ok(records) => {
                    allocator.on_batch_read(shared, records.get(&allocator.tag), version)
                }
                Err(error) => allocator.on_error(shared, error, version),
            };
            allocator.notify();
            loaded.push((allocator, outcome));
        }
        loaded
    }

    fn on_batch_read(
        &self,
        shared: &Shared,
        record: Option<&&TagRecord>,
        version: u64,
    ) -> RefillOutcome {
        match record {
            Some(record) => {
                if self.on_record(shared, record, version) {
                    shared.emit(&Event::Loaded { tag: &self.tag });
                }
                RefillOutcome::Again
            }
            None if shared.options.create_missing.is_some() => {
                self.lock().row.is_absent = true;
                RefillOutcome::Again
            }
            None => self.on_unknown_tag(shared, version),
        }
    }
}
