//! `Report`: what a run did, so that one can see that it met what it was made for.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// What one run, or several together, did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The seed; of several, the first.
    pub seed: u64,
    /// Everything that happened, in its order, as one number: equal for equal seeds.
    pub digest: u64,
    /// How much time passed in it.
    pub simulated: Duration,
    /// How often what happened.
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
