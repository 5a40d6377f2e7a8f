//! `Tokens`: the tokens that authenticate callers, found by the hash of a secret. A token may have
//! two secrets; it stays the same token for its callers as long as one of them stays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use papaya::ResizeMode;

use super::peer_proof::PeerProof;
use crate::config::{SecretHash, TokenSpec};
use crate::service::caller::{Caller, Pass, Token};
use crate::service::grants::Grants;
use crate::sharded::Sharded;

/// The tokens that are known.
pub(crate) struct Tokens {
    /// A token with two secrets is here under both.
    by_secret: papaya::HashMap<SecretHash, Arc<Entry>>,
    /// How many tokens there are; if there is one, anonymous callers are refused.
    count: AtomicUsize,
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
            count: AtomicUsize::new(0),
        }
    }

    pub(super) fn are_required(&self) -> bool {
        self.len() > 0
    }

    pub(crate) fn len(&self) -> usize {
        // Relaxed: the number stands for itself.
        self.count.load(Ordering::Relaxed)
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

    /// What shows another server, which has the same tokens, that this caller may look. It is good
    /// for that server alone, for some seconds, and gives nobody the secret.
    pub(crate) fn peer_proof(&self, caller: &Caller, address: &str) -> Option<String> {
        let pass = caller.pass.as_ref()?;
        let tokens = self.by_secret.pin();
        let (secret, _) = tokens
            .iter()
            .find(|(_, entry)| Arc::ptr_eq(&entry.token, pass))?;
        Some(PeerProof::new(&pass.name, address).sign(secret))
    }

    /// The pass of the token in whose name another server asks this one at an address.
    pub(super) fn proven(&self, proof: &str, address: &str) -> Option<Pass> {
        let (proof, signature) = PeerProof::parse(proof, address)?;
        let tokens = self.by_secret.pin();
        let mut named = tokens
            .iter()
            .filter(|(_, entry)| entry.token.name == proof.name());
        let (_, entry) = named.find(|(secret, _)| proof.is_signed(secret, signature))?;
        Some(Arc::clone(entry.passes.here()))
    }

    /// Replaces all tokens; one call at a time. New ones come first, so that a token that stays is
    /// not refused in between. A token that no secret leads to any longer is revoked.
    pub(super) fn replace(&self, specs: &[TokenSpec]) {
        let tokens = self.by_secret.pin();
        let former: Vec<Arc<Entry>> = tokens.values().map(Arc::clone).collect();
        let kept: BTreeMap<SecretHash, Arc<Entry>> =
            specs.iter().flat_map(|spec| self.entries(spec)).collect();
        for (secret, entry) in &kept {
            tokens.insert(*secret, Arc::clone(entry));
        }
        self.count.store(specs.len(), Ordering::Relaxed);
        tokens.retain(|secret, _| kept.contains_key(secret));
        let stay: BTreeSet<*const Entry> = kept.values().map(Arc::as_ptr).collect();
        for entry in former {
            if !stay.contains(&Arc::as_ptr(&entry)) {
                entry.token.revoke();
            }
        }
    }

    /// The entry of a specification under each of its secrets: the present one if a secret leads
    /// to it. A token of another name or with other grants is another token: its holder has to
    /// show the secret again.
    fn entries(&self, spec: &TokenSpec) -> Vec<(SecretHash, Arc<Entry>)> {
        let tokens = self.by_secret.pin();
        let mut present = spec.secrets().filter_map(|secret| tokens.get(&secret));
        let entry = match present.find(|entry| entry.is(spec)) {
            Some(entry) => {
                entry.token.set_admin(spec.is_admin);
                Arc::clone(entry)
            }
            None => Arc::new(Entry::new(spec)),
        };
        let under = |secret| (secret, Arc::clone(&entry));
        spec.secrets().map(under).collect()
    }
}
