//! `Counts`: the outcomes of TLS handshakes.

use std::sync::atomic::{AtomicU64, Ordering};

/// How a connection began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With TLS.
    Agreed,
    /// The handshake failed, for example because of a certificate.
    Failed,
    /// The handshake took too long.
    Late,
    /// Without TLS, and accepted.
    Plain,
    /// Without TLS, and refused.
    Refused,
}

/// The number of each.
#[derive(Debug, Default)]
pub(crate) struct Counts([AtomicU64; Outcome::ALL.len()]);

impl Outcome {
    pub(crate) const ALL: [Self; 5] = [
        Self::Agreed,
        Self::Failed,
        Self::Late,
        Self::Plain,
        Self::Refused,
    ];

    /// The name in the metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Agreed => "ok",
            Self::Failed => "failed",
            Self::Late => "late",
            Self::Plain => "plain",
            Self::Refused => "plain_refused",
        }
    }
}

impl Counts {
    pub(super) fn count(&self, outcome: Outcome) {
        self.of(outcome).fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, outcome: Outcome) -> u64 {
        self.of(outcome).load(Ordering::Relaxed)
    }

    fn of(&self, outcome: Outcome) -> &AtomicU64 {
        &self.0[outcome as usize]
    }
}
