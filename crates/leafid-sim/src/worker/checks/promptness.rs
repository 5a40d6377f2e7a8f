//! A server that can read its row continues under a promise that the registry has forgotten for no
//! longer than its settings say, whatever other calls it has to make.

use std::collections::BTreeMap;
use std::time::Duration;

use super::awareness::Awareness;
use super::{Event, Plan};
use crate::executor::Process;
use crate::violation::Violation;

pub(super) fn check(events: &[Event], plan: &Plan) -> Result<(), Violation> {
    let mut awareness = Awareness::default();
    let mut hindered: BTreeMap<Process, Duration> = BTreeMap::new();
    for event in events {
        awareness.note(event);
        match event {
            Event::Hindered { process, until } => {
                let known = hindered.entry(*process).or_default();
                *known = (*known).max(*until);
            }
            Event::Issued { process, at, .. } => {
                let Some(since) = awareness.unaware_since(*process) else {
                    continue;
                };
                let could_look = hindered.get(process).copied().unwrap_or_default();
                if *at > since.max(could_look) + plan.notice_max() {
                    let message = format!(
                        "process {} issues at {at:?}, the registry forgot at {since:?}, and it could \
                         look from {could_look:?} on; {:?} are allowed",
                        process.0,
                        plan.notice_max()
                    );
                    return Err(Violation::new("promptness", message));
                }
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
    fn a_server_that_does_not_notice_is_seen() {
        let (plan, process) = (plan(), Process(ONE.0));
        let late = plan.notice_max() + Duration::from_millis(1);
        let issued_late = match issued(ONE, &[id(NOW_MS, 1)]) {
            Event::Issued {
                process,
                identity,
                ids,
                now_ms,
                ..
            } => Event::Issued {
                process,
                identity,
                ids,
                at: late,
                now_ms,
            },
            other => other,
        };
        let at = Duration::ZERO;
        let verdict = |between: Event| {
            let events = [Event::Forgot { at }, between, issued_late.clone()];
            check(&events, &plan)
        };
        let looked = |forgot| Event::Looked { process, forgot };
        assert!(verdict(looked(1)).is_ok());
        assert!(verdict(looked(0)).is_err());
        assert!(verdict(Event::Refused).is_err());
        let until = Duration::from_millis(1);
        assert!(verdict(Event::Hindered { process, until }).is_ok());
    }
}
