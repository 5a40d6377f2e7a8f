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
//!         Handles { first: store.clone(), second: store }
//!     },
//! );
//! assert!(passed.unwrap() >= 30);
//! ```

mod names;
mod reserving;
mod rows;
mod tags;
mod together;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::{BoxFuture, Reserve, Reserved, SegmentStore, StoreError, TagRecord, TagSpec};
use crate::limit::Limit;
use crate::segment::Segment;
use crate::tag::Tag;

/// Two ways into one fresh and empty store, as two processes would have them.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use leafid::store::{MemoryStore, conformance::Handles};
///
/// let store = Arc::new(MemoryStore::new());
/// let handles = Handles { first: store.clone(), second: store };
/// # drop(handles);
/// ```
#[derive(Clone)]
pub struct Handles {
    /// One process.
    pub first: Arc<dyn SegmentStore>,
    /// Another process on the same tags. A store that cannot be opened twice gives itself again.
    pub second: Arc<dyn SegmentStore>,
}

impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handles")
    }
}

/// The checks that a store did not pass, each with what the contract says.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use leafid::blocking::block_on;
/// use leafid::store::{MemoryStore, conformance::{Handles, run_all}};
///
/// let outcome = run_all(|future| block_on(future), || async {
///     // Two stores that know nothing of each other are not two handles on one.
///     Handles { first: Arc::new(MemoryStore::new()), second: Arc::new(MemoryStore::new()) }
/// });
/// assert!(outcome.unwrap_err().names().contains(&"two handles"));
/// ```
pub struct Failures(Vec<(&'static str, String)>);

impl Failures {
    /// The names of the checks.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "the store breaks the contract in {} checks:",
            self.0.len()
        )?;
        self.0
            .iter()
            .try_for_each(|(_, text)| writeln!(f, "{text}"))
    }
}

/// As [`Display`](fmt::Display), so that `unwrap` in a test reads well.
impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failures {}

/// What a check answers: `Err` says what was seen.
type Outcome = Result<(), String>;

struct Check {
    name: &'static str,
    contract: &'static str,
    run: for<'a> fn(&'a Handles) -> BoxFuture<'a, Outcome>,
}

macro_rules! check {
    ($name:literal, $contract:literal, $run:path) => {
        Check {
            name: $name,
            contract: $contract,
            run: |handles| Box::pin($run(handles)),
        }
    };
}
use check;

/// Runs every check, each on a store of its own, and answers how many there were.
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
        reserving::CHECKS,
        tags::CHECKS,
        rows::CHECKS,
        names::CHECKS,
        together::CHECKS,
    ]
    .concat();
    let mut failures = Vec::new();
    for check in &checks {
        let handles = wait(&block_on, make());
        let outcome = wait(&block_on, (check.run)(&handles));
        failures.extend(failure(check.name, check.contract, outcome));
    }
    let handles = wait(&block_on, make());
    let outcome = together::threads(&block_on, &handles);
    failures.extend(failure(together::THREADS.0, together::THREADS.1, outcome));
    if failures.is_empty() {
        Ok(checks.len() + 1)
    } else {
        Err(Failures(failures))
    }
}

fn failure(
    name: &'static str,
    contract: &'static str,
    outcome: Outcome,
) -> Option<(&'static str, String)> {
    let seen = outcome.err()?;
    Some((
        name,
        format!("- {name}: the contract says: {contract}. seen: {seen}"),
    ))
}

fn wait<B, T>(block_on: &B, future: impl Future<Output = T> + Send) -> T
where
    B: Fn(BoxFuture<'_, ()>),
    T: Send,
{
    let mut answer = None;
    block_on(Box::pin(async { answer = Some(future.await) }));
    answer.expect("block_on returns once the future is done")
}

impl Clone for Check {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Check {}

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
        limit: Limit::INT64,
    }
}

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

fn same<T: PartialEq + fmt::Debug>(what: &str, seen: &T, wanted: &T) -> Outcome {
    if seen == wanted {
        Ok(())
    } else {
        Err(format!("{what} is {seen:?}, wanted {wanted:?}"))
    }
}

fn segment(what: &str, reserved: &Reserved, start: u64, end: u64) -> Outcome {
    let wanted = Segment::new(start, end).expect("the suite's segments are segments");
    same(what, &reserved.segment, &wanted)
}

/// Whether a call failed in the one way the contract allows.
fn refused<T: fmt::Debug>(
    what: &str,
    answer: Result<T, StoreError>,
    is_wanted: impl Fn(&StoreError) -> bool,
) -> Outcome {
    match answer {
        Ok(answer) => Err(format!("{what} went through with {answer:?}")),
        Err(error) if is_wanted(&error) => Ok(()),
        Err(error) => Err(format!("{what} failed with {error:?}")),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
