//! `Report`: what a run did, to show that it met the faults it is meant for.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// What one run, or several together, did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The seed; of several, the first.
    pub seed: u64,
    /// A digest of everything that happened, in order: equal for equal seeds.
    pub digest: u64,
    /// The virtual time that passed.
    pub simulated: Duration,
    /// How often each thing happened.
    pub counted: BTreeMap<&'static str, u64>,
}

impl Report {
    /// Adds what another run did.
    pub fn add(&mut self, other: &Self) {
        self.simulated += other.simulated;
        self.digest ^= other.digest;
        for (what, count) in &other.counted {
            *self.counted.entry(what).or_default() += count;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} s simulated", self.simulated.as_secs())?;
        for (what, count) in &self.counted {
            writeln!(f, "{count:>12} {what}")?;
        }
        Ok(())
    }
}
