//! `TokenScope` and `TagPattern`: what a token without `admin` may do, and with which tags.

use std::fmt;

/// What a token without `admin` may do.
///
/// # Example
///
/// ```
/// use leafid_server::{TokenScope, TokenSpec};
///
/// let mut spec = TokenSpec::new("dashboard", "9f2c6f0b8d1e4a7c");
/// assert_eq!(spec.scope, TokenScope::All);
/// spec.scope = TokenScope::Read;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TokenScope {
    /// Take ids, and read tags and workers.
    #[default]
    All,
    /// Take ids only.
    Ids,
    /// Read only.
    Read,
}

impl TokenScope {
    /// The scope of that name in an access file.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid_server::TokenScope;
    ///
    /// assert_eq!(TokenScope::from_name("read"), Some(TokenScope::Read));
    /// assert_eq!(TokenScope::from_name("write"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "all" => Some(Self::All),
            "ids" => Some(Self::Ids),
            "read" => Some(Self::Read),
            _ => None,
        }
    }
}

/// A tag name, in which `*` stands for any characters.
///
/// # Example
///
/// ```
/// use leafid_server::TagPattern;
///
/// let pattern = TagPattern::new("pay-*");
/// assert!(pattern.matches("pay-in") && !pattern.matches("order"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagPattern(String);

impl TagPattern {
    /// A pattern from its text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether a name matches.
    ///
    /// # Example
    ///
    /// See [`TagPattern`].
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let Some((start, rest)) = self.0.split_once('*') else {
            return self.0 == name;
        };
        let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
        let inner = name.strip_prefix(start);
        let Some(mut inner) = inner.and_then(|inner| inner.strip_suffix(end)) else {
            return false;
        };
        // The first match leaves the longest rest, so no other needs trying.
        middle.split('*').all(|part| match inner.find(part) {
            Some(at) => {
                inner = &inner[at + part.len()..];
                true
            }
            None => false,
        })
    }
}

impl fmt::Display for TagPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let check = |pattern: &str, name: &str, expected: bool| {
            let found = TagPattern::new(pattern).matches(name);
            assert_eq!(found, expected, "{pattern} {name}");
        };
        check("order", "order", true);
        check("order", "order2", false);
        check("order", "Order", false);
        check("*", "", true);
        check("*", "anything", true);
        check("pay-*", "pay-", true);
        check("pay-*", "pay", false);
        check("*-eu", "order-eu", true);
        check("*-eu", "order-eu2", false);
        check("a*a", "a", false);
        check("a*a", "aa", true);
        check("a*b*c", "a-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("a*b*b*c", "abc", false);
        check("a*b*b*c", "abbc", true);
        check("**", "x", true);
        check("\u{8ba2}*", "\u{8ba2}\u{5355}", true);
    }
}
