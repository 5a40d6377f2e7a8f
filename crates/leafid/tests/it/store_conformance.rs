//! The store suite: the memory store passes it, and deliberately broken stores do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use leafid::blocking::block_on;
use leafid::store::conformance::{ByHand, Failures, Handles, run_all};
use leafid::store::{
    MemoryStore, Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagKind,
    TagPatch, TagRecord, TagSpec,
};
use leafid::{Limit, Segment, Tag};

/// Guards that the memory store keeps the contract.
#[test]
fn memory_conforms() {
    run_all(
        |future| block_on(future),
        || async {
            let store = Arc::new(MemoryStore::new());
            let rows = Arc::clone(&store);
            let by_hand: ByHand = Arc::new(move |tag, max_id| {
                rows.put_row(&tag, max_id);
                Box::pin(async {})
            });
            Handles {
                first: store.clone(),
                second: store,
                by_hand: Some(by_hand),
            }
        },
    )
    .unwrap();
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    OverlappingSegments,
    FloorIgnored,
    LimitIgnored,
    DeleteForgets,
    LostUpdates,
    CaseIgnored,
    PatchPutsBack,
    ListUnsorted,
    ReadLeavesOut,
    PreviousWrong,
    KindForgotten,
    FormatForgotten,
    ProbeChanges,
    FormerLifeIgnored,
}

/// A memory store with one fault.
struct Broken {
    inner: MemoryStore,
    fault: Fault,
    calls: AtomicU64,
    /// The max id of the row that was last created by hand.
    made_at: AtomicU64,
}

impl Broken {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn seen_as(&self, tag: &Tag) -> Tag {
        let name = if self.is(Fault::CaseIgnored) {
            tag.as_str().to_lowercase()
        } else {
            tag.to_string()
        };
        Tag::new(name).expect("lower case is no longer")
    }
}

/// Lets others run between two steps, as a round trip does.
pub(crate) async fn round_trip() {
    let mut is_first = true;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::take(&mut is_first) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
}

impl SegmentStore for Broken {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        Box::pin(async move {
            let mut wish = Reserve {
                tag: self.seen_as(&reserve.tag),
                ..reserve.clone()
            };
            if self.is(Fault::FloorIgnored) {
                wish.floor = None;
            }
            if self.is(Fault::LimitIgnored) {
                wish.limit = Limit::INT64;
            }
            if self.is(Fault::LostUpdates) {
                let rows = self.inner.read(std::slice::from_ref(&wish.tag)).await?;
                let row = rows.first().ok_or(StoreError::UnknownTag)?;
                let reserved = wish.reserved(row.max_id)?;
                round_trip().await;
                self.inner.put_max_id(&wish.tag, reserved.segment.end())?;
                return Ok(reserved);
            }
            let made_at = self.made_at.load(Ordering::Relaxed);
            if self.is(Fault::FormerLifeIgnored) && made_at < u64::MAX {
                return wish.reserved(made_at);
            }
            let mut reserved = self.inner.reserve(&wish).await?;
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            if self.is(Fault::OverlappingSegments) && call % 2 == 1 {
                let start = (reserved.segment.start() - 1).max(1);
                reserved.segment =
                    Segment::new(start, reserved.segment.end() - 1).expect("start <= end");
            }
            if self.is(Fault::PreviousWrong) {
                reserved.previous = reserved.segment.start();
            }
            Ok(reserved)
        })
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        Box::pin(async move {
            let tags: Vec<Tag> = tags.iter().map(|tag| self.seen_as(tag)).collect();
            let mut rows = self.inner.read(&tags).await?;
            if self.is(Fault::ReadLeavesOut) && rows.len() > 200 {
                rows.pop();
            }
            Ok(rows)
        })
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        Box::pin(async move {
            let mut page = self.inner.list(after, count).await?;
            if self.is(Fault::ListUnsorted) {
                page.sort_by_key(|record| record.tag.as_str().to_lowercase());
            }
            Ok(page)
        })
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        Box::pin(async move {
            let mut spec = TagSpec {
                tag: self.seen_as(&spec.tag),
                ..spec.clone()
            };
            if self.is(Fault::KindForgotten) {
                spec.settings.kind = TagKind::Segment;
            }
            if self.is(Fault::FormatForgotten) {
                spec.format = None;
            }
            let mut record = self.inner.create(&spec).await?;
            if self.is(Fault::DeleteForgets) {
                record.max_id = spec.start.max(1);
                self.inner.put_max_id(&spec.tag, record.max_id)?;
            }
            Ok(record)
        })
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        Box::pin(async move {
            let tag = self.seen_as(tag);
            let before = self.inner.read(std::slice::from_ref(&tag)).await?;
            round_trip().await;
            let record = self.inner.update(&tag, patch).await?;
            if self.is(Fault::PatchPutsBack) {
                self.inner.put_max_id(&tag, before[0].max_id)?;
            }
            Ok(record)
        })
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        Box::pin(async move { self.inner.delete(&self.seen_as(tag)).await })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        self.inner.inspect()
    }

    fn probe(&self) -> StoreResult<'_, String> {
        Box::pin(async move {
            if self.is(Fault::ProbeChanges) {
                for row in self.inner.list(None, 10).await? {
                    self.inner.put_max_id(&row.tag, row.max_id + 1)?;
                }
            }
            self.inner.probe().await
        })
    }
}

fn run_broken(fault: Fault) -> Result<usize, Failures> {
    run_all(
        |future| block_on(future),
        || async move {
            let store = Arc::new(Broken {
                inner: MemoryStore::new(),
                fault,
                calls: AtomicU64::new(0),
                made_at: AtomicU64::new(u64::MAX),
            });
            let broken = Arc::clone(&store);
            let by_hand: ByHand = Arc::new(move |tag, max_id| {
                broken.made_at.store(max_id, Ordering::Relaxed);
                broken.inner.put_row(&tag, max_id);
                Box::pin(async {})
            });
            Handles {
                first: store.clone(),
                second: store,
                by_hand: Some(by_hand),
            }
        },
    )
}

fn check(fault: Fault, expected: &str) {
    let failures = run_broken(fault).expect_err("a broken store must not pass");
    assert!(
        failures.names().contains(&expected),
        "{fault:?}: {failures}"
    );
}

/// Guards that the suite detects each of these faults, by the check meant for it.
#[test]
fn broken_stores_do_not_conform() {
    check(Fault::OverlappingSegments, "segments are adjacent");
    check(Fault::FloorIgnored, "a floor heals");
    check(Fault::LimitIgnored, "up to the limit");
    check(Fault::DeleteForgets, "create after delete");
    check(Fault::LostUpdates, "sixteen at once");
    check(Fault::CaseIgnored, "another case is another tag");
    check(Fault::PatchPutsBack, "updates do not put back");
    check(Fault::ListUnsorted, "list by pages");
    check(Fault::ReadLeavesOut, "read many");
    check(Fault::PreviousWrong, "a floor heals");
    check(Fault::KindForgotten, "kinds keep");
    check(Fault::FormatForgotten, "formats keep");
    check(Fault::FormatForgotten, "a format is for life");
    check(Fault::ProbeChanges, "probe");
    check(Fault::FormerLifeIgnored, "a row made by hand");
}

/// Guards that a failure names its check and the sentence of the contract.
#[test]
fn a_failure_quotes_the_contract() {
    let text = run_broken(Fault::FloorIgnored).unwrap_err().to_string();
    assert!(
        text.contains("a floor heals: the contract says: start is not below the floor"),
        "{text}"
    );
}
