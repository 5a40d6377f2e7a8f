//! `Refusals`: counts the calls refused by authentication, authorization or a quota. Threads do not
//! contend for the counters.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::named::named;
use crate::sharded::Sharded;

named! {
    /// Why authentication or authorization refused a call.
    pub(crate) enum TokenRefusal, by name {
        /// It came without a token.
        Missing "missing"
        /// The token is unknown, or was removed.
        Unknown "unknown"
        /// The token may not change anything.
        NotAdmin "not_admin"
        /// The token does not allow this call or this tag.
        NotAllowed "not_allowed"
    }
}

/// The kinds of quota scope, in the order of the counters.
pub(crate) const QUOTA_KINDS: [&str; 3] = ["server", "tag", "token"];

/// The refusals since the start.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    counts: Sharded<Counts>,
}

/// The refusals of one thread.
#[derive(Debug, Default)]
struct Counts {
    tokens: [AtomicU64; TokenRefusal::ALL.len()],
    quota_calls: [AtomicU64; QUOTA_KINDS.len()],
    quota_ids: [AtomicU64; QUOTA_KINDS.len()],
}

impl Refusals {
    // Relaxed, here and below: counters order nothing.

    pub(super) fn count_token(&self, why: TokenRefusal) {
        self.counts.here().tokens[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts calls for `count` ids in total that a quota of this kind refused.
    pub(super) fn count_quota(&self, kind: &str, calls: u64, ids: u64) {
        if let Some(column) = QUOTA_KINDS.iter().position(|other| *other == kind) {
            let counts = self.counts.here();
            counts.quota_calls[column].fetch_add(calls, Ordering::Relaxed);
            counts.quota_ids[column].fetch_add(ids, Ordering::Relaxed);
        }
    }

    pub(crate) fn tokens(&self, why: TokenRefusal) -> u64 {
        self.sum(|counts| &counts.tokens[why as usize])
    }

    /// Kind, calls and ids.
    pub(crate) fn quotas(&self) -> [(&'static str, u64, u64); QUOTA_KINDS.len()] {
        std::array::from_fn(|column| {
            let calls = self.sum(|counts| &counts.quota_calls[column]);
            let ids = self.sum(|counts| &counts.quota_ids[column]);
            (QUOTA_KINDS[column], calls, ids)
        })
    }

    fn sum(&self, column: impl Fn(&Counts) -> &AtomicU64) -> u64 {
        let columns = self.counts.iter().map(column);
        columns.map(|count| count.load(Ordering::Relaxed)).sum()
    }
}
