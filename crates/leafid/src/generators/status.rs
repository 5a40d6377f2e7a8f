//! The state of tags in this process, for metrics, consoles and read-only callers. Nothing here
//! takes an id.

use super::Generators;
use crate::allocator::Status;
use crate::id::Id;

impl Generators {
    /// The last id of a tag that this process issued; `None` if there is none. While others take
    /// ids it is slightly out of date, and may be a number that was lost in a race.
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Generators, Options, blocking, store::{MemoryStore, TagSettings}};
    /// # let options = Options::default().with_create_missing(Some(TagSettings::default()));
    /// # let (generators, driver) = Generators::open(MemoryStore::new(), options);
    /// # let driver = blocking::spawn(driver)?;
    /// assert_eq!(generators.last("order"), None);
    /// let id = generators.next_blocking("order")?;
    /// assert_eq!(generators.last("order"), Some(id));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn last(&self, tag: &str) -> Option<Id> {
        self.shared().tags.pin().get(tag)?.last()
    }

    /// The state of one tag here; `None` if it was not used yet.
    ///
    /// # Example
    ///
    /// See [`Status`].
    #[must_use]
    pub fn status(&self, tag: &str) -> Option<Status> {
        let shared = self.shared();
        let tags = shared.tags.pin();
        let allocator = tags.get(tag)?;
        Some(allocator.status(shared.clock.now(), shared.options.policy))
    }

    /// The state of up to `count` loaded tags, in no particular order.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Generators, Options, store::MemoryStore};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// assert!(generators.statuses(100).is_empty());
    /// ```
    #[must_use]
    pub fn statuses(&self, count: usize) -> Vec<Status> {
        let shared = self.shared();
        let now = shared.clock.now();
        let tags = shared.tags.pin();
        let statuses = tags
            .values()
            .map(|tag| tag.status(now, shared.options.policy));
        statuses.take(count).collect()
    }

    /// Visits the state of each loaded tag, in no particular order, one after the other, so that a
    /// million of them need no memory.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Generators, Options, store::MemoryStore};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// let mut issued = 0;
    /// generators.for_each_status(|status| issued += status.issued);
    /// assert_eq!(issued, 0);
    /// ```
    pub fn for_each_status(&self, visit: impl FnMut(Status)) {
        let shared = self.shared();
        let now = shared.clock.now();
        let tags = shared.tags.pin();
        let statuses = tags
            .values()
            .map(|tag| tag.status(now, shared.options.policy));
        statuses.for_each(visit);
    }

    /// The number of loaded tags.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Generators, Options, store::MemoryStore};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// assert_eq!(generators.loaded_len(), 0);
    /// ```
    #[must_use]
    pub fn loaded_len(&self) -> usize {
        self.shared().tags.len()
    }

    /// The number of tags that have a segment, and stay loaded while they have a row. The others are
    /// names that were only requested, and are evicted if room is needed.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Generators, Options, store::MemoryStore};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// assert!(generators.try_next("nobody").is_err());
    /// assert_eq!((generators.loaded_len(), generators.used_len()), (1, 0));
    /// ```
    #[must_use]
    pub fn used_len(&self) -> usize {
        self.shared().used_len()
    }
}
