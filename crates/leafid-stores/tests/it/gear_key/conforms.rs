//! The conformance suite on the table, with the names of the checks that it has no place for.

use std::sync::Arc;

use leafid::Tag;
use leafid::store::conformance::{Handles, run_all};
use leafid::store::{
    Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagPatch, TagRecord,
    TagSpec,
};
use leafid_stores::gear_key::TABLE_SQL;
use leafid_testbed::shared_mariadb;

use super::{GEAR_SQL, with};
use crate::{open_at, runtime};

/// Calls again after a conflict, as the driver does.
struct Retrying(Arc<dyn SegmentStore>);

impl SegmentStore for Retrying {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        Box::pin(async {
            loop {
                match self.0.reserve(reserve).await {
                    Err(StoreError::Conflict { .. }) => tokio::task::yield_now().await,
                    answer => return answer,
                }
            }
        })
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        self.0.read(tags)
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        self.0.list(after, count)
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        self.0.create(spec)
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        self.0.update(tag, patch)
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        self.0.delete(tag)
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        self.0.inspect()
    }

    fn probe(&self) -> StoreResult<'_, String> {
        self.0.probe()
    }
}

/// The checks that delete tags, or keep what the table has no place for.
const NO_PLACE: [&str; 23] = [
    "what is created is read",
    "settings keep",
    "descriptions keep",
    "create twice",
    "create after delete",
    "a larger start wins",
    "a new life has new settings",
    "update in part",
    "update to nothing",
    "update to the same",
    "unknown tags",
    "kinds keep",
    "a snowflake tag has no segments",
    "no segments after snowflake ids",
    "every kind",
    "formats keep",
    "a format is for life",
    "formats of texts",
    "inspect",
    "odd names",
    "patterns are names",
    "another case is another tag",
    "lives do not overlap",
];

/// Guards the contract, as far as the table has a place for what it asks for.
#[test]
fn gear_key_conforms_as_far_as_it_can() {
    let runtime = runtime();
    let failed = |table: &str| {
        let failures = run_all(
            |future| runtime.block_on(future),
            || async {
                let database = with(shared_mariadb(), &[table]);
                let [first, second] = [
                    Retrying(open_at(&database.url).await),
                    Retrying(open_at(&database.url).await),
                ];
                Handles {
                    first: Arc::new(first),
                    second: Arc::new(second),
                    by_hand: None,
                }
            },
        );
        failures.unwrap_err()
    };
    let failures = failed(TABLE_SQL);
    assert_eq!(failures.names(), NO_PLACE, "{failures}");
    let failures = failed(GEAR_SQL);
    // Its character set has no emoji, which that check uses in a name.
    let mut names = failures.names();
    names.retain(|name| *name != "list by pages");
    assert_eq!(names, NO_PLACE, "{failures}");
}
