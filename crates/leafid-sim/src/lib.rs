//! The whole system under faults, decided by a seed. The core is the real one; time, the store,
//! the callers and the order of turns are simulated, so that a run is the same each time.
//!
//! ```text
//! cargo run -p leafid-sim -- --runs 100              # from a fresh seed, which is printed
//! cargo run -p leafid-sim -- --seed 42 --runs 1      # one run again
//! ```
//!
//! ```
//! use leafid_sim::segment;
//!
//! let report = segment::run(1, 500, None)?;
//! assert_eq!(report, segment::run(1, 500, None)?);
//! # Ok::<(), leafid_sim::Violation>(())
//! ```

pub mod segment;
pub mod worker;

mod executor;
mod network;
mod report;
mod span;
mod violation;

pub use report::Report;
pub use violation::Violation;
