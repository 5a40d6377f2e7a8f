//! No id is issued twice: by no server, in no life of it.

use super::Event;
use super::Plan;
use crate::executor::Process;
use crate::violation::Violation;

pub(super) fn check(events: &[Event], plan: &Plan) -> Result<(), Violation> {
    let mut issued: Vec<(u64, Process)> = Vec::new();
    for event in events {
        if let Event::Issued { process, ids, .. } = event {
            issued.extend(ids.iter().map(|id| (*id, *process)));
        }
    }
    issued.sort_unstable();
    match issued.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => {
            let parts = plan.options.snowflake.layout.decompose(pair[0].0);
            let message = format!(
                "{} was issued by process {} and by process {}: {parts:?}",
                pair[0].0, pair[0].1.0, pair[1].1.0
            );
            Err(Violation::new("unique", message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn a_repeat_is_seen() {
        let (a, b) = (id(NOW_MS, 1), id(NOW_MS, 2));
        assert!(check(&[issued(ONE, &[a]), issued(TWO, &[b])], &plan()).is_ok());
        assert!(check(&[issued(ONE, &[a, b]), issued(TWO, &[b])], &plan()).is_err());
    }
}
