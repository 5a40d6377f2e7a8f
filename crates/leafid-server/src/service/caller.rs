//! `Caller`: who asks, as far as a door found out.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_utils::CachePadded;

/// Who asks. A door makes one from the secret that came with a request or a connection, by
/// [`Service::authenticate`](crate::Service::authenticate); without a secret it is anonymous.
///
/// # Example
///
/// ```
/// assert!(leafid_server::Caller::anonymous().token().is_none());
/// ```
#[derive(Clone, Default)]
pub struct Caller {
    pub(super) pass: Option<Pass>,
}

/// A token in a caller's hand. There is one for each thread that lets callers in, with a counter
/// of its own on a cache line of its own: requests with one token do not contend for it.
pub(super) type Pass = Arc<CachePadded<Arc<Token>>>;

/// A token, as the server has it: without its secret.
pub(super) struct Token {
    pub(super) name: String,
    /// Whether it may change tags, quotas and worker ids.
    is_admin: AtomicBool,
    /// Whether it was taken away. Connections that showed it once still hold it.
    is_gone: AtomicBool,
}

impl Token {
    pub(super) const fn new(name: String, is_admin: bool) -> Self {
        Self {
            name,
            is_admin: AtomicBool::new(is_admin),
            is_gone: AtomicBool::new(false),
        }
    }

    // Relaxed, here and below: the flags stand for themselves, nothing is read behind them.

    pub(super) fn is_admin(&self) -> bool {
        self.is_admin.load(Ordering::Relaxed)
    }

    pub(super) fn set_admin(&self, is_admin: bool) {
        self.is_admin.store(is_admin, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// Takes it away for good, also from those who hold it.
    pub(super) fn revoke(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
    }
}

impl Caller {
    /// A caller who showed no secret.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self { pass: None }
    }

    /// The name of the caller's token; `None` also once the token was taken away, so that a
    /// connection which showed it has to show another.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        let pass = self.pass.as_ref().filter(|pass| !pass.is_gone());
        pass.map(|pass| pass.name.as_str())
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Caller").field(&self.token()).finish()
    }
}
