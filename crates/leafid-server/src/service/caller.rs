//! `Caller`: who asks, as far as a door found out.

use std::fmt;
use std::sync::Arc;

use super::quota::Bucket;

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
    pub(super) token: Option<Arc<Token>>,
}

/// A token, as the server has it: without its secret.
pub(super) struct Token {
    pub(super) name: String,
    /// Whether it may change tags, quotas and worker ids.
    pub(super) is_admin: bool,
    pub(super) bucket: Arc<Bucket>,
}

impl Caller {
    /// A caller who showed no secret.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self { token: None }
    }

    /// The name of the caller's token.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.token.as_ref().map(|token| token.name.as_str())
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Caller").field(&self.token()).finish()
    }
}
