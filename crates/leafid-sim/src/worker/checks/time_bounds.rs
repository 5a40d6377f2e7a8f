//! The time in an id is near what its server takes for the time: ahead by no more than the settings
//! say, and not behind it. Only where ids are taken fast, the first after a pause are behind by as
//! much, because the time is kept for them by the driver, which was paused too.
//!
//! Under the policies wait and refuse the server's time goes back with its wall clock, at once and
//! by any step, and what was claimed before lies ahead by as much: there is nothing to check.
//!
//! Under the policies wait and refuse a server takes the wall clock for the time also when that goes

use leafid::ClockPolicy;

use super::{Event, Plan, ends, tick};
use crate::violation::Violation;

/// The driver keeps the time only for layouts with more bits of sequence than this.
const SLOW_BITS_MAX: u32 = 9;

pub(super) fn check(events: &[Event], plan: &Plan) -> Result<(), Violation> {
    if plan.options.snowflake.policy != ClockPolicy::Borrow {
        return Ok(());
    }
    let is_fast = plan.options.snowflake.layout.sequence_bits() > SLOW_BITS_MAX;
    let ahead_max_ms = u64::try_from(plan.ahead_max().as_millis()).unwrap_or(u64::MAX);
    for event in events {
        let Event::Issued {
            process,
            ids,
            now_ms,
            ..
        } = event
        else {
            continue;
        };
        for id in ends(ids) {
            let tick = tick(plan, id);
            let is_near =
                tick.start_ms <= now_ms + ahead_max_ms && (is_fast || tick.end_ms >= *now_ms);
            if !is_near {
                let message = format!(
                    "process {}: {id} lies {} ms ahead of its server's clock, and {ahead_max_ms} ms \
                     are allowed",
                    process.0,
                    tick.start_ms.cast_signed() - now_ms.cast_signed()
                );
                return Err(Violation::new("time_bounds", message));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn an_id_of_another_time_is_seen() {
        let mut plan = plan();
        plan.options.snowflake.policy = ClockPolicy::Borrow;
        let ahead_ms = u64::try_from(plan.ahead_max().as_millis()).expect("some seconds");
        let at = |at_ms| check(&[issued(ONE, &[id(at_ms, 0)])], &plan);
        assert!(at(NOW_MS).is_ok());
        assert!(at(NOW_MS + ahead_ms).is_ok());
        assert!(at(NOW_MS + ahead_ms + 1).is_err());
        assert!(at(NOW_MS - 10).is_ok(), "taken fast");
    }
}
