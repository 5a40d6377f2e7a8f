//! Makes sure that a tag exists before its first id is taken.

use std::sync::Arc;

use super::Generators;
use crate::error::{IssueError, Permanent};
use crate::generator::Generator;
use crate::store::{StoreError, TagKind, TagSpec};
use crate::tag::Tag;

impl Generators {
    /// Creates a tag unless it exists, and returns a handle on it. A new tag gets the settings in
    /// [`create_missing`](crate::Options::create_missing), or the default ones; for others, use
    /// [`create_tag`](Self::create_tag). An existing tag stays as it is.
    ///
    /// # Errors
    ///
    /// [`Permanent::BadTag`]; [`Permanent::NoSegments`] for a tag of another kind than segment;
    /// [`IssueError::Transient`] when the store does not answer, and [`Permanent::Misconfigured`]
    /// when it refuses.
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Generators, Options, blocking, store::MemoryStore};
    /// # let (generators, driver) = Generators::open(MemoryStore::new(), Options::default());
    /// # let driver = blocking::spawn(driver)?;
    /// # blocking::block_on(async {
    /// let orders = generators.ensure_tag("order").await?;
    /// assert_eq!(orders.next().await?.get(), 1);
    /// # Ok::<(), leafid::IssueError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn ensure_tag(&self, tag: &str) -> Result<Generator, IssueError> {
        let tag = Tag::new(tag).map_err(Permanent::BadTag)?;
        let found = self.read_tag(&tag).await;
        match found.map_err(|error| self.not_ensured(&tag, error))? {
            Some(record) if record.settings.kind != TagKind::Segment => {
                return Err(record.no_segments().into());
            }
            Some(_) => {}
            None => self.create_if_missing(&tag).await?,
        }
        self.generator(tag.as_str())
    }

    /// As [`ensure_tag`](Self::ensure_tag); waits on this thread.
    ///
    /// # Errors
    ///
    /// As [`ensure_tag`](Self::ensure_tag).
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Generators, Options, blocking, store::MemoryStore};
    /// # let (generators, driver) = Generators::open(MemoryStore::new(), Options::default());
    /// # let driver = blocking::spawn(driver)?;
    /// let orders = generators.ensure_tag_blocking("order")?;
    /// assert_eq!(orders.next_blocking()?.get(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ensure_tag_blocking(&self, tag: &str) -> Result<Generator, IssueError> {
        crate::blocking::block_on(self.ensure_tag(tag))
    }

    async fn create_if_missing(&self, tag: &Tag) -> Result<(), IssueError> {
        tag.check_new().map_err(Permanent::BadTag)?;
        let settings = self.options().create_missing.unwrap_or_default();
        let spec = TagSpec {
            settings,
            ..TagSpec::new(tag.clone())
        };
        match self.create_tag(&spec).await {
            // Another process was faster.
            Ok(_) | Err(StoreError::TagExists) => Ok(()),
            Err(error) => Err(self.not_ensured(tag, error)),
        }
    }

    fn not_ensured(&self, tag: &Tag, error: StoreError) -> IssueError {
        IssueError::store_failed(tag, self.options().retry_min, Arc::new(error))
    }
}
