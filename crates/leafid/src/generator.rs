//! `Generator`: ids of one tag, which was looked up once. `block.rs` has the variant for one
//! thread.

use std::fmt;
use std::sync::Arc;

use crate::allocator::{Allocator, TakeError};
use crate::block::Block;
use crate::error::IssueError;
use crate::generators::{Generators, check_count};
use crate::id::Id;
use crate::segment::{Segment, TakenMany};
use crate::tag::Tag;

/// Issues ids of one tag. The properties are those of [`Generators`]; a clone is cheap.
///
/// # Example
///
/// ```
/// use leafid::{Generators, Options, blocking, store::{MemoryStore, TagSettings}};
///
/// let options = Options::default().with_create_missing(Some(TagSettings::default()));
/// let (generators, driver) = Generators::open(MemoryStore::new(), options);
/// let driver = blocking::spawn(driver)?;
/// let orders = generators.generator("order")?;
/// let first = orders.next_blocking()?;
/// assert!(orders.next_blocking()? > first);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Generator {
    allocator: Arc<Allocator>,
    generators: Generators,
}

impl Generator {
    pub(crate) fn new(allocator: Arc<Allocator>, generators: Generators) -> Self {
        Self {
            allocator,
            generators,
        }
    }

    /// The tag.
    #[must_use]
    pub fn tag(&self) -> &Tag {
        self.allocator.tag()
    }

    /// Takes the next id from memory. Never waits. Usually this is one atomic addition and a check
    /// of the segment's bounds.
    ///
    /// # Errors
    ///
    /// As [`Generators::try_next`].
    #[inline]
    pub fn try_next(&self) -> Result<Id, IssueError> {
        match self.allocator.try_next(self.generators.shared()) {
            Ok(id) => Ok(id),
            Err(TakeError::Refused(error)) => Err(error),
            Err(TakeError::Retired) => self.generators.try_next(self.tag().as_str()),
        }
    }

    /// Takes the next id; waits up to `wait_max`.
    ///
    /// # Errors
    ///
    /// As [`Generators::next`].
    pub async fn next(&self) -> Result<Id, IssueError> {
        match self.try_next() {
            Err(error) if error.is_retryable() => self.generators.next(self.tag().as_str()).await,
            done => done,
        }
    }

    /// Takes the next id; waits on this thread.
    ///
    /// # Errors
    ///
    /// As [`Generators::next`].
    pub fn next_blocking(&self) -> Result<Id, IssueError> {
        match self.try_next() {
            Err(error) if error.is_retryable() => {
                self.generators.next_blocking(self.tag().as_str())
            }
            done => done,
        }
    }

    /// Takes the next `count` ids from memory, if it holds that many. Never waits. More than two
    /// segments hold are only available from [`next_many`](Self::next_many).
    ///
    /// # Errors
    ///
    /// As [`Generators::next_many`].
    pub fn try_next_many(&self, count: u64) -> Result<TakenMany, IssueError> {
        check_count(count)?;
        match self
            .allocator
            .try_next_many(self.generators.shared(), count)
        {
            Ok(taken) => Ok(taken),
            Err(TakeError::Refused(error)) => Err(error),
            Err(TakeError::Retired) => self.generators.try_next_many(self.tag().as_str(), count),
        }
    }

    /// Takes the next `count` ids; waits up to `wait_max`.
    ///
    /// # Errors
    ///
    /// As [`Generators::next_many`].
    pub async fn next_many(&self, count: u64) -> Result<TakenMany, IssueError> {
        self.generators.next_many(self.tag().as_str(), count).await
    }

    /// Takes a range of `count` adjacent ids; waits up to `wait_max`.
    ///
    /// # Errors
    ///
    /// As [`Generators::take`].
    pub async fn take(&self, count: u64) -> Result<Segment, IssueError> {
        self.generators.take(self.tag().as_str(), count).await
    }

    /// A source for one thread, which takes `len` ids at a time and issues them without touching
    /// shared memory.
    ///
    /// # Example
    ///
    /// See [`Block`].
    #[must_use]
    pub fn block(&self, len: u32) -> Block {
        Block::new(self.clone(), u64::from(len.max(1)))
    }
}

impl Generator {
    /// Takes `len` adjacent ids, if memory holds that many in one piece.
    pub(crate) fn try_take(&self, len: u64) -> Option<Segment> {
        self.allocator.try_take(self.generators.shared(), len)
    }
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator")
            .field("tag", self.tag())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    fn spawn(_task: impl Future + Send + 'static) {}

    /// Guards that calls can run on any runtime that moves tasks between threads.
    #[test]
    fn every_call_can_move_between_threads() {
        let store = crate::store::MemoryStore::new();
        let (generators, driver) = Generators::open(store, Options::default());
        spawn(driver);
        let all = generators.clone();
        spawn(async move {
            let _one = all.next("order").await;
            let _many = all.next_many("order", 2).await;
            let _range = all.take("order", 2).await;
        });
        let generator = generators.generator("order").expect("a plain name");
        spawn(async move {
            let _one = generator.next().await;
            let _many = generator.next_many(2).await;
            let _range = generator.take(2).await;
        });
    }
}
