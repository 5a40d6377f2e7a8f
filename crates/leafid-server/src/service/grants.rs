//! `Grants`: the permissions of a token: taking ids, reading, or both, and of which tags.

use crate::config::{TagPattern, TokenScope, TokenSpec};

/// The permissions of a token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Grants {
    pub(super) scope: TokenScope,
    /// Empty: all tags.
    pub(super) tags: Vec<TagPattern>,
}

impl Grants {
    /// What a token may do; an admin's may do everything.
    pub(super) fn of(spec: &TokenSpec) -> Self {
        if spec.is_admin {
            return Self::default();
        }
        Self {
            scope: spec.scope,
            tags: spec.tags.clone(),
        }
    }

    /// Whether they are limited at all.
    pub(super) fn are_limited(&self) -> bool {
        *self != Self::default()
    }

    /// Whether ids of a tag may be taken. Ids without a tag are not limited by tags.
    pub(super) fn let_take(&self, tag: Option<&str>) -> bool {
        self.scope != TokenScope::Read && self.name(tag)
    }

    /// Whether a tag may be read, or with `None` what belongs to no tag.
    pub(super) fn let_look(&self, tag: Option<&str>) -> bool {
        self.scope != TokenScope::Ids && self.name(tag)
    }

    fn name(&self, tag: Option<&str>) -> bool {
        let Some(tag) = tag else { return true };
        self.tags.is_empty() || self.tags.iter().any(|pattern| pattern.matches(tag))
    }
}
