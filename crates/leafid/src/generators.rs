//! `Generators`: ids of any tag of a store, by name.

mod ensure;
mod formatted;
mod status;
mod try_next;

use std::fmt;
use std::sync::Arc;

use crate::allocator::{Allocator, Shared, TakeError};
use crate::clock::{Clock, SystemClock};
use crate::driver::Driver;
use crate::error::{IssueError, Permanent, TransientReason};
use crate::event::Observer;
use crate::generator::Generator;
use crate::id::Id;
use crate::limit::Limit;
use crate::options::Options;
use crate::segment::{Segment, TakenMany};
use crate::store::SegmentStore;
use crate::tag::Tag;

pub use formatted::Formatted;

/// Issues ids of any tag of a store.
///
/// **Unique** over all processes on the same store. **Ascending** per tag and process: an id
/// returned before another call begins is smaller than that call's. Not ascending between
/// processes, which hold different segments. **Thread-safe**; a clone is another handle on the
/// same generators.
///
/// A tag is loaded on first use. Ids of one tag are not without gaps: what a process holds in
/// memory when it ends is never issued.
///
/// # Example
///
/// ```
/// use leafid::store::{MemoryStore, SegmentStore, TagSpec};
/// use leafid::{Generators, Options, Tag, blocking};
///
/// let store = MemoryStore::new();
/// blocking::block_on(store.create(&TagSpec::new(Tag::new("order")?)))?;
///
/// let (generators, driver) = Generators::open(store, Options::default());
/// let driver = blocking::spawn(driver)?; // or: tokio::spawn(driver)
/// assert_eq!(generators.next_blocking("order")?.get(), 1);
/// assert_eq!(generators.next_blocking("order")?.get(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Generators {
    handle: Arc<Handle>,
}

/// Stops the driver when the last handle is gone.
struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

impl Generators {
    /// Opens the tags of a store, and returns the driver that fetches their segments. Nothing is
    /// read or reserved before the first id is asked for; whether the store answers is found out
    /// at once.
    ///
    /// # Example
    ///
    /// See [`Generators`].
    pub fn open(store: impl SegmentStore, options: Options) -> (Self, Driver) {
        Self::open_with(
            Arc::new(store),
            Arc::new(SystemClock::new()),
            Arc::new(()),
            options,
        )
    }

    /// As [`open`](Self::open), with a clock and an observer of your own.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use leafid::{Generators, ManualClock, Options, store::MemoryStore};
    ///
    /// let clock = Arc::new(ManualClock::new());
    /// let store = Arc::new(MemoryStore::new());
    /// let (generators, driver) =
    ///     Generators::open_with(store, clock, Arc::new(()), Options::default());
    /// # drop((generators, driver));
    /// ```
    pub fn open_with(
        store: Arc<dyn SegmentStore>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        options: Options,
    ) -> (Self, Driver) {
        let shared = Arc::new(Shared::new(store, clock, observer, options));
        let driver = Driver::new(Arc::clone(&shared));
        (
            Self {
                handle: Arc::new(Handle { shared }),
            },
            driver,
        )
    }

    /// Takes the next id of a tag; waits up to `wait_max` for its segment.
    ///
    /// # Errors
    ///
    /// [`IssueError::Transient`] when none came in time, or the next try of a failing store lies
    /// beyond that time; [`IssueError::Permanent`] when the tag cannot issue.
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Generators, Options, blocking, store::{MemoryStore, TagSettings}};
    /// # let options = Options::default().with_create_missing(Some(TagSettings::default()));
    /// # let (generators, driver) = Generators::open(MemoryStore::new(), options);
    /// # let driver = blocking::spawn(driver)?;
    /// # blocking::block_on(async {
    /// let id = generators.next("order").await?;
    /// assert_eq!(id.get(), 1);
    /// # Ok::<(), leafid::IssueError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn next(&self, tag: &str) -> Result<Id, IssueError> {
        match self.try_next(tag) {
            Err(error) if error.is_retryable() => {}
            done => return done,
        }
        let shared = self.shared();
        self.retrying(tag, |allocator| async move { allocator.next(shared).await })
            .await
    }

    /// Takes the next id of a tag; waits on this thread.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    ///
    /// # Example
    ///
    /// See [`Generators`].
    pub fn next_blocking(&self, tag: &str) -> Result<Id, IssueError> {
        match self.try_next(tag) {
            Err(error) if error.is_retryable() => crate::blocking::block_on(self.next(tag)),
            done => done,
        }
    }

    /// Takes the next `count` ids of a tag, ascending but not always adjacent; waits up to
    /// `wait_max`. They belong to this call alone, and there are `count` of them or none.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next), and [`Permanent::BadCount`].
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Generators, Options, blocking, store::{MemoryStore, TagSettings}};
    /// # let options = Options::default().with_create_missing(Some(TagSettings::default()));
    /// # let (generators, driver) = Generators::open(MemoryStore::new(), options);
    /// # let driver = blocking::spawn(driver)?;
    /// let taken = blocking::block_on(generators.next_many("order", 3))?;
    /// assert_eq!(taken.ids().map(|id| id.get()).collect::<Vec<_>>(), [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn next_many(&self, tag: &str, count: u64) -> Result<TakenMany, IssueError> {
        check_count(count)?;
        let shared = self.shared();
        self.retrying(tag, |allocator| async move {
            allocator.next_many(shared, count).await
        })
        .await
    }

    /// Takes a range of `count` adjacent ids of a tag, which may be longer than a segment; waits up
    /// to `wait_max`. To keep ids ascending, a range that memory cannot serve in one piece skips
    /// what memory holds.
    ///
    /// # Errors
    ///
    /// As [`next_many`](Self::next_many).
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Generators, Options, blocking, store::{MemoryStore, TagSettings}};
    /// # let options = Options::default().with_create_missing(Some(TagSettings::default()));
    /// # let (generators, driver) = Generators::open(MemoryStore::new(), options);
    /// # let driver = blocking::spawn(driver)?;
    /// let range = blocking::block_on(generators.take("order", 1_000_000))?;
    /// assert_eq!(range.len(), 1_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn take(&self, tag: &str, count: u64) -> Result<Segment, IssueError> {
        check_count(count)?;
        let shared = self.shared();
        self.retrying(tag, |allocator| async move {
            allocator.take(shared, count).await
        })
        .await
    }

    /// Returns a handle on one tag, which saves looking it up for each id.
    ///
    /// # Errors
    ///
    /// [`Permanent::BadTag`]; [`TransientReason::TooManyTags`]. Whether the tag exists shows when an id
    /// is taken.
    ///
    /// # Example
    ///
    /// See [`Generator`].
    pub fn generator(&self, tag: &str) -> Result<Generator, IssueError> {
        Ok(Generator::new(self.allocator(tag)?, self.clone()))
    }

    /// The options of these generators.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Generators, Options, store::MemoryStore};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// assert!(generators.options().create_missing.is_none());
    /// ```
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.shared().options
    }

    /// Stops the driver. Ids in memory can still be taken; nothing more is fetched.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Generators, Options, blocking, store::MemoryStore};
    ///
    /// let (generators, driver) = Generators::open(MemoryStore::new(), Options::default());
    /// generators.stop();
    /// blocking::block_on(driver);
    /// ```
    pub fn stop(&self) {
        self.shared().stop();
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.handle.shared
    }

    /// The tag's allocator, made on first use.
    pub(crate) fn allocator(&self, tag: &str) -> Result<Arc<Allocator>, IssueError> {
        let shared = self.shared();
        let tags = shared.tags.pin();
        if let Some(allocator) = tags.get(tag) {
            return Ok(Arc::clone(allocator));
        }
        let tag = Tag::new(tag).map_err(Permanent::BadTag)?;
        let tags_max = shared.options.tags_max;
        if tags.len() >= tags_max && !shared.make_room() {
            let reason = TransientReason::TooManyTags(tags_max);
            return Err(IssueError::transient(
                &tag,
                shared.options.unknown_for,
                reason,
            ));
        }
        let now = shared.clock.now();
        let made = Arc::new(Allocator::new(tag.clone(), now));
        match tags.try_insert(tag, Arc::clone(&made)) {
            Ok(_) => {
                shared.track_unused(Arc::clone(&made));
                Ok(made)
            }
            Err(occupied) => Ok(Arc::clone(occupied.current)),
        }
    }

    /// Runs `attempt` on the tag's allocator, once more if that one was evicted.
    async fn retrying<T, F>(
        &self,
        tag: &str,
        attempt: impl Fn(Arc<Allocator>) -> F,
    ) -> Result<T, IssueError>
    where
        F: Future<Output = Result<T, TakeError>>,
    {
        for _ in 0..2 {
            match attempt(self.allocator(tag)?).await {
                Ok(taken) => return Ok(taken),
                Err(TakeError::Refused(error)) => return Err(error),
                Err(TakeError::Retired) => {}
            }
        }
        Err(retired(&Tag::new(tag).map_err(Permanent::BadTag)?))
    }
}

/// The error for a tag that keeps being evicted while it is requested.
fn retired(tag: &Tag) -> IssueError {
    IssueError::transient(
        tag,
        std::time::Duration::from_millis(1),
        TransientReason::Loading,
    )
}

pub(crate) fn check_count(count: u64) -> Result<(), Permanent> {
    if (1..=Limit::INT64.largest()).contains(&count) {
        Ok(())
    } else {
        Err(Permanent::BadCount { count })
    }
}

impl fmt::Debug for Generators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generators")
            .field("loaded", &self.loaded_len())
            .finish_non_exhaustive()
    }
}
