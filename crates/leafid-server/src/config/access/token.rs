//! `TokenSpec`: a token as the access file describes it, with the hash of its secret.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::scope::{TagPattern, TokenScope};

/// The SHA-256 of a secret. Looking up the hash compares no secret byte by byte and keeps none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SecretHash([u8; 32]);

impl SecretHash {
    pub(crate) const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// From 64 hexadecimal digits.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digits = is_hex.then_some(text)?;
        let mut hash = [0; 32];
        for (index, byte) in hash.iter_mut().enumerate() {
            let pair = digits.get(2 * index..2 * index + 2)?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Self(hash))
    }
}

/// A token that callers may authenticate with.
///
/// # Example
///
/// ```
/// use leafid_server::TokenSpec;
///
/// let spec = TokenSpec::new("billing", "s3cret");
/// assert!(!spec.is_admin && spec.ids_per_second.is_none());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSpec {
    /// Its name in metrics and messages.
    pub name: String,
    /// The hash of its secret.
    pub(crate) secret: SecretHash,
    /// The hash of a second secret, accepted as well while callers move from one to the other.
    pub(crate) next_secret: Option<SecretHash>,
    /// Whether it may change tags, quotas and worker ids.
    pub is_admin: bool,
    /// Its quota in ids per second; `None` for no quota.
    pub ids_per_second: Option<u64>,
    /// Whether it may take ids, read, or both; an admin may do both.
    pub scope: TokenScope,
    /// The tags that it may be used for; if empty, or for an admin, all.
    pub tags: Vec<TagPattern>,
}

impl TokenSpec {
    /// A token that may take ids.
    #[must_use]
    pub fn new(name: impl Into<String>, secret: &str) -> Self {
        Self::with_secret(name, SecretHash::of(secret))
    }

    /// A token that may take ids, by the SHA-256 of its secret.
    #[must_use]
    pub fn with_hash(name: impl Into<String>, sha256: [u8; 32]) -> Self {
        Self::with_secret(name, SecretHash(sha256))
    }

    pub(super) fn with_secret(name: impl Into<String>, secret: SecretHash) -> Self {
        Self {
            name: name.into(),
            secret,
            next_secret: None,
            is_admin: false,
            ids_per_second: None,
            scope: TokenScope::All,
            tags: Vec::new(),
        }
    }

    /// The same token with a second secret, accepted as well as the first one.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid_server::TokenSpec;
    ///
    /// let rotating = TokenSpec::new("billing", "former").and_secret("new");
    /// assert!(rotating.has_secret_of(&TokenSpec::new("billing", "new")));
    /// ```
    #[must_use]
    pub fn and_secret(mut self, secret: &str) -> Self {
        self.next_secret = Some(SecretHash::of(secret));
        self
    }

    /// The hashes of its secrets: one, or two during a rotation.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = SecretHash> {
        std::iter::once(self.secret).chain(self.next_secret)
    }

    /// Whether two tokens have a secret in common, so that they could not be distinguished.
    #[must_use]
    pub fn has_secret_of(&self, other: &Self) -> bool {
        self.secrets()
            .any(|secret| other.secrets().any(|its| its == secret))
    }
}

/// Shows no secret, not even hashed.
impl fmt::Debug for TokenSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSpec")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
