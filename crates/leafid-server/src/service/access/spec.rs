//! What access is made of: a token as it is written down, and what a quota is on.

use std::fmt;
use std::hash::{Hash, Hasher};

use leafid::Tag;
use papaya::Equivalent;
use sha2::{Digest as _, Sha256};

use super::grants::{Grants, TagPattern, TokenScope};

/// A secret, hashed: looked up so, it is not compared byte by byte, and not kept.
pub(super) type SecretHash = [u8; 32];

pub(super) fn hash(secret: &str) -> SecretHash {
    Sha256::digest(secret).into()
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
    pub(super) secret: SecretHash,
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
        Self::with_hash(name, hash(secret))
    }

    /// A token that may take ids, of whose secret only the SHA-256 is known.
    #[must_use]
    pub fn with_hash(name: impl Into<String>, sha256: [u8; 32]) -> Self {
        Self {
            name: name.into(),
            secret: sha256,
            is_admin: false,
            ids_per_second: None,
            scope: TokenScope::All,
            tags: Vec::new(),
        }
    }

    /// What it is good for.
    pub(super) fn grants(&self) -> Grants {
        if self.is_admin {
            return Grants::default();
        }
        Grants {
            scope: self.scope,
            tags: self.tags.clone(),
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

/// What a quota is on.
///
/// # Example
///
/// ```
/// use leafid_server::QuotaScope;
///
/// assert_eq!(QuotaScope::Server.to_string(), "this server");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuotaScope {
    /// All that this server gives out.
    Server,
    /// One tag.
    Tag(Tag),
    /// All callers with one token, by its name.
    Token(String),
}

impl QuotaScope {
    /// What kind of thing it is, in one word.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Tag(_) => "tag",
            Self::Token(_) => "token",
        }
    }

    /// The name of the tag or the token; empty for the server.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Server => "",
            Self::Tag(tag) => tag.as_str(),
            Self::Token(name) => name,
        }
    }

    fn borrowed(&self) -> Scope<'_> {
        match self {
            Self::Server => Scope::Server,
            Self::Tag(tag) => Scope::Tag(tag.as_str()),
            Self::Token(name) => Scope::Token(name),
        }
    }
}

impl fmt::Display for QuotaScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => f.write_str("this server"),
            Self::Tag(tag) => write!(f, "tag \"{tag}\""),
            Self::Token(name) => write!(f, "token \"{name}\""),
        }
    }
}

/// As `Scope`, by which it is looked up.
impl Hash for QuotaScope {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.borrowed().hash(state);
    }
}

/// A [`QuotaScope`] by borrowed names, for looking one up without allocating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scope<'a> {
    Server,
    Tag(&'a str),
    Token(&'a str),
}

impl Equivalent<QuotaScope> for Scope<'_> {
    fn equivalent(&self, scope: &QuotaScope) -> bool {
        *self == scope.borrowed()
    }
}
