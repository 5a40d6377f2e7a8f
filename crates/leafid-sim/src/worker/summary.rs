//! What a run did, to show that it met the faults it is meant for.

use leafid::Clock as _;

use super::history::Event;
use super::simulation::Simulation;
use crate::executor::{fold, lock};
use crate::report::Report;

impl Simulation {
    pub(crate) fn report(&self) -> Report {
        let events = self.field.history.events();
        let counts = *lock(&self.registry.network.counts);
        let count =
            |is_it: fn(&Event) -> bool| events.iter().filter(|event| is_it(event)).count() as u64;
        let ids = events.iter().map(|event| match event {
            Event::Issued { ids, .. } => ids.len() as u64,
            _ => 0,
        });
        let mut counted = self.faults.clone();
        counted.extend([
            ("registry calls failed before effect", counts.failed_before),
            ("registry calls failed after effect", counts.failed_after),
            ("registry calls hung before effect", counts.hung_before),
            ("registry calls hung after effect", counts.hung_after),
            ("snowflake ids", ids.sum()),
            (
                "snowflake refusals",
                count(|event| matches!(event, Event::Refused)),
            ),
            (
                "rows written",
                count(|event| matches!(event, Event::Written { .. })),
            ),
            (
                "journals written",
                count(|event| matches!(event, Event::Journaled { .. })),
            ),
        ]);
        drop(events);
        Report {
            seed: self.seed,
            digest: fold(self.executor.trace, self.field.history.digest()),
            simulated: self.executor.clock.now(),
            counted,
        }
    }
}
