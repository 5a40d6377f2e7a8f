//! `Tokens`: the tokens that authenticate callers, found by the hash of their secret.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_utils::CachePadded;
use papaya::ResizeMode;

use crate::config::{SecretHash, TokenSpec};
use crate::service::caller::{Pass, Token};
use crate::service::grants::Grants;
use crate::sharded::Sharded;

/// The tokens that are known.
pub(crate) struct Tokens {
    by_secret: papaya::HashMap<SecretHash, Entry>,
    /// Whether anonymous callers are refused; true if there are tokens.
    required: AtomicBool,
}

/// A token, and the pass that its callers get.
struct Entry {
    token: Arc<Token>,
    passes: Sharded<Pass>,
}

impl Entry {
    fn new(spec: &TokenSpec) -> Self {
        let token = Arc::new(Token::new(
            spec.name.clone(),
            spec.is_admin,
            Grants::of(spec),
        ));
        let pass = || Arc::new(CachePadded::new(Arc::clone(&token)));
        Self {
            passes: Sharded::of(pass),
            token,
        }
    }

    /// Whether it is the token that a specification describes, admin or not.
    fn is(&self, spec: &TokenSpec) -> bool {
        self.token.name == spec.name && self.token.grants == Grants::of(spec)
    }
}

impl Tokens {
    pub(super) fn new() -> Self {
        Self {
            // An incremental resize would make every look-up search two tables.
            by_secret: papaya::HashMap::builder()
                .resize_mode(ResizeMode::Blocking)
                .build(),
            required: AtomicBool::new(false),
        }
    }

    pub(super) fn are_required(&self) -> bool {
        // Relaxed: the flag stands for itself.
        self.required.load(Ordering::Relaxed)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_secret.len()
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        let tokens = self.by_secret.pin();
        tokens.values().any(|entry| entry.token.name == name)
    }

    /// The token of a secret, if it has that name.
    pub(super) fn find(&self, name: Option<&str>, secret: &str) -> Option<Pass> {
        // An empty secret is none, whatever a token says.
        if secret.is_empty() {
            return None;
        }
        let tokens = self.by_secret.pin();
        let entry = tokens.get(&SecretHash::of(secret))?;
        let is_named = name.is_none_or(|name| entry.token.name == name);
        is_named.then(|| Arc::clone(entry.passes.here()))
    }

    /// Replaces all tokens; one call at a time. New ones come first, so that a token that stays is
    /// not refused in between.
    pub(super) fn replace(&self, specs: &[TokenSpec]) {
        let tokens = self.by_secret.pin();
        for spec in specs {
            match tokens.get(&spec.secret) {
                Some(entry) if entry.is(spec) => entry.token.set_admin(spec.is_admin),
                // A token of another name or with other grants is another token: its holder has to
                // show the secret again.
                _ => {
                    if let Some(former) = tokens.insert(spec.secret, Entry::new(spec)) {
                        former.token.revoke();
                    }
                }
            }
        }
        self.required.store(!specs.is_empty(), Ordering::Relaxed);
        let kept: BTreeSet<&SecretHash> = specs.iter().map(|spec| &spec.secret).collect();
        tokens.retain(|secret, entry| {
            let is_kept = kept.contains(secret);
            if !is_kept {
                entry.token.revoke();
            }
            is_kept
        });
    }
}
