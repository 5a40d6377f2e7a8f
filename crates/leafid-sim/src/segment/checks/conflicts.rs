//! A reservation that lost against another transaction is retried at once, without the pauses of an
//! outage: until it lost too often in a row, or took as long as one call may.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::executor::{Process, TaskNumber};
use crate::segment::history::{Event, TagNumber};
use crate::violation::Violation;

/// After this many in a row it may give up.
const IN_A_ROW_MAX: u32 = 10;
/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// One reservation of a tag. Each task of a process makes its own: the driver, and the callers that
/// create or raise a tag beside it.
#[derive(Default)]
struct Tries {
    /// When the first try of this reservation began.
    began: Duration,
    conflicts: u32,
    /// When the last try was lost, unless it need not be retried.
    lost_at: Option<Duration>,
}

pub(super) fn check(events: &[Event], call_max: Duration) -> Result<(), Violation> {
    let mut tags: BTreeMap<(TaskNumber, TagNumber), Tries> = BTreeMap::new();
    let mut paused: BTreeMap<Process, Duration> = BTreeMap::new();
    for event in events {
        match event {
            Event::Paused { process, until } => {
                let known = paused.entry(*process).or_default();
                *known = (*known).max(*until);
            }
            Event::Asked {
                process,
                task,
                tag,
                at,
                ..
            } => {
                let tries = tags.entry((*task, *tag)).or_default();
                let since = tries.lost_at.take();
                if since.is_none() {
                    (tries.began, tries.conflicts) = (*at, 0);
                }
                let awake = paused.get(process).copied().unwrap_or_default();
                if since.is_some_and(|since| *at > since.max(awake) + PAUSE_MAX) {
                    let message = format!(
                        "tag {tag} of process {}: lost against another transaction at {since:?}, \
                         and tried again at {at:?} only",
                        process.0
                    );
                    return Err(Violation::new("conflicts", message));
                }
            }
            Event::Conflicted { task, tag, at, .. } => {
                let tries = tags.entry((*task, *tag)).or_default();
                tries.conflicts += 1;
                let took = at.saturating_sub(tries.began);
                let goes_on = tries.conflicts < IN_A_ROW_MAX && took < call_max;
                tries.lost_at = goes_on.then_some(*at);
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

    const MS: Duration = Duration::from_millis(1);

    fn asked(at: Duration) -> Event {
        asked_by(TaskNumber(0), at)
    }

    fn asked_by(task: TaskNumber, at: Duration) -> Event {
        Event::Asked {
            process: ONE,
            task,
            tag: 0,
            floor: None,
            at,
        }
    }

    fn lost(at: Duration) -> Event {
        Event::Conflicted {
            process: ONE,
            task: TaskNumber(0),
            tag: 0,
            at,
        }
    }

    #[test]
    fn a_pause_as_after_an_outage_is_seen() {
        let (call_max, late) = (MS * 500, MS * 102);
        let verdict = |events: &[Event]| check(events, call_max);
        assert!(verdict(&[asked(MS), lost(MS), asked(MS * 101)]).is_ok());
        assert!(verdict(&[asked(MS), lost(MS), asked(late)]).is_err());
        let paused = Event::Paused {
            process: ONE,
            until: late,
        };
        assert!(verdict(&[asked(MS), lost(MS), paused, asked(late)]).is_ok());
        assert!(verdict(&[asked(MS), lost(MS * 501), asked(MS * 900)]).is_ok());
        let mut many: Vec<Event> = (0..10).flat_map(|_| [asked(MS), lost(MS)]).collect();
        many.push(asked(late));
        assert!(verdict(&many).is_ok());
    }

    #[test]
    fn a_reservation_beside_another_is_checked_separately() {
        let other = asked_by(TaskNumber(1), MS * 501);
        let given_up = [asked(MS), lost(MS * 500), asked(MS * 500), other.clone()];
        let after = [lost(MS * 502), asked(MS * 900)];
        assert!(check(&[&given_up[..], &after[..]].concat(), MS * 500).is_ok());
        let hidden = [asked(MS), lost(MS), other, asked(MS * 502)];
        assert!(check(&hidden, MS * 500).is_err());
    }
}
