//! `Block`: ids for one thread, taken from shared memory by the hundred.

use std::ops::Range;

use crate::error::IssueError;
use crate::generator::Generator;
use crate::id::Id;
use crate::segment::Segment;

/// Issues ids of one tag to one thread, fastest of all.
///
/// **Unique** like every id. **Ascending** within this block only: another thread may be handed
/// a larger id earlier. **Not shared**: each thread has its own. Ids left in it when it is
/// dropped are never issued.
///
/// # Example
///
/// ```
/// use leafid::{Generators, Options, blocking, store::{MemoryStore, TagSettings}};
///
/// let options = Options::default().with_create_missing(Some(TagSettings::default()));
/// let (generators, driver) = Generators::open(MemoryStore::new(), options);
/// let driver = blocking::spawn(driver)?;
/// let mut block = generators.generator("order")?.block(256);
/// let first = block.next_blocking()?;
/// assert!(block.next_blocking()? > first);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Block {
    generator: Generator,
    rest: Range<u64>,
    len: u64,
}

impl Block {
    pub(crate) fn new(generator: Generator, len: u64) -> Self {
        Self {
            generator,
            rest: 1..1,
            len,
        }
    }

    /// Takes the next id from this block, or from memory. Never waits.
    ///
    /// # Errors
    ///
    /// As [`Generator::try_next`].
    #[inline]
    pub fn try_next(&mut self) -> Result<Id, IssueError> {
        match self.rest.next() {
            Some(number) => Ok(Id::from_checked(number)),
            None => self.try_refill(),
        }
    }

    /// Takes the next id; waits on this thread up to `wait_max`.
    ///
    /// # Errors
    ///
    /// As [`Generator::next`].
    #[inline]
    pub fn next_blocking(&mut self) -> Result<Id, IssueError> {
        match self.rest.next() {
            Some(number) => Ok(Id::from_checked(number)),
            None => self.refill_blocking(),
        }
    }

    #[cold]
    fn try_refill(&mut self) -> Result<Id, IssueError> {
        match self.generator.try_take(self.len) {
            Some(range) => Ok(self.start(range)),
            None => self.generator.try_next(),
        }
    }

    #[cold]
    fn refill_blocking(&mut self) -> Result<Id, IssueError> {
        match self.try_refill() {
            Err(error) if error.is_retryable() => self.generator.next_blocking(),
            done => done,
        }
    }

    fn start(&mut self, range: Segment) -> Id {
        self.rest = range.start() + 1..range.end();
        Id::from_checked(range.start())
    }
}
