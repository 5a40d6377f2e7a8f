//! `QuotaScope`: what a quota limits.

use std::fmt;

use leafid::Tag;

/// What a quota limits.
///
/// # Example
///
/// ```
/// use leafid_server::QuotaScope;
///
/// assert_eq!(QuotaScope::Server.to_string(), "this server");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuotaScope {
    /// All ids that this server issues.
    Server,
    /// One tag.
    Tag(Tag),
    /// All callers with one token, by its name.
    Token(String),
}

impl QuotaScope {
    /// Its kind in one word, as in metrics.
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
