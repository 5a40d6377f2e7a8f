//! Every reservation carries the highest bound that the server knows (the floor), and a store that
//! went below it is reported, each time.

use std::collections::BTreeMap;

use crate::executor::Process;
use crate::segment::history::{Event, TagNumber};
use crate::violation::Violation;

const NAME: &str = "floors";

/// What is known of one tag of one process.
#[derive(Default)]
struct Known {
    floor: u64,
    /// How often the store was below the floor, less how often that was reported.
    untold: i64,
}

pub(super) fn check(events: &[Event]) -> Result<(), Violation> {
    let mut tags: BTreeMap<(Process, TagNumber), Known> = BTreeMap::new();
    for event in events {
        match event {
            Event::Asked {
                process,
                tag,
                floor,
                ..
            } => {
                let known = tags.entry((*process, *tag)).or_default();
                if floor.unwrap_or(0) < known.floor {
                    let message = format!(
                        "tag {tag} of process {}: asked with floor {floor:?}, knew {}",
                        process.0, known.floor
                    );
                    return Err(Violation::new(NAME, message));
                }
            }
            Event::Acknowledged {
                process,
                tag,
                floor,
                previous,
                segment,
            } => {
                let known = tags.entry((*process, *tag)).or_default();
                known.untold += i64::from(Some(*previous) < *floor);
                known.floor = segment.end().max(known.floor);
            }
            Event::ToldRegressed { process, tag } => {
                tags.entry((*process, *tag)).or_default().untold -= 1;
            }
            _ => {}
        }
    }
    match tags.iter().find(|(_, known)| known.untold > 0) {
        Some(((process, tag), known)) => {
            let message = format!(
                "tag {tag} of process {}: the store went back {} times untold",
                process.0, known.untold
            );
            Err(Violation::new(NAME, message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;
    use crate::executor::TaskNumber;

    fn asked(floor: Option<u64>) -> Event {
        Event::Asked {
            process: ONE,
            task: TaskNumber(0),
            tag: 0,
            floor,
            at: std::time::Duration::ZERO,
        }
    }

    #[test]
    fn a_forgotten_floor_is_seen() {
        assert!(check(&[asked(None), acknowledged(ONE, 1, 5), asked(Some(5))]).is_ok());
        assert!(check(&[asked(None), acknowledged(ONE, 1, 5), asked(Some(4))]).is_err());
        assert!(check(&[asked(None), acknowledged(ONE, 1, 5), asked(None)]).is_err());
    }

    #[test]
    fn a_silent_regression_is_seen() {
        let back = Event::Acknowledged {
            process: ONE,
            tag: 0,
            floor: Some(5),
            previous: 3,
            segment: segment(5, 9),
        };
        let told = Event::ToldRegressed {
            process: ONE,
            tag: 0,
        };
        assert!(check(&[acknowledged(ONE, 1, 5), back.clone()]).is_err());
        assert!(check(&[acknowledged(ONE, 1, 5), back, told]).is_ok());
    }
}
