//! `Access`: which tokens there are, and which quotas are in force. Read by every call without a
//! lock; changed at run time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leafid::{Clock, Tag};
use sha2::{Digest as _, Sha256};

use super::caller::{Caller, Token};
use super::error::ServiceError;
use super::quota::Bucket;

/// A secret, hashed: looked up so, it is not compared byte by byte, and not kept.
type SecretHash = [u8; 32];

/// Tokens and quotas.
pub(super) struct Access {
    clock: Arc<dyn Clock>,
    tokens: papaya::HashMap<SecretHash, Arc<Token>>,
    /// Whether anonymous callers are refused. There are tokens then.
    needs_token: AtomicBool,
    /// Of single tags.
    tags: papaya::HashMap<Tag, Arc<Bucket>>,
    /// Of everything that this server gives out.
    server: Bucket,
    /// Whether any quota is in force; else no clock is read.
    has_quotas: AtomicBool,
    /// One change of a quota at a time.
    changing: Mutex<()>,
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
    secret: SecretHash,
    /// Whether it may change tags, quotas and worker ids.
    pub is_admin: bool,
    /// Ids a second; `None` for as many as there are.
    pub ids_per_second: Option<u64>,
}

impl TokenSpec {
    /// A token that may take ids.
    #[must_use]
    pub fn new(name: impl Into<String>, secret: &str) -> Self {
        Self {
            name: name.into(),
            secret: Sha256::digest(secret).into(),
            is_admin: false,
            ids_per_second: None,
        }
    }
}

/// Shows no secret, not even hashed.
impl std::fmt::Debug for TokenSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

impl std::fmt::Display for QuotaScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Server => f.write_str("this server"),
            Self::Tag(tag) => write!(f, "tag \"{tag}\""),
            Self::Token(name) => write!(f, "token \"{name}\""),
        }
    }
}

impl Access {
    pub(super) fn new(clock: Arc<dyn Clock>, tokens: &[TokenSpec]) -> Self {
        let access = Self {
            clock,
            tokens: papaya::HashMap::new(),
            needs_token: AtomicBool::new(!tokens.is_empty()),
            tags: papaya::HashMap::new(),
            server: Bucket::new(None),
            has_quotas: AtomicBool::new(false),
            changing: Mutex::new(()),
        };
        for spec in tokens {
            let token = Token {
                name: spec.name.clone(),
                is_admin: spec.is_admin,
                bucket: Arc::new(Bucket::new(spec.ids_per_second)),
            };
            access.tokens.pin().insert(spec.secret, Arc::new(token));
        }
        access.count_quotas();
        access
    }

    pub(super) fn needs_token(&self) -> bool {
        self.needs_token.load(Ordering::Relaxed)
    }

    pub(super) fn authenticate(
        &self,
        name: Option<&str>,
        secret: &str,
    ) -> Result<Caller, ServiceError> {
        let hash: SecretHash = Sha256::digest(secret).into();
        let tokens = self.tokens.pin();
        let token = tokens.get(&hash);
        let token = token.filter(|token| name.is_none_or(|name| token.name == name));
        let token = token.ok_or(ServiceError::BadToken)?;
        let token = Some(Arc::clone(token));
        Ok(Caller { token })
    }

    /// Whether a caller may look at things.
    #[inline]
    pub(super) fn check_token(&self, caller: &Caller) -> Result<(), ServiceError> {
        if caller.token.is_none() && self.needs_token() {
            return Err(ServiceError::NoToken);
        }
        Ok(())
    }

    /// Whether a caller may have ids of a tag now. `None` is for what has no tag.
    #[inline]
    pub(super) fn check(&self, caller: &Caller, tag: Option<&str>) -> Result<(), ServiceError> {
        self.check_token(caller)?;
        if self.has_quotas.load(Ordering::Relaxed) {
            return self.check_quotas(caller, tag);
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn check_quotas(&self, caller: &Caller, tag: Option<&str>) -> Result<(), ServiceError> {
        let now = self.clock.now();
        let over = |bucket: &Bucket, scope: &dyn Fn() -> QuotaScope| {
            let checked = bucket.check(now);
            checked.map_err(|retry_after| ServiceError::OverQuota {
                scope: scope(),
                per_second: bucket.per_second().unwrap_or(u64::MAX),
                retry_after,
            })
        };
        over(&self.server, &|| QuotaScope::Server)?;
        if let Some(token) = &caller.token {
            over(&token.bucket, &|| QuotaScope::Token(token.name.clone()))?;
        }
        let tags = self.tags.pin();
        if let Some((tag, bucket)) = tag.and_then(|tag| tags.get_key_value(tag)) {
            over(bucket, &|| QuotaScope::Tag(tag.clone()))?;
        }
        Ok(())
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
        self.server.charge(count, now);
        if let Some(token) = &caller.token {
            token.bucket.charge(count, now);
        }
        if let Some(bucket) = tag.and_then(|tag| self.tags.pin().get(tag).cloned()) {
            bucket.charge(count, now);
        }
    }

    /// Whether a caller may change tags, quotas and worker ids.
    pub(super) fn check_admin(&self, caller: &Caller) -> Result<(), ServiceError> {
        match &caller.token {
            Some(token) if token.is_admin => Ok(()),
            Some(token) => Err(ServiceError::NotAdmin {
                token: token.name.clone(),
            }),
            None if self.needs_token() => Err(ServiceError::NoToken),
            None => Ok(()),
        }
    }

    /// The quotas in force, in the order of what they are on.
    pub(super) fn quotas(&self) -> Vec<(QuotaScope, u64)> {
        let mut quotas = Vec::new();
        let mut add = |scope: QuotaScope, bucket: &Bucket| {
            if let Some(per_second) = bucket.per_second() {
                quotas.push((scope, per_second));
            }
        };
        add(QuotaScope::Server, &self.server);
        for (tag, bucket) in self.tags.pin().iter() {
            add(QuotaScope::Tag(tag.clone()), bucket);
        }
        for token in self.tokens.pin().values() {
            add(QuotaScope::Token(token.name.clone()), &token.bucket);
        }
        quotas.sort();
        quotas
    }

    /// Puts a quota in force, or with `None` out of force.
    pub(super) fn set_quota(
        &self,
        scope: &QuotaScope,
        per_second: Option<u64>,
        quotas_max: usize,
    ) -> Result<(), ServiceError> {
        let changing = self.changing.lock();
        let _changing = changing.unwrap_or_else(PoisonError::into_inner);
        match scope {
            QuotaScope::Server => self.server.set(per_second),
            QuotaScope::Tag(tag) => self.set_tag_quota(tag, per_second, quotas_max)?,
            QuotaScope::Token(name) => {
                let tokens = self.tokens.pin();
                let token = tokens.values().find(|token| token.name == *name);
                let token =
                    token.ok_or_else(|| ServiceError::UnknownToken { name: name.clone() })?;
                token.bucket.set(per_second);
            }
        }
        self.count_quotas();
        Ok(())
    }

    fn set_tag_quota(
        &self,
        tag: &Tag,
        per_second: Option<u64>,
        quotas_max: usize,
    ) -> Result<(), ServiceError> {
        let tags = self.tags.pin();
        match (tags.get(tag), per_second) {
            (_, None) => drop(tags.remove(tag)),
            (Some(bucket), per_second) => bucket.set(per_second),
            (None, _) if tags.len() >= quotas_max => {
                return Err(ServiceError::TooManyQuotas { max: quotas_max });
            }
            (None, per_second) => {
                let bucket = Arc::new(Bucket::new(per_second));
                let _former = tags.insert(tag.clone(), bucket);
            }
        }
        Ok(())
    }

    fn count_quotas(&self) {
        let any = !self.quotas().is_empty();
        self.has_quotas.store(any, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}
