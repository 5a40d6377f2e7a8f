//! `Access`: authentication and authorization by tokens, and rate limits by quotas. Read by every
//! call without a lock; changed at run time.
//!
//! Without a quota, a call reads two flags and neither a clock nor anything that others write.
//! Left to others: where tokens are written down. Invariant: a revoked token authenticates no
//! caller, not even one that showed it before.

mod peer_proof;
mod quota_key;
mod rate_limit;
mod refusals;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use leafid::Clock;

use super::caller::{Caller, Standing, Token};
use super::counter_names::counter_name;
use super::error::ServiceError;
use crate::config::{QuotaScope, TokenSpec};
use quota_key::QuotaKey;
use rate_limit::RateLimit;
use refusals::Refusals;
pub(crate) use refusals::TokenRefusal;
use tokens::Tokens;

/// The tokens and quotas in force.
pub(crate) struct Access {
    pub(crate) tokens: Tokens,
    pub(crate) quotas: RateLimit,
    pub(crate) refusals: Refusals,
    /// The quotas of the last [`Access::apply`]. The holder of the lock changes it.
    applied: Mutex<BTreeMap<QuotaScope, u64>>,
}

impl Access {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        tokens: &[TokenSpec],
        quotas: &[(QuotaScope, u64)],
    ) -> Self {
        let access = Self {
            tokens: Tokens::new(),
            quotas: RateLimit::new(clock),
            refusals: Refusals::default(),
            applied: Mutex::default(),
        };
        access.apply(tokens, quotas);
        access
    }

    pub(super) fn needs_token(&self) -> bool {
        self.tokens.are_required()
    }

    pub(super) fn authenticate(
        &self,
        name: Option<&str>,
        secret: &str,
    ) -> Result<Caller, ServiceError> {
        let pass = self.tokens.find(name, secret);
        let pass = pass.ok_or_else(|| self.refuse(TokenRefusal::Unknown))?;
        Ok(Caller::with_pass(pass))
    }

    /// The caller in whose name another server asks this one.
    pub(super) fn proven(&self, proof: &str, address: &str) -> Result<Caller, ServiceError> {
        let pass = self.tokens.proven(proof, address);
        let pass = pass.ok_or_else(|| self.refuse(TokenRefusal::Unknown))?;
        Ok(Caller::with_pass(pass))
    }

    /// Whether a caller may change things; a question, which is not counted as an attempt.
    pub(super) fn is_admin(&self, caller: &Caller) -> bool {
        let standing = caller.pass.as_ref().map(|pass| pass.standing());
        !self.needs_token() || standing == Some(Standing::Admin)
    }

    /// Whether a caller may read a tag, or with `None` what belongs to no tag.
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

    /// Whether a caller that lists tags is shown this one.
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

    /// Whether one call may only take a share of what is left of a tag. Callers with an admin's
    /// token, and all callers if no tokens are required, may take as much as they like.
    pub(super) fn is_shared_out(&self, caller: &Caller) -> bool {
        let standing = caller.pass.as_ref().map(|pass| pass.standing());
        self.needs_token() && standing != Some(Standing::Admin)
    }

    /// Whether a caller has a valid token.
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

    /// Whether a caller may have `count` ids of a tag now; `None` is for ids without a tag.
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
        if self.quotas.has_any() {
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
        let checked = self.quotas.check(scopes(caller, tag));
        checked.inspect_err(|error| self.count_refused(error, 1, count))
    }

    /// Whether a quota applies to ids of a tag for this caller.
    #[inline]
    pub(crate) fn has_quota(&self, caller: &Caller, tag: &str) -> bool {
        let counter = counter_name(tag).map(QuotaKey::Tag);
        let keys = scopes(caller, Some(tag)).chain(counter);
        self.quotas.has_any() && self.quotas.has_one_of(keys)
    }

    /// Whether there are quotas at all.
    #[inline]
    pub(super) fn has_quotas(&self) -> bool {
        self.quotas.has_any()
    }

    /// Whether anything may bind a caller besides its token.
    #[inline]
    pub(super) fn may_bind(&self, caller: &Caller) -> bool {
        self.quotas.has_any() || limited(caller).is_some()
    }

    /// Whether something binds a caller that names a period of this counter, if it is a counter.
    pub(super) fn would_bind(&self, caller: &Caller, counter: &str) -> bool {
        let is_covered = limited(caller).is_none_or(|token| token.grants.let_take(Some(counter)));
        !is_covered
            || self
                .quotas
                .has_one_of(std::iter::once(QuotaKey::Tag(counter)))
    }

    /// Whether a caller that names a period may have `count` ids of its counter now.
    pub(super) fn check_counter(
        &self,
        caller: &Caller,
        counter: &str,
        count: u64,
    ) -> Result<(), ServiceError> {
        if let Some(token) = limited(caller)
            && !token.grants.let_take(Some(counter))
        {
            return Err(self.not_allowed(token, "take ids of", Some(counter)));
        }
        let checked = self.quotas.check(std::iter::once(QuotaKey::Tag(counter)));
        checked.inspect_err(|error| self.count_refused(error, 1, count))
    }

    /// Charges ids of a period to its counter.
    pub(super) fn charge_counter(&self, counter: &str, count: u64) {
        let key = std::iter::once(QuotaKey::Tag(counter));
        self.quotas.charge(key, count);
    }

    /// Counts calls for `ids` in total that a quota refused.
    pub(crate) fn count_refused(&self, error: &ServiceError, calls: u64, ids: u64) {
        if let ServiceError::OverQuota { scope, .. } = error {
            self.refusals.count_quota(scope.kind(), calls, ids);
        }
    }

    /// Charges ids that a caller was issued.
    #[inline]
    pub(super) fn charge(&self, caller: &Caller, tag: Option<&str>, count: u64) {
        if self.quotas.has_any() {
            self.charge_quotas(caller, tag, count);
        }
    }

    #[cold]
    #[inline(never)]
    fn charge_quotas(&self, caller: &Caller, tag: Option<&str>, count: u64) {
        self.quotas.charge(scopes(caller, tag), count);
    }

    /// Whether a caller may change tags, quotas and worker ids.
    pub(super) fn check_admin(&self, caller: &Caller) -> Result<(), ServiceError> {
        // Read once: a token that is removed meanwhile must not mix two states.
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

    /// Applies a quota, or with `None` removes it. Ids issued before do not count.
    pub(super) fn set_quota(
        &self,
        scope: &QuotaScope,
        per_second: Option<u64>,
        tags_max: usize,
    ) -> Result<(), ServiceError> {
        let applied = self.applied.lock();
        let _one_at_a_time = applied.unwrap_or_else(PoisonError::into_inner);
        if let QuotaScope::Token(name) = scope
            && !self.tokens.has_name(name)
        {
            return Err(ServiceError::UnknownToken { name: name.clone() });
        }
        let is_new_tag = matches!(scope, QuotaScope::Tag(_)) && self.quotas.get(scope).is_none();
        if per_second.is_some() && is_new_tag && self.quotas.tag_count() >= tags_max {
            return Err(ServiceError::TooManyQuotas { max: tags_max });
        }
        self.quotas.set(scope, per_second);
        Ok(())
    }

    /// Replaces the tokens. Only quotas that differ from those of the last call change: a quota
    /// that an operator set in between stays, and so does the state of its bucket.
    pub(super) fn apply(&self, tokens: &[TokenSpec], quotas: &[(QuotaScope, u64)]) {
        let applied = self.applied.lock();
        let mut former = applied.unwrap_or_else(PoisonError::into_inner);
        self.tokens.replace(tokens);
        let of_tokens = tokens.iter().filter_map(|spec| {
            let scope = QuotaScope::Token(spec.name.clone());
            Some((scope, spec.ids_per_second?))
        });
        let new: BTreeMap<QuotaScope, u64> = of_tokens.chain(quotas.iter().cloned()).collect();
        let scopes: BTreeSet<&QuotaScope> = former.keys().chain(new.keys()).collect();
        for scope in scopes {
            if former.get(scope) != new.get(scope) {
                self.quotas.set(scope, new.get(scope).copied());
            }
        }
        let names: BTreeSet<&str> = tokens.iter().map(|spec| spec.name.as_str()).collect();
        self.quotas.retain_tokens(|name| names.contains(name));
        *former = new;
    }
}

/// The token of a caller, if its grants are limited.
#[inline]
fn limited(caller: &Caller) -> Option<&Token> {
    let pass = caller.pass.as_ref()?;
    pass.is_limited.then_some(&***pass)
}

/// The quotas that may apply to a call, in the order in which they are checked.
fn scopes<'a>(caller: &'a Caller, tag: Option<&'a str>) -> impl Iterator<Item = QuotaKey<'a>> {
    let token = caller.token().map(QuotaKey::Token);
    let all = [Some(QuotaKey::Server), token, tag.map(QuotaKey::Tag)];
    all.into_iter().flatten()
}

#[cfg(test)]
mod tests;
