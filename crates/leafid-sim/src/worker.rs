//! Worker ids and snowflake ids: servers that lease a worker id each from one registry, with
//! clocks, disks and callers of their own, and faults.
//!
//! The registry forgets now and then: it is emptied, or restored from an older copy. What two
//! servers make then can be equal until they have read their rows, and not after.

mod bug;
mod caller;
mod checks;
mod churn;
mod clock;
mod contents;
mod disk;
mod faults;
mod history;
mod plan;
mod server;
mod simulation;
mod store;
mod summary;

pub use bug::Bug;
pub use churn::{LIVE, START_INTERVAL, WORKER_BITS, churn};

use crate::report::Report;
use crate::violation::Violation;

/// The default number of calls for ids that a run makes under faults.
pub const STEPS: u64 = 1_000;

/// Runs the system once: `steps` calls under the faults that the seed decides, and then until every
/// server issues again and has given its worker id back. With a bug put back on purpose, if one is
/// given.
///
/// # Errors
///
/// The first promise that was broken.
pub fn run(seed: u64, steps: u64, bug: Option<Bug>) -> Result<Report, Violation> {
    simulation::Simulation::new(seed, steps, bug).run()
}
