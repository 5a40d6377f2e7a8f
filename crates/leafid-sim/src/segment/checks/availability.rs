//! A server reports that its store is back only if a reservation succeeded since it was down, or a
//! probe of a server that accepts reservations.

use std::collections::BTreeMap;

use crate::executor::Process;
use crate::segment::history::Event;
use crate::violation::Violation;

pub(super) fn check(events: &[Event]) -> Result<(), Violation> {
    // Whether there is a reason to consider the store up again.
    let mut has_reason: BTreeMap<Process, bool> = BTreeMap::new();
    for event in events {
        match event {
            Event::ToldDown { process } => {
                has_reason.insert(*process, false);
            }
            Event::Probed { process } | Event::Acknowledged { process, .. } => {
                has_reason.insert(*process, true);
            }
            Event::ToldUp { process } if has_reason.get(process) != Some(&true) => {
                let message = format!(
                    "process {} says that its store is back, and nothing shows that it is",
                    process.0
                );
                return Err(Violation::new("availability", message));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn a_store_that_is_not_back_is_seen() {
        let (down, up) = (
            Event::ToldDown { process: ONE },
            Event::ToldUp { process: ONE },
        );
        let verdict = |between: Event| check(&[down.clone(), between, up.clone()]);
        assert!(verdict(Event::Probed { process: ONE }).is_ok());
        assert!(verdict(acknowledged(ONE, 1, 5)).is_ok());
        assert!(verdict(Event::Probed { process: TWO }).is_err());
        let before = [Event::Probed { process: ONE }, down.clone(), up.clone()];
        assert!(check(&before).is_err());
    }
}
