//! `ErrorKind`: what to do about an error, alike for ids, stores and connections.

/// What to do about an error: what a program decides by, whichever call failed.
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
    /// Ids are being fetched, too many callers wait, or others were in the way. Try again after
    /// `retry_after`.
    Busy,
    /// The store, or the registry of worker ids, does not answer. The driver goes on asking; try
    /// again after `retry_after`.
    StoreDown,
    /// Someone has to change how the store or this program is set up: a wrong password, a missing
    /// table or right, a setting that loses data. The driver goes on asking meanwhile.
    Misconfigured,
    /// There is no such tag.
    NotFound,
    /// There is such a tag already.
    AlreadyExists,
    /// The tag has issued its last id, or the layout has no bits left for the time.
    Exhausted,
    /// The call cannot be done for anyone: a name that is no tag, a count of 0.
    InvalidRequest,
    /// The driver has stopped.
    Stopped,
}

impl ErrorKind {
    /// Whether the same call may go through later, without anybody changing anything.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Busy | Self::StoreDown)
    }
}
