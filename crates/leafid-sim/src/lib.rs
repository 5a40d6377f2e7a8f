//! The whole system under faults, decided by a seed. The core is the real one; time, the store,
//! the callers and the order of turns are simulated, so that a run is the same each time.
//!
//! ```text
//! cargo run -p leafid-sim -- --runs 100              # from a fresh seed, which is printed
//! cargo run -p leafid-sim -- --seed 42 --runs 1      # one run again
//! ```
//!
//! ```
//! let report = leafid_sim::run(1, 500, None)?;
//! assert_eq!(report, leafid_sim::run(1, 500, None)?);
//! # Ok::<(), leafid_sim::Violation>(())
//! ```

mod blows;
mod bug;
mod caller;
mod checks;
mod executor;
mod history;
mod plan;
mod report;
mod simulation;
mod store;

pub use bug::Bug;
pub use checks::Violation;
pub use report::Report;

/// How many calls for ids a run makes while faults strike, unless it is told otherwise.
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
