//! Segments: servers that reserve ranges of ids of several tags from one store, callers, operators,
//! and faults.

mod bug;
mod caller;
mod checks;
mod cluster;
mod disk;
mod faults;
mod history;
mod plan;
mod simulation;
mod store;

pub use bug::Bug;

use crate::report::Report;
use crate::violation::Violation;

/// The default number of calls for ids that a run makes under faults.
pub const STEPS: u64 = 5_000;

/// Runs the system once: `steps` calls under the faults that the seed decides, and then until every
/// caller is served. With a bug put back on purpose, if one is given.
///
/// # Errors
///
/// The first promise that was broken.
pub fn run(seed: u64, steps: u64, bug: Option<Bug>) -> Result<Report, Violation> {
    simulation::Simulation::new(seed, steps, bug).run()
}
