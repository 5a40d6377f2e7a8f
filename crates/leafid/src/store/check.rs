//! The framework of the conformance suites: a check, how it is run, and how its failure is
//! reported. The checks themselves are in `conformance.rs` and `lease/conformance.rs`.

use std::fmt;
use std::future::Future;

use super::{BoxFuture, StoreError};

/// The failed checks of a store, each with the sentence of the contract.
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
///     let (first, second) = (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
///     Handles { first, second, by_hand: None }
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

/// The result of a check: `Err` says what was observed.
pub(super) type Outcome = Result<(), String>;

/// How the caller of a suite waits for a future; called from several threads at once.
pub(super) type BlockOn<'a> = &'a (dyn Fn(BoxFuture<'_, ()>) + Sync);

/// One sentence of a contract, and its check. `H` are the handles on the store.
pub(super) struct Check<H> {
    /// Its name, in a few words.
    pub(super) name: &'static str,
    /// The sentence.
    pub(super) contract: &'static str,
    /// The check.
    pub(super) run: Run<H>,
}

/// What a check needs.
pub(super) enum Run<H> {
    /// One future.
    Future(for<'a> fn(&'a H) -> BoxFuture<'a, Outcome>),
    /// Threads of its own, each of which waits for futures.
    Threads(fn(BlockOn<'_>, &H) -> Outcome),
}

macro_rules! check {
    ($name:literal, $contract:literal, threads: $run:path) => {
        $crate::store::check::Check {
            name: $name,
            contract: $contract,
            run: $crate::store::check::Run::Threads($run),
        }
    };
    ($name:literal, $contract:literal, $run:path) => {
        $crate::store::check::Check {
            name: $name,
            contract: $contract,
            run: $crate::store::check::Run::Future(|handles| Box::pin($run(handles))),
        }
    };
}
pub(super) use check;

/// Runs these checks, each on handles of its own, and returns how many there were.
pub(super) fn run_checks<'c, H, F>(
    checks: impl IntoIterator<Item = &'c Check<H>>,
    block_on: BlockOn<'_>,
    make: impl Fn() -> F,
) -> Result<usize, Failures>
where
    F: Future<Output = H> + Send,
    H: Send + Sync + 'static,
{
    let (mut count, mut failures) = (0, Vec::new());
    for check in checks {
        let handles = wait(block_on, make());
        let outcome = match check.run {
            Run::Future(run) => wait(block_on, run(&handles)),
            Run::Threads(run) => run(block_on, &handles),
        };
        failures.extend(outcome.err().map(|seen| check.failure(&seen)));
        count += 1;
    }
    if failures.is_empty() {
        Ok(count)
    } else {
        Err(Failures(failures))
    }
}

impl<H> Check<H> {
    fn failure(&self, seen: &str) -> (&'static str, String) {
        let Self { name, contract, .. } = self;
        let text = format!("- {name}: the contract says: {contract}. seen: {seen}");
        (name, text)
    }
}

/// Waits for a future with a result.
pub(super) fn wait<T: Send>(block_on: BlockOn<'_>, future: impl Future<Output = T> + Send) -> T {
    let mut answer = None;
    block_on(Box::pin(async { answer = Some(future.await) }));
    answer.expect("block_on returns once the future is done")
}

/// Checks a condition.
pub(super) fn same<T: PartialEq + fmt::Debug>(what: &str, seen: &T, wanted: &T) -> Outcome {
    if seen == wanted {
        Ok(())
    } else {
        Err(format!("{what} is {seen:?}, wanted {wanted:?}"))
    }
}

/// Checks that a call failed in the one way that the contract allows.
pub(super) fn refused<T: fmt::Debug>(
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

/// An error with its causes, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
