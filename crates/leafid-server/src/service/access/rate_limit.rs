//! `RateLimit`: the quotas in force, each with its bucket.
//!
//! Without a quota, a call reads one flag and no clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leafid::Clock;
use papaya::ResizeMode;

use super::quota_key::QuotaKey;
use crate::config::QuotaScope;
use crate::service::error::ServiceError;
use crate::service::quota::Bucket;

/// The quotas by what they limit.
pub(crate) struct RateLimit {
    clock: Arc<dyn Clock>,
    buckets: papaya::HashMap<QuotaScope, Bucket>,
    has_any: AtomicBool,
}

impl RateLimit {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            // An incremental resize would make every look-up search two tables.
            buckets: papaya::HashMap::builder()
                .resize_mode(ResizeMode::Blocking)
                .build(),
            has_any: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(super) fn has_any(&self) -> bool {
        // Relaxed: the flag stands for itself.
        self.has_any.load(Ordering::Relaxed)
    }

    /// Whether one of these has a quota.
    pub(super) fn has_one_of<'a>(&self, mut keys: impl Iterator<Item = QuotaKey<'a>>) -> bool {
        let buckets = self.buckets.pin();
        keys.any(|key| buckets.contains_key(&key))
    }

    /// Whether ids may be issued now under each quota on one of these.
    pub(super) fn check<'a>(
        &self,
        keys: impl Iterator<Item = QuotaKey<'a>>,
    ) -> Result<(), ServiceError> {
        let now = self.clock.now();
        let buckets = self.buckets.pin();
        for (scope, bucket) in keys.filter_map(|key| buckets.get_key_value(&key)) {
            bucket
                .check(now)
                .map_err(|retry_after| ServiceError::OverQuota {
                    scope: scope.clone(),
                    per_second: bucket.per_second(),
                    retry_after,
                })?;
        }
        Ok(())
    }

    /// Counts issued ids towards each quota on one of these.
    pub(super) fn charge<'a>(&self, keys: impl Iterator<Item = QuotaKey<'a>>, count: u64) {
        let now = self.clock.now();
        let buckets = self.buckets.pin();
        for bucket in keys.filter_map(|key| buckets.get(&key)) {
            bucket.charge(count, now);
        }
    }

    /// What the quota on something allows, in ids a second.
    pub(crate) fn get(&self, scope: &QuotaScope) -> Option<u64> {
        self.buckets.pin().get(scope).map(Bucket::per_second)
    }

    /// All quotas, ordered by what they limit.
    pub(crate) fn all(&self) -> Vec<(QuotaScope, u64)> {
        let buckets = self.buckets.pin();
        let all = buckets.iter();
        let mut all: Vec<_> = all
            .map(|(scope, bucket)| (scope.clone(), bucket.per_second()))
            .collect();
        all.sort();
        all
    }

    /// How many tags have a quota.
    pub(super) fn tag_count(&self) -> usize {
        let buckets = self.buckets.pin();
        let scopes = buckets.keys();
        scopes
            .filter(|scope| matches!(scope, QuotaScope::Tag(_)))
            .count()
    }

    /// Sets a quota, or with `None` removes it. Another quota is another bucket: ids issued before
    /// do not count.
    pub(super) fn set(&self, scope: &QuotaScope, per_second: Option<u64>) {
        let buckets = self.buckets.pin();
        match per_second {
            Some(per_second) => {
                let _former = buckets.insert(scope.clone(), Bucket::new(per_second));
            }
            None => {
                let _former = buckets.remove(scope);
            }
        }
        self.update_flag();
    }

    /// Removes the quotas on tokens whose name is not `kept`.
    pub(super) fn retain_tokens(&self, kept: impl Fn(&str) -> bool) {
        self.buckets.pin().retain(|scope, _| match scope {
            QuotaScope::Token(name) => kept(name),
            QuotaScope::Server | QuotaScope::Tag(_) => true,
        });
        self.update_flag();
    }

    fn update_flag(&self) {
        self.has_any
            .store(!self.buckets.is_empty(), Ordering::Relaxed);
    }
}
