//! `Access`: the tokens and quotas that apply. Read by every call without a lock; changed at run
//! time.
//!
//! Without a quota, a call reads two flags and neither a clock nor anything that others write.
//! Left to others: where tokens are written down. Invariant: a token that was taken away lets
//! nobody in, also not those who showed it before.

mod grants;
mod quota_key;
mod refusals;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use leafid::Clock;
use papaya::ResizeMode;

use super::caller::{Caller, Pass, Standing, Token};
use super::error::ServiceError;
use super::quota::Bucket;
use crate::config::{QuotaScope, SecretHash, TokenSpec};
use crate::sharded::Sharded;
pub(super) use grants::Grants;
use quota_key::QuotaKey;
use refusals::Refusals;
pub(crate) use refusals::TokenRefusal;

/// Tokens and quotas.
pub(crate) struct Access {
    clock: Arc<dyn Clock>,
    tokens: papaya::HashMap<SecretHash, Entry>,
    /// Whether anonymous callers are refused. There are tokens then.
    needs_token: AtomicBool,
    quotas: papaya::HashMap<QuotaScope, Bucket>,
    /// Whether there is any quota; without one, no clock is read.
    has_quotas: AtomicBool,
    refusals: Refusals,
    /// The quotas that came with the tokens last. One change at a time, by whoever holds it.
    given: Mutex<BTreeMap<QuotaScope, u64>>,
}

/// A token, and what callers get of it.
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
}

impl Access {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        tokens: &[TokenSpec],
        quotas: &[(QuotaScope, u64)],
    ) -> Self {
        let access = Self {
            clock,
            // An incremental resize would leave every look-up searching two tables.
            tokens: papaya::HashMap::builder()
                .resize_mode(ResizeMode::Blocking)
                .build(),
            needs_token: AtomicBool::new(false),
            quotas: papaya::HashMap::builder()
                .resize_mode(ResizeMode::Blocking)
                .build(),
            has_quotas: AtomicBool::new(false),
            refusals: Refusals::default(),
            given: Mutex::default(),
        };
        access.apply(tokens, quotas);
        access
    }

    pub(super) fn needs_token(&self) -> bool {
        // Relaxed, here and for `has_quotas`: the flags stand for themselves.
        self.needs_token.load(Ordering::Relaxed)
    }

    pub(super) fn authenticate(
        &self,
        name: Option<&str>,
        secret: &str,
    ) -> Result<Caller, ServiceError> {
        let tokens = self.tokens.pin();
        let entry = match secret {
            // Nothing is no secret, whatever a token says.
            "" => None,
            secret => tokens.get(&SecretHash::of(secret)),
        };
        let entry = entry.filter(|entry| name.is_none_or(|name| entry.token.name == name));
        let entry = entry.ok_or_else(|| self.refuse(TokenRefusal::Unknown))?;
        Ok(Caller::with_pass(Arc::clone(entry.passes.here())))
    }

    /// Whether a caller may look at a tag, or with `None` at what has no tag.
    pub(crate) fn check_look(
        &self,
        caller: &Caller,
        tag: Option<&str>,
    ) -> Result<(), ServiceError> {
        self.check_token(caller)?;
        match limited(caller) {
            Some(token) if !token.grants.let_look(tag) => {
                Err(self.not_allowed(token, "look at", tag))
            }
            _ => Ok(()),
        }
    }

    /// Whether a caller who looks at many tags is shown this one.
    pub(super) fn shows(&self, caller: &Caller, tag: &str) -> bool {
        limited(caller).is_none_or(|token| token.grants.let_look(Some(tag)))
    }

    #[cold]
    #[inline(never)]
    fn not_allowed(&self, token: &Token, what: &str, tag: Option<&str>) -> ServiceError {
        self.refusals.count_token(TokenRefusal::NotAllowed);
        ServiceError::NotAllowed {
            token: token.name.clone(),
            what: match tag {
                Some(tag) => format!("{what} tag {tag:?}"),
                None => format!("{what} this"),
            },
        }
    }

    /// Whether what a caller takes in one call is a share of what is left of a tag: callers with
    /// an admin's token, and where no token is asked for, take as much as they like.
    pub(super) fn is_shared_out(&self, caller: &Caller) -> bool {
        let standing = caller.pass.as_ref().map(|pass| pass.standing());
        self.needs_token() && standing != Some(Standing::Admin)
    }

    /// Whether a caller showed a token that is known.
    #[inline]
    pub(crate) fn check_token(&self, caller: &Caller) -> Result<(), ServiceError> {
        let why = match &caller.pass {
            None => TokenRefusal::Missing,
            Some(pass) if pass.is_gone() => TokenRefusal::Unknown,
            Some(_) => return Ok(()),
        };
        self.let_in_without(why)
    }

    /// Admits a caller without a valid token if none is required.
    #[inline]
    fn let_in_without(&self, why: TokenRefusal) -> Result<(), ServiceError> {
        if self.needs_token() {
            return Err(self.refuse(why));
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, why: TokenRefusal) -> ServiceError {
        self.refusals.count_token(why);
        match why {
            TokenRefusal::Missing => ServiceError::NoToken,
            TokenRefusal::Unknown | TokenRefusal::NotAdmin | TokenRefusal::NotAllowed => {
                ServiceError::BadToken
            }
        }
    }

    /// Whether a caller may have `count` ids of a tag now. `None` is for what has no tag.
    #[inline]
    pub(super) fn check(
        &self,
        caller: &Caller,
        tag: Option<&str>,
        count: u64,
    ) -> Result<(), ServiceError> {
        self.check_token(caller)?;
        if let Some(token) = limited(caller)
            && !token.grants.let_take(tag)
        {
            return Err(self.not_allowed(token, "take ids of", tag));
        }
        if self.has_quotas.load(Ordering::Relaxed) {
            return self.check_quotas(caller, tag, count);
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn check_quotas(
        &self,
        caller: &Caller,
        tag: Option<&str>,
        count: u64,
    ) -> Result<(), ServiceError> {
        let now = self.clock.now();
        let quotas = self.quotas.pin();
        for scope in scopes(caller, tag) {
            let found = quotas.get_key_value(&scope);
            let checked = found.map(|(scope, bucket)| (scope, bucket, bucket.check(now)));
            if let Some((scope, bucket, Err(retry_after))) = checked {
                self.refusals.count_quota(scope.kind(), 1, count);
                return Err(ServiceError::OverQuota {
                    scope: scope.clone(),
                    per_second: bucket.per_second(),
                    retry_after,
                });
            }
        }
        Ok(())
    }

    /// Whether ids of a tag come under a quota when this caller takes them.
    #[inline]
    pub(crate) fn has_quota(&self, caller: &Caller, tag: &str) -> bool {
        self.has_quotas.load(Ordering::Relaxed) && {
            let quotas = self.quotas.pin();
            scopes(caller, Some(tag)).any(|scope| quotas.contains_key(&scope))
        }
    }

    /// So many calls more, for an id each, are answered with a refusal that was found for another.
    pub(crate) fn count_refused(&self, error: &ServiceError, calls: u64) {
        if let ServiceError::OverQuota { scope, .. } = error {
            self.refusals.count_quota(scope.kind(), calls, calls);
        }
    }

    /// Takes note that a caller was given ids.
    #[inline]
    pub(super) fn charge(&self, caller: &Caller, tag: Option<&str>, count: u64) {
        if self.has_quotas.load(Ordering::Relaxed) {
            self.charge_quotas(caller, tag, count);
        }
    }

    #[cold]
    #[inline(never)]
    fn charge_quotas(&self, caller: &Caller, tag: Option<&str>, count: u64) {
        let now: Duration = self.clock.now();
        let quotas = self.quotas.pin();
        for bucket in scopes(caller, tag).filter_map(|scope| quotas.get(&scope)) {
            bucket.charge(count, now);
        }
    }

    /// Whether a caller may change tags, quotas and worker ids.
    pub(super) fn check_admin(&self, caller: &Caller) -> Result<(), ServiceError> {
        // One look: a token that is taken away meanwhile must not pass for another answer.
        let why = match caller.pass.as_ref().map(|pass| (pass, pass.standing())) {
            Some((_, Standing::Admin)) => return Ok(()),
            Some((pass, Standing::Taker)) => {
                self.refusals.count_token(TokenRefusal::NotAdmin);
                let token = pass.name.clone();
                return Err(ServiceError::NotAdmin { token });
            }
            Some((_, Standing::Gone)) => TokenRefusal::Unknown,
            None => TokenRefusal::Missing,
        };
        self.let_in_without(why)
    }

    /// The quota on something, if there is one.
    pub(super) fn quota(&self, scope: &QuotaScope) -> Option<u64> {
        self.quotas.pin().get(scope).map(Bucket::per_second)
    }

    /// The quotas, ordered by what they limit.
    pub(crate) fn quotas(&self) -> Vec<(QuotaScope, u64)> {
        let quotas = self.quotas.pin();
        let quotas = quotas
            .iter()
            .map(|(scope, bucket)| (scope.clone(), bucket.per_second()));
        let mut quotas: Vec<_> = quotas.collect();
        quotas.sort();
        quotas
    }

    /// How many tokens there are.
    pub(crate) fn tokens_len(&self) -> usize {
        self.tokens.len()
    }

    /// Calls refused because of who made them.
    pub(crate) fn refused_tokens(&self, why: TokenRefusal) -> u64 {
        self.refusals.tokens(why)
    }

    /// Calls and ids refused by quotas, by what the quota is on.
    pub(crate) fn refused_by_quotas(&self) -> [(&'static str, u64, u64); 3] {
        self.refusals.quotas()
    }

    /// Applies a quota, or with `None` removes it. Ids issued before do not count.
    pub(super) fn set_quota(
        &self,
        scope: &QuotaScope,
        per_second: Option<u64>,
        tags_max: usize,
    ) -> Result<(), ServiceError> {
        let given = self.given.lock();
        let _given = given.unwrap_or_else(PoisonError::into_inner);
        if let QuotaScope::Token(name) = scope {
            let tokens = self.tokens.pin();
            if !tokens.values().any(|entry| entry.token.name == *name) {
                return Err(ServiceError::UnknownToken { name: name.clone() });
            }
        }
        let quotas = self.quotas.pin();
        if per_second.is_some() && !quotas.contains_key(scope) {
            let is_tag = |scope: &&QuotaScope| matches!(scope, QuotaScope::Tag(_));
            let tags = quotas.keys().filter(is_tag).count();
            if is_tag(&scope) && tags >= tags_max {
                return Err(ServiceError::TooManyQuotas { max: tags_max });
            }
        }
        self.replace_bucket(scope, per_second);
        self.count_quotas();
        Ok(())
    }

    /// Replaces the tokens. Only quotas that differ from those of the last call change: what an
    /// operator set in between stays, and so does the state of its bucket.
    pub(super) fn apply(&self, tokens: &[TokenSpec], quotas: &[(QuotaScope, u64)]) {
        let given = self.given.lock();
        let mut former = given.unwrap_or_else(PoisonError::into_inner);
        self.replace_tokens(tokens);
        let names: BTreeSet<&str> = tokens.iter().map(|spec| spec.name.as_str()).collect();
        let of_tokens = tokens.iter().filter_map(|spec| {
            let scope = QuotaScope::Token(spec.name.clone());
            Some((scope, spec.ids_per_second?))
        });
        let given: BTreeMap<QuotaScope, u64> = of_tokens.chain(quotas.iter().cloned()).collect();
        let scopes: BTreeSet<&QuotaScope> = former.keys().chain(given.keys()).collect();
        for scope in scopes {
            if former.get(scope) != given.get(scope) {
                self.replace_bucket(scope, given.get(scope).copied());
            }
        }
        let all = self.quotas.pin();
        all.retain(|scope, _| match scope {
            QuotaScope::Token(name) => names.contains(name.as_str()),
            QuotaScope::Server | QuotaScope::Tag(_) => true,
        });
        self.count_quotas();
        *former = given;
    }

    /// New tokens first, so that a token that stays is not refused in between.
    fn replace_tokens(&self, specs: &[TokenSpec]) {
        let tokens = self.tokens.pin();
        for spec in specs {
            match tokens.get(&spec.secret) {
                Some(entry)
                    if entry.token.name == spec.name && entry.token.grants == Grants::of(spec) =>
                {
                    entry.token.set_admin(spec.is_admin);
                }
                // A token of another name, or good for something else, is another token. Who holds
                // the former one has to show it again.
                _ => {
                    if let Some(former) = tokens.insert(spec.secret, Entry::new(spec)) {
                        former.token.revoke();
                    }
                }
            }
        }
        self.needs_token.store(!specs.is_empty(), Ordering::Relaxed);
        let kept: BTreeSet<&SecretHash> = specs.iter().map(|spec| &spec.secret).collect();
        tokens.retain(|secret, entry| {
            let is_kept = kept.contains(secret);
            if !is_kept {
                entry.token.revoke();
            }
            is_kept
        });
    }

    /// Another quota is another bucket.
    fn replace_bucket(&self, scope: &QuotaScope, per_second: Option<u64>) {
        let quotas = self.quotas.pin();
        match per_second {
            Some(per_second) => {
                let _former = quotas.insert(scope.clone(), Bucket::new(per_second));
            }
            None => {
                let _former = quotas.remove(scope);
            }
        }
    }

    fn count_quotas(&self) {
        let any = !self.quotas.is_empty();
        self.has_quotas.store(any, Ordering::Relaxed);
    }
}

/// The token of a caller, if it leaves anything out.
#[inline]
fn limited(caller: &Caller) -> Option<&Token> {
    let pass = caller.pass.as_ref()?;
    pass.is_limited.then_some(&***pass)
}

/// What quotas a call may come under, in the order in which they are looked at.
fn scopes<'a>(caller: &'a Caller, tag: Option<&'a str>) -> impl Iterator<Item = QuotaKey<'a>> {
    let token = caller.token().map(QuotaKey::Token);
    let all = [Some(QuotaKey::Server), token, tag.map(QuotaKey::Tag)];
    all.into_iter().flatten()
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
