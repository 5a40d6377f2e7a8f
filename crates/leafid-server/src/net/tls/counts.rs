//! `Counts`: the outcomes of TLS handshakes.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::named::named;

named! {
    /// How a connection began, by its name in the metrics.
    pub(crate) enum Outcome, by name {
        /// With TLS.
        Agreed "ok"
        /// The handshake failed, for example because of a certificate.
        Failed "failed"
        /// The handshake took too long.
        Late "late"
        /// Without TLS, and accepted.
        Plain "plain"
        /// Without TLS, and refused.
        Refused "plain_refused"
    }
}

/// The number of each.
#[derive(Debug, Default)]
pub(crate) struct Counts([AtomicU64; Outcome::ALL.len()]);

impl Counts {
    pub(super) fn count(&self, outcome: Outcome) {
        self.0[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize].load(Ordering::Relaxed)
    }
}
