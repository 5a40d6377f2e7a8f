//! A server that has read that its row is not as promised issues nothing more with that worker id,
//! until it has claimed it again.

use std::collections::BTreeSet;

use super::{Event, Plan, ends, tick};
use crate::violation::Violation;

pub(super) fn check(events: &[Event], plan: &Plan) -> Result<(), Violation> {
    let mut denied = BTreeSet::new();
    for event in events {
        match event {
            Event::Denied { process, worker } => {
                denied.insert((*process, *worker));
            }
            Event::Won {
                process, worker, ..
            } => {
                denied.remove(&(*process, *worker));
            }
            Event::Issued { process, ids, .. } => {
                let is_denied = |id: &u64| denied.contains(&(*process, tick(plan, *id).worker));
                if let Some(id) = ends(ids).find(is_denied) {
                    let message = format!(
                        "process {}: {id} was issued, although its row was seen to be lost",
                        process.0
                    );
                    return Err(Violation::new("stop_after_loss", message));
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
    use crate::executor::Process;

    #[test]
    fn a_server_that_goes_on_is_seen() {
        let (process, worker) = (Process(ONE.0), SEVEN);
        let denied = Event::Denied { process, worker };
        let won = Event::Won {
            process,
            worker,
            forgot: 1,
        };
        let by = |identity| issued(identity, &[id(NOW_MS, 1)]);
        let verdict = |events: &[Event]| check(events, &plan());
        assert!(verdict(&[by(ONE), denied.clone(), by(TWO)]).is_ok());
        assert!(verdict(&[denied.clone(), by(ONE)]).is_err());
        assert!(verdict(&[denied, won, by(ONE)]).is_ok());
    }
}
