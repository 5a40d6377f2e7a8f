//! How long something takes in a simulation.

use std::time::Duration;

use fastrand::Rng;

/// Some milliseconds; short ones as likely as long ones.
pub(crate) fn span(random: &mut Rng, ms_min: u32, ms_max: u32) -> Duration {
    let ratio = f64::from(ms_max) / f64::from(ms_min);
    Duration::from_millis(1).mul_f64(f64::from(ms_min) * ratio.powf(random.f64()))
}
