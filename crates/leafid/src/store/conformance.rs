//! The suite that every store must pass: one check per sentence of the [`SegmentStore`] contract.
//!
//! It needs no particular async runtime: the caller says how to wait for a future.
//!
//! ```
//! use std::sync::Arc;
//! use leafid::blocking::block_on;
//! use leafid::store::MemoryStore;
//! use leafid::store::conformance::{Handles, run_all};
//!
//! let passed = run_all(
//!     |future| block_on(future),
//!     || async {
//!         let store = Arc::new(MemoryStore::new());
//!         Handles { first: store.clone(), second: store, by_hand: None }
//!     },
//! );
//! assert!(passed.unwrap() >= 40);
//! ```

mod by_hand;
mod concurrency;
mod formats;
mod kinds;
mod names;
mod reserve;
mod rows;
mod tags;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

pub use super::check::Failures;
use super::check::{BlockOn, Outcome, chain, check, refused, run_checks, same, wait};
use super::{BoxFuture, Reserve, Reserved, SegmentStore, TagRecord, TagSpec};
use crate::limit::Limit;
use crate::segment::Segment;
use crate::tag::Tag;

/// Two handles on one fresh and empty store, as two processes would have them.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use leafid::store::{MemoryStore, conformance::Handles};
///
/// let store = Arc::new(MemoryStore::new());
/// let handles = Handles { first: store.clone(), second: store, by_hand: None };
/// # drop(handles);
/// ```
#[derive(Clone)]
pub struct Handles {
    /// One process.
    pub first: Arc<dyn SegmentStore>,
    /// Another process on the same tags. For a store that cannot be opened twice, the same handle.
    pub second: Arc<dyn SegmentStore>,
    /// Creates rows past the store; `None` if that is impossible. The checks that need it are
    /// skipped then.
    pub by_hand: Option<ByHand>,
}

/// Creates the row of a tag with this max id past the store, as an operator's own `INSERT` does.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use leafid::store::{MemoryStore, conformance::ByHand};
///
/// let store = Arc::new(MemoryStore::new());
/// let by_hand: ByHand = Arc::new(move |tag, max_id| {
///     store.put_row(&tag, max_id);
///     Box::pin(async {})
/// });
/// # drop(by_hand);
/// ```
pub type ByHand = Arc<dyn Fn(Tag, u64) -> BoxFuture<'static, ()> + Send + Sync>;

impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handles")
    }
}

/// Runs every check, each on a store of its own, and returns how many there were.
///
/// `block_on` waits for a future; it is called from several threads at once. `make` gives a
/// fresh and empty store.
///
/// # Errors
///
/// [`Failures`] names every check that the store did not pass.
pub fn run_all<B, M, F>(block_on: B, make: M) -> Result<usize, Failures>
where
    B: Fn(BoxFuture<'_, ()>) + Sync,
    M: Fn() -> F,
    F: Future<Output = Handles> + Send,
{
    let checks = [
        reserve::CHECKS,
        tags::CHECKS,
        kinds::CHECKS,
        formats::CHECKS,
        rows::CHECKS,
        names::CHECKS,
        concurrency::CHECKS,
        by_hand::CHECKS,
    ];
    run_checks(checks.into_iter().flatten(), &block_on, make)
}

fn tag(name: &str) -> Tag {
    Tag::new(name).expect("the suite's names are tags")
}

fn limit(largest: u64) -> Limit {
    Limit::new(largest).expect("the suite's limits are limits")
}

fn wish(name: &str, count: u64) -> Reserve {
    Reserve {
        tag: tag(name),
        count,
        floor: None,
        margin: 0,
        limit: Limit::INT64,
        is_longest: false,
    }
}

type Check = super::check::Check<Handles>;

/// Creates a tag with default settings.
async fn create(store: &dyn SegmentStore, name: &str) -> Result<TagRecord, String> {
    create_as(store, &TagSpec::new(tag(name))).await
}

async fn create_as(store: &dyn SegmentStore, spec: &TagSpec) -> Result<TagRecord, String> {
    let created = store.create(spec).await;
    created.map_err(|error| format!("create {:?}: {}", spec.tag, chain(&error)))
}

async fn reserve(store: &dyn SegmentStore, wish: &Reserve) -> Result<Reserved, String> {
    let reserved = store.reserve(wish).await;
    reserved.map_err(|error| format!("{wish:?}: {}", chain(&error)))
}

async fn delete(store: &dyn SegmentStore, name: &str) -> Outcome {
    let deleted = store.delete(&tag(name)).await;
    deleted.map_err(|error| format!("delete {name:?}: {}", chain(&error)))
}

/// The row of a tag, if it has one.
async fn row(store: &dyn SegmentStore, name: &str) -> Result<Option<TagRecord>, String> {
    let tags = [tag(name)];
    let rows = store.read(&tags).await;
    let mut rows = rows.map_err(|error| format!("read {name:?}: {}", chain(&error)))?;
    if rows.len() > 1 {
        return Err(format!("read of one tag answers {rows:?}"));
    }
    Ok(rows.pop())
}

async fn max_id(store: &dyn SegmentStore, name: &str) -> Result<u64, String> {
    Ok(row(store, name)
        .await?
        .ok_or(format!("{name:?} has no row"))?
        .max_id)
}

fn segment(what: &str, reserved: &Reserved, start: u64, end: u64) -> Outcome {
    let wanted = Segment::new(start, end).expect("the suite's segments are segments");
    same(what, &reserved.segment, &wanted)
}
