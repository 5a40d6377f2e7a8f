//! `TokenSpec`: a token as it is written down, with the hash of its secret.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::scope::{TagPattern, TokenScope};

/// A secret, hashed: looked up so, it is not compared byte by byte, and not kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SecretHash([u8; 32]);

impl SecretHash {
    pub(crate) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// From 64 hexadecimal digits.
    pub(super) fn from_hex(text: &str) -> Option<Self> {
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

/// A token to be let in.
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
    /// What it is called in metrics and messages.
    pub name: String,
    /// The hash of its secret.
    pub(crate) secret: SecretHash,
    /// Whether it may change tags, quotas and worker ids.
    pub is_admin: bool,
    /// Ids a second; `None` for as many as there are.
    pub ids_per_second: Option<u64>,
    /// Whether it may take ids, look at things, or both; an admin may do both.
    pub scope: TokenScope,
    /// Of which tags; empty, and for an admin: of all.
    pub tags: Vec<TagPattern>,
}

impl TokenSpec {
    /// A token that may take ids.
    #[must_use]
    pub fn new(name: impl Into<String>, secret: &str) -> Self {
        Self::with_secret(name, SecretHash::of(secret))
    }

    /// A token that may take ids, of whose secret only the SHA-256 is known.
    #[must_use]
    pub fn with_hash(name: impl Into<String>, sha256: [u8; 32]) -> Self {
        Self::with_secret(name, SecretHash(sha256))
    }

    pub(super) fn with_secret(name: impl Into<String>, secret: SecretHash) -> Self {
        Self {
            name: name.into(),
            secret,
            is_admin: false,
            ids_per_second: None,
            scope: TokenScope::All,
            tags: Vec::new(),
        }
    }

    /// Whether two tokens have one secret, so that nobody could tell them apart.
    #[must_use]
    pub fn has_secret_of(&self, other: &Self) -> bool {
        self.secret == other.secret
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
