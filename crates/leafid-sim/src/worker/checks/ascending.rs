//! Ids of one process ascend while it has one worker id: a draw is one atomic operation, and the
//! history has them in their order.

use std::collections::BTreeMap;

use super::{Event, Plan, tick};
use crate::executor::Process;
use crate::violation::Violation;

pub(super) fn check(events: &[Event], plan: &Plan) -> Result<(), Violation> {
    let mut last: BTreeMap<Process, u64> = BTreeMap::new();
    for event in events {
        let Event::Issued { process, ids, .. } = event else {
            continue;
        };
        for id in ids {
            let before = last.insert(*process, *id);
            let same_worker = |before: &u64| tick(plan, *before).worker == tick(plan, *id).worker;
            if let Some(before) = before.filter(same_worker).filter(|before| before >= id) {
                let message = format!("process {}: {id} was issued after {before}", process.0);
                return Err(Violation::new("ascending", message));
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
    fn a_step_back_is_seen() {
        let (a, b) = (id(NOW_MS, 1), id(NOW_MS, 2));
        assert!(check(&[issued(ONE, &[a, b])], &plan()).is_ok());
        assert!(check(&[issued(ONE, &[b]), issued(TWO, &[a])], &plan()).is_ok());
        assert!(check(&[issued(ONE, &[b]), issued(ONE, &[a])], &plan()).is_err());
        assert!(check(&[issued(ONE, &[b, a])], &plan()).is_err());
    }
}
