//! Ids ascend per server and tag: an id returned before another call began is smaller than all of
//! that call's. Within a call, and within a thread's block, they ascend too.

use std::collections::BTreeMap;

use crate::executor::Process;
use crate::segment::history::{CallNumber, Event, TagNumber};
use crate::violation::Violation;

/// Whose ids ascend: a tag of a process, or one block of it.
type Order = (Process, TagNumber, Option<usize>);

pub(super) fn check(events: &[Event]) -> Result<(), Violation> {
    let mut highest: BTreeMap<Order, u64> = BTreeMap::new();
    let mut open: BTreeMap<CallNumber, (Order, u64)> = BTreeMap::new();
    for event in events {
        match event {
            Event::Began {
                call,
                process,
                tag,
                block,
                ..
            } => {
                let order = (*process, *tag, *block);
                let before = highest.get(&order).copied().unwrap_or(0);
                open.insert(*call, (order, before));
            }
            Event::Issued { call, ranges } => {
                let (order, mut before) = open[call];
                for range in ranges {
                    if range.start() <= before {
                        let message = format!(
                            "tag {} of process {}: {range} was issued after {before}",
                            order.1, order.0.0
                        );
                        return Err(Violation::new("ascending", message));
                    }
                    before = range.end() - 1;
                }
                let highest = highest.entry(order).or_default();
                *highest = before.max(*highest);
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
    fn a_step_back_is_seen() {
        let up = [
            began(0, ONE),
            issued(0, 5, 6),
            began(2, ONE),
            issued(2, 6, 7),
        ];
        assert!(check(&up).is_ok());
        let down = [
            began(0, ONE),
            issued(0, 5, 6),
            began(2, ONE),
            issued(2, 4, 5),
        ];
        assert!(check(&down).is_err());
        let at_once = [
            began(0, ONE),
            began(1, ONE),
            issued(0, 5, 6),
            issued(1, 4, 5),
        ];
        assert!(check(&at_once).is_ok());
        let two_servers = [
            began(0, ONE),
            issued(0, 5, 6),
            began(2, TWO),
            issued(2, 4, 5),
        ];
        assert!(check(&two_servers).is_ok());
        let ranges = vec![segment(7, 9), segment(3, 4)];
        assert!(check(&[began(0, ONE), Event::Issued { call: 0, ranges }]).is_err());
    }
}
