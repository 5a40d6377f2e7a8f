//! `QuotaKey`: a [`QuotaScope`] with borrowed names, for look-ups without an allocation.
//!
//! Invariant: a key hashes as the scope that it equals.

use papaya::Equivalent;

use crate::config::QuotaScope;

/// The same variants as [`QuotaScope`], in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum QuotaKey<'a> {
    Server,
    Tag(&'a str),
    Token(&'a str),
}

impl Equivalent<QuotaScope> for QuotaKey<'_> {
    fn equivalent(&self, scope: &QuotaScope) -> bool {
        *self == QuotaKey::from(scope)
    }
}

impl<'a> From<&'a QuotaScope> for QuotaKey<'a> {
    fn from(scope: &'a QuotaScope) -> Self {
        match scope {
            QuotaScope::Server => Self::Server,
            QuotaScope::Tag(tag) => Self::Tag(tag.as_str()),
            QuotaScope::Token(name) => Self::Token(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher as _, RandomState};

    use leafid::Tag;

    use super::*;

    /// Guards that a quota is found by its key.
    #[test]
    fn a_key_hashes_as_its_scope() {
        let hasher = RandomState::new();
        for scope in [
            QuotaScope::Server,
            QuotaScope::Tag(Tag::new("order").unwrap()),
            QuotaScope::Token("order".to_owned()),
        ] {
            let key = QuotaKey::from(&scope);
            assert!(key.equivalent(&scope));
            assert_eq!(hasher.hash_one(key), hasher.hash_one(&scope), "{scope}");
        }
    }
}
