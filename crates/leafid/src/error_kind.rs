//! `ErrorKind`: what to do about an error, the same for ids, stores and connections.

/// What to do about an error: programs can decide by it, whichever call failed.
///
/// # Example
///
/// ```
/// use leafid::{ErrorKind, Generators, Options, blocking, store::MemoryStore};
///
/// let (generators, driver) = Generators::open(MemoryStore::new(), Options::default());
/// let driver = blocking::spawn(driver)?;
/// let error = generators.next_blocking("nobody").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// assert!(!error.kind().is_retryable());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Ids are being fetched, too many callers wait, or another transaction was in the way. Try
    /// again after `retry_after`.
    Busy,
    /// The store, or the registry of worker ids, does not answer. The driver continues to try; try
    /// again after `retry_after`.
    StoreDown,
    /// The set-up of the store or of this program is wrong: a password, a missing table or
    /// permission, a setting that loses data. The driver continues to try meanwhile.
    Misconfigured,
    /// The tag does not exist.
    NotFound,
    /// The tag exists already.
    AlreadyExists,
    /// The tag has issued its last id, or the layout's time has run out.
    Exhausted,
    /// The call can never succeed: an invalid tag name, a count of 0.
    InvalidRequest,
    /// The driver has stopped.
    Stopped,
}

impl ErrorKind {
    /// Whether the same call may succeed later without any change.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Busy | Self::StoreDown)
    }
}
