//! Ids from memory: calls that never wait, and wake the driver if memory holds too few.

use super::{Generators, check_count, retired};
use crate::allocator::TakeError;
use crate::error::IssueError;
use crate::id::Id;
use crate::segment::{Segment, TakenMany};

impl Generators {
    /// Takes the next id of a tag from memory. Never waits.
    ///
    /// # Errors
    ///
    /// [`IssueError::Transient`] if memory holds none (the driver fetches more);
    /// [`IssueError::Permanent`] if the tag cannot issue.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Generators, Options, store::MemoryStore};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// assert!(generators.try_next("order").unwrap_err().is_retryable());
    /// ```
    #[inline]
    pub fn try_next(&self, tag: &str) -> Result<Id, IssueError> {
        let shared = self.shared();
        match shared
            .tags
            .pin()
            .get(tag)
            .map(|allocator| allocator.try_next(shared))
        {
            Some(Ok(id)) => Ok(id),
            Some(Err(TakeError::Refused(error))) => Err(error),
            Some(Err(TakeError::Retired)) | None => self.try_next_first(tag),
        }
    }

    #[cold]
    fn try_next_first(&self, tag: &str) -> Result<Id, IssueError> {
        let allocator = self.allocator(tag)?;
        match allocator.try_next(self.shared()) {
            Ok(id) => Ok(id),
            Err(TakeError::Refused(error)) => Err(error),
            Err(TakeError::Retired) => Err(retired(allocator.tag())),
        }
    }

    /// Takes the next `count` ids of a tag from memory, ascending but not always adjacent, if it
    /// holds that many. Never waits, and allocates nothing once the tag is loaded. More than two
    /// segments hold are only available from [`next_many`](Self::next_many).
    ///
    /// # Errors
    ///
    /// As [`try_next`](Self::try_next), and [`Permanent::BadCount`](crate::Permanent::BadCount).
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Generators, Options, blocking, store::{MemoryStore, TagSettings}};
    /// # let options = Options::default().with_create_missing(Some(TagSettings::default()));
    /// # let (generators, driver) = Generators::open(MemoryStore::new(), options);
    /// # let driver = blocking::spawn(driver)?;
    /// generators.next_blocking("order")?;
    /// assert_eq!(generators.try_next_many("order", 100)?.len(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_next_many(&self, tag: &str, count: u64) -> Result<TakenMany, IssueError> {
        check_count(count)?;
        let allocator = self.allocator(tag)?;
        match allocator.try_next_many(self.shared(), count) {
            Ok(taken) => Ok(taken),
            Err(TakeError::Refused(error)) => Err(error),
            Err(TakeError::Retired) => Err(retired(allocator.tag())),
        }
    }

    /// Takes a range of `count` adjacent ids of a tag from memory, if it holds that many in one
    /// piece; skips what lies below it. Never waits.
    ///
    /// # Errors
    ///
    /// As [`try_next_many`](Self::try_next_many).
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Generators, Options, blocking, store::{MemoryStore, TagSettings}};
    /// # let options = Options::default().with_create_missing(Some(TagSettings::default()));
    /// # let (generators, driver) = Generators::open(MemoryStore::new(), options);
    /// # let driver = blocking::spawn(driver)?;
    /// generators.next_blocking("order")?;
    /// assert_eq!(generators.try_take("order", 10)?.to_string(), "[2, 12)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_take(&self, tag: &str, count: u64) -> Result<Segment, IssueError> {
        check_count(count)?;
        let allocator = self.allocator(tag)?;
        match allocator.try_take_range(self.shared(), count) {
            Ok(range) => Ok(range),
            Err(TakeError::Refused(error)) => Err(error),
            Err(TakeError::Retired) => Err(retired(allocator.tag())),
        }
    }
}
