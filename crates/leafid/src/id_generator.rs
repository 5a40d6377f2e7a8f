//! `IdGenerator`: one trait over generators of segment ids and of snowflake ids, for code that is
//! to work with either.

mod ids;

use std::fmt;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::error::IssueError;
use crate::error_kind::ErrorKind;
use crate::generator::Generator;
use crate::id::Id;
use crate::snowflake::{Snowflake, SnowflakeError};
use crate::store::BoxFuture;

pub use ids::Ids;

/// Issues ids, whatever they are made of: [`Generator`] takes them from segments, [`Snowflake`]
/// makes them of time.
///
/// **Unique** as the generator behind it says. The trait is dyn-compatible, so that a program can
/// choose the kind of its ids by a setting: `Arc<dyn IdGenerator>`. [`next`](Self::next) allocates
/// nothing while there is an id at hand, and boxes its future when it has to wait. `&T`, `Box<T>`
/// and `Arc<T>` of a generator are generators too.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use leafid::store::{MemoryStore, TagSettings};
/// use leafid::{Generators, IdGenerator, Layout, Options, Snowflake, WorkerId, blocking};
///
/// async fn name_order(ids: &dyn IdGenerator) -> Result<String, leafid::GenerateError> {
///     Ok(format!("order-{}", ids.next().await?))
/// }
///
/// let mut options = Options::default();
/// options.create_missing = Some(TagSettings::default());
/// let (generators, driver) = Generators::open(MemoryStore::new(), options);
/// let driver = blocking::spawn(driver)?;
/// let segments: Arc<dyn IdGenerator> = Arc::new(generators.generator("order")?);
/// assert_eq!(blocking::block_on(name_order(&segments))?, "order-1");
///
/// let snowflakes = Snowflake::with_worker_id(Layout::LEAF, WorkerId::new(7))?;
/// assert!(blocking::block_on(name_order(&snowflakes))?.len() > "order-1".len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait IdGenerator: Send + Sync {
    /// Takes the next id. Never waits.
    ///
    /// # Errors
    ///
    /// [`GenerateError`]; a retryable one when there is no id at this moment.
    fn try_next(&self) -> Result<Id, GenerateError>;

    /// Takes the next id, waiting as long as the generator is set up to.
    ///
    /// # Errors
    ///
    /// [`GenerateError`].
    fn next(&self) -> IdFuture<'_, Id>;

    /// Takes the next `count` ids, ascending, waiting as long as the generator is set up to. They
    /// are this call's alone, whole or not at all.
    ///
    /// # Errors
    ///
    /// [`GenerateError`], also for a count of 0 or one that can never be taken at once.
    fn next_many(&self, count: u64) -> IdFuture<'_, Ids>;
}

impl IdGenerator for Generator {
    fn try_next(&self) -> Result<Id, GenerateError> {
        Ok(Self::try_next(self)?)
    }

    fn next(&self) -> IdFuture<'_, Id> {
        match Self::try_next(self) {
            Err(error) if error.is_retryable() => IdFuture::waiting(Self::next(self)),
            done => IdFuture::ready(done),
        }
    }

    fn next_many(&self, count: u64) -> IdFuture<'_, Ids> {
        IdFuture::waiting(async move { Self::next_many(self, count).await.map(Ids::from) })
    }
}

impl IdGenerator for Snowflake {
    fn try_next(&self) -> Result<Id, GenerateError> {
        Ok(Self::try_next(self)?)
    }

    fn next(&self) -> IdFuture<'_, Id> {
        match Self::try_next(self) {
            Err(error) if error.retry_after().is_some() => IdFuture::waiting(Self::next(self)),
            done => IdFuture::ready(done),
        }
    }

    fn next_many(&self, count: u64) -> IdFuture<'_, Ids> {
        match self.try_next_many(count) {
            Err(error) if error.retry_after().is_some() => {
                IdFuture::waiting(async move { Self::next_many(self, count).await.map(Ids::from) })
            }
            done => IdFuture::ready(done.map(Ids::from)),
        }
    }
}

/// Hands each call to what a pointer points to.
macro_rules! by_pointer {
    ($($pointer:ty),*) => {$(
        impl<T: IdGenerator + ?Sized> IdGenerator for $pointer {
            fn try_next(&self) -> Result<Id, GenerateError> {
                (**self).try_next()
            }

            fn next(&self) -> IdFuture<'_, Id> {
                (**self).next()
            }

            fn next_many(&self, count: u64) -> IdFuture<'_, Ids> {
                (**self).next_many(count)
            }
        }
    )*};
}

by_pointer!(&T, Box<T>, Arc<T>);

/// An id, or several, at once or after a while.
///
/// # Example
///
/// ```
/// use leafid::{GenerateError, Id, IdFuture, blocking};
///
/// let future: IdFuture<'_, Id> = IdFuture::ready(Ok::<_, GenerateError>(Id::MAX));
/// assert_eq!(blocking::block_on(future)?, Id::MAX);
/// # Ok::<(), GenerateError>(())
/// ```
#[must_use = "no id is taken before the future is awaited"]
pub struct IdFuture<'a, T>(Stage<'a, T>);

enum Stage<'a, T> {
    Ready(Ready<Result<T, GenerateError>>),
    Waiting(BoxFuture<'a, Result<T, GenerateError>>),
}

impl<'a, T: 'a> IdFuture<'a, T> {
    /// What is known at once. Allocates nothing.
    pub fn ready<E: Into<GenerateError>>(result: Result<T, E>) -> Self {
        Self(Stage::Ready(ready(result.map_err(E::into))))
    }

    /// What has to be waited for. Boxes the future.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{GenerateError, Id, IdFuture, blocking};
    ///
    /// let future = IdFuture::waiting(async { Ok::<_, GenerateError>(Id::MAX) });
    /// assert_eq!(blocking::block_on(future)?, Id::MAX);
    /// # Ok::<(), GenerateError>(())
    /// ```
    pub fn waiting<E: Into<GenerateError>>(
        future: impl Future<Output = Result<T, E>> + Send + 'a,
    ) -> Self {
        Self(Stage::Waiting(Box::pin(async {
            future.await.map_err(E::into)
        })))
    }
}

impl<T> Future for IdFuture<'_, T> {
    type Output = Result<T, GenerateError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Stage::Ready(ready) => Pin::new(ready).poll(context),
            Stage::Waiting(future) => future.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for IdFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdFuture").finish_non_exhaustive()
    }
}

/// Why an [`IdGenerator`] issued no id: the error of the generator behind it.
///
/// # Example
///
/// ```
/// use leafid::{ErrorKind, GenerateError, SnowflakeError};
///
/// let error = GenerateError::from(SnowflakeError::Stopped);
/// assert_eq!(error.kind(), ErrorKind::Stopped);
/// assert_eq!(error.retry_after(), None);
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// No id from a segment.
    #[error(transparent)]
    Segment(#[from] IssueError),
    /// No snowflake id.
    #[error(transparent)]
    Snowflake(#[from] SnowflakeError),
}

impl GenerateError {
    /// What to do about it.
    ///
    /// # Example
    ///
    /// See [`GenerateError`].
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Segment(error) => error.kind(),
            Self::Snowflake(error) => error.kind(),
        }
    }

    /// Whether the same call may succeed later without any change.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }

    /// When it makes sense to try again; `None` for never.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Segment(error) => error.retry_after(),
            Self::Snowflake(error) => error.retry_after(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::{block_on, spawn};
    use crate::generators::Generators;
    use crate::layout::Layout;
    use crate::options::Options;
    use crate::store::{MemoryStore, TagSettings};
    use crate::worker_id::WorkerId;

    /// What the trait promises, of any generator and through any pointer to one.
    fn check(generator: impl IdGenerator) {
        let first = block_on(generator.next()).expect("an id");
        let second = generator.try_next().expect("an id in memory");
        let many: Vec<Id> = block_on(generator.next_many(3)).expect("ids").collect();
        assert_eq!(many.len(), 3);
        let all: Vec<Id> = [first, second].into_iter().chain(many).collect();
        assert!(all.is_sorted_by(|before, after| before < after), "{all:?}");
        for count in [0, u64::MAX] {
            let error = block_on(generator.next_many(count)).expect_err("no such count");
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            assert!(!error.is_retryable() && error.retry_after().is_none());
        }
    }

    fn check_all_pointers<T: IdGenerator + Clone + 'static>(generator: &T) {
        check(generator);
        check(generator.clone());
        check(Arc::new(generator.clone()));
        check(Box::new(generator.clone()) as Box<dyn IdGenerator>);
        check(Arc::new(generator.clone()) as Arc<dyn IdGenerator>);
    }

    #[test]
    fn both_kinds_keep_the_promise() {
        let options = Options {
            create_missing: Some(TagSettings::default()),
            ..Options::default()
        };
        let (generators, driver) = Generators::open(MemoryStore::new(), options);
        let _driver = spawn(driver).expect("a thread");
        check_all_pointers(&generators.generator("order").expect("a tag"));
        let snowflake = Snowflake::with_worker_id(Layout::WIDE, WorkerId::new(7));
        check_all_pointers(&snowflake.expect("a layout of this time"));
    }

    /// Guards that futures can be spawned, and that an id in memory costs no allocation.
    #[test]
    fn an_id_at_hand_is_ready() {
        fn is_send<T: Send>(future: T) -> T {
            future
        }
        let snowflake = Snowflake::with_worker_id(Layout::WIDE, WorkerId::new(7));
        let snowflake = snowflake.expect("a layout of this time");
        let future = is_send(IdGenerator::next(&snowflake));
        assert!(matches!(future.0, Stage::Ready(_)));
    }
}
