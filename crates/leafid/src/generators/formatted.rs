//! Ids with the format of their tag: the calls of front ends, which answer texts.

use std::sync::Arc;

use super::{Generators, check_count, retired};
use crate::allocator::{Allocator, TakeError};
use crate::error::{IssueError, Permanent};
use crate::format::{FormatError, IdFormat};
use crate::id::Id;
use crate::other_kind::OtherKind;
use crate::segment::TakenMany;

/// What a caller asks of a format before a number is taken: an error refuses the call.
trait FormatCheck: Fn(&dyn IdFormat) -> Result<(), FormatError> {}

impl<F: Fn(&dyn IdFormat) -> Result<(), FormatError>> FormatCheck for F {}

/// What a tag gives that is asked for ids: numbers of its segments, or the way to its ids.
///
/// # Example
///
/// See [`Generators::next_formatted`].
#[derive(Debug, Clone)]
pub enum Formatted<T> {
    /// Numbers of the tag's segments.
    Numbers {
        /// The numbers.
        ids: T,
        /// The format in which the tag writes them; `None` for decimal.
        format: Option<Arc<dyn IdFormat>>,
    },
    /// The format of the tag was refused by the caller's check. Nothing was taken.
    Refused(FormatError),
    /// The tag has no segments. Nothing was taken: the caller asks the generator of its ids.
    OtherKind(OtherKind),
}

impl<T> Formatted<T> {
    /// The refusal of the tag's format, if it has one that does not pass the check.
    #[inline]
    fn refused(allocator: &Allocator, check: &impl FormatCheck) -> Option<Self> {
        let format = allocator.format_ref()?;
        check(&**format).err().map(Self::Refused)
    }

    fn of(allocator: &Allocator, ids: T) -> Self {
        let format = allocator.format();
        Self::Numbers { ids, format }
    }

    /// The refusal of a tag without segments as what it is here: an answer.
    fn or_other_kind(error: IssueError) -> Result<Self, IssueError> {
        match error {
            IssueError::Permanent(Permanent::NoSegments {
                kind, form, min_id, ..
            }) => Ok(Self::OtherKind(OtherKind { kind, form, min_id })),
            error => Err(error),
        }
    }
}

impl Generators {
    /// As [`try_next`](Self::try_next), with the tag's format. A tag without segments that is
    /// loaded costs no lock either. `check` is asked about the format of a loaded tag before a
    /// number is taken: its error is [`Formatted::Refused`]. See [`IdFormat::check`].
    ///
    /// # Errors
    ///
    /// As [`try_next`](Self::try_next), except [`Permanent::NoSegments`].
    ///
    /// # Example
    ///
    /// See [`next_formatted`](Self::next_formatted).
    #[inline]
    pub fn try_next_formatted(
        &self,
        tag: &str,
        check: impl Fn(&dyn IdFormat) -> Result<(), FormatError>,
    ) -> Result<Formatted<Id>, IssueError> {
        let shared = self.shared();
        let tags = shared.tags.pin();
        let first = || self.try_first(tag, &check, |allocator| allocator.try_next(shared));
        let Some(allocator) = tags.get(tag) else {
            return first();
        };
        if let Some(other) = allocator.other_kind() {
            return Ok(Formatted::OtherKind(other));
        }
        if let Some(refused) = Formatted::refused(allocator, &check) {
            return Ok(refused);
        }
        match allocator.try_next(shared) {
            Ok(id) => Ok(Formatted::of(allocator, id)),
            Err(TakeError::Refused(error)) => Formatted::or_other_kind(error),
            Err(TakeError::Retired) => first(),
        }
    }

    /// The format of the numbers of a loaded tag; `None` for decimal, for a tag without segments
    /// and for one that is not loaded.
    #[must_use]
    pub fn format(&self, tag: &str) -> Option<Arc<dyn IdFormat>> {
        self.shared().tags.pin().get(tag)?.format()
    }

    /// Where the ids of a loaded tag come from, if it has no segments; `None` for a segment tag and
    /// for one that is not loaded.
    #[must_use]
    pub fn other_kind(&self, tag: &str) -> Option<OtherKind> {
        self.shared().tags.pin().get(tag)?.other_kind()
    }

    fn try_first<T>(
        &self,
        tag: &str,
        check: &impl FormatCheck,
        take: impl FnOnce(&Arc<Allocator>) -> Result<T, TakeError>,
    ) -> Result<Formatted<T>, IssueError> {
        let allocator = self.allocator(tag)?;
        if let Some(other) = allocator.other_kind() {
            return Ok(Formatted::OtherKind(other));
        }
        if let Some(refused) = Formatted::refused(&allocator, check) {
            return Ok(refused);
        }
        match take(&allocator) {
            Ok(ids) => Ok(Formatted::of(&allocator, ids)),
            Err(TakeError::Refused(error)) => Formatted::or_other_kind(error),
            Err(TakeError::Retired) => Err(retired(allocator.tag())),
        }
    }

    /// As [`next`](Self::next), with the tag's format.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next), except [`Permanent::NoSegments`].
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Formatted, Generators, Options, blocking, store::{MemoryStore, TagSettings}};
    /// # let options = Options::default().with_create_missing(Some(TagSettings::default()));
    /// # let (generators, driver) = Generators::open(MemoryStore::new(), options);
    /// # let driver = blocking::spawn(driver)?;
    /// # blocking::block_on(async {
    /// match generators.next_formatted("order", |format| format.check(None)).await? {
    ///     Formatted::Numbers { ids, format } => assert!(ids.get() == 1 && format.is_none()),
    ///     Formatted::Refused(error) => panic!("{error}"),
    ///     Formatted::OtherKind(other) => panic!("a tag of kind {}", other.kind),
    /// }
    /// # Ok::<(), leafid::IssueError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn next_formatted(
        &self,
        tag: &str,
        check: impl Fn(&dyn IdFormat) -> Result<(), FormatError>,
    ) -> Result<Formatted<Id>, IssueError> {
        let (shared, check) = (self.shared(), &check);
        let taken = self.retrying(tag, |allocator| async move {
            if let Some(refused) = Formatted::refused(&allocator, check) {
                return Ok(refused);
            }
            let id = allocator.next(shared).await?;
            Ok(Formatted::of(&allocator, id))
        });
        taken.await.or_else(Formatted::or_other_kind)
    }

    /// As [`try_next_many`](Self::try_next_many), with the tag's format.
    ///
    /// # Errors
    ///
    /// As [`try_next_many`](Self::try_next_many), except [`Permanent::NoSegments`].
    ///
    /// # Example
    ///
    /// See [`next_formatted`](Self::next_formatted).
    pub fn try_next_many_formatted(
        &self,
        tag: &str,
        count: u64,
        check: impl Fn(&dyn IdFormat) -> Result<(), FormatError>,
    ) -> Result<Formatted<TakenMany>, IssueError> {
        check_count(count)?;
        let shared = self.shared();
        self.try_first(tag, &check, |allocator| {
            allocator.try_next_many(shared, count)
        })
    }

    /// As [`next_many`](Self::next_many), with the tag's format.
    ///
    /// # Errors
    ///
    /// As [`next_many`](Self::next_many), except [`Permanent::NoSegments`].
    ///
    /// # Example
    ///
    /// See [`next_formatted`](Self::next_formatted).
    pub async fn next_many_formatted(
        &self,
        tag: &str,
        count: u64,
        check: impl Fn(&dyn IdFormat) -> Result<(), FormatError>,
    ) -> Result<Formatted<TakenMany>, IssueError> {
        check_count(count)?;
        let (shared, check) = (self.shared(), &check);
        let taken = self.retrying(tag, |allocator| async move {
            if let Some(refused) = Formatted::refused(&allocator, check) {
                return Ok(refused);
            }
            let ids = allocator.next_many(shared, count).await?;
            Ok(Formatted::of(&allocator, ids))
        });
        taken.await.or_else(Formatted::or_other_kind)
    }
}
