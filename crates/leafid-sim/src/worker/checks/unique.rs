//! No id is issued twice: by any server, in any of its runs. If the registry forgot, this holds for
//! what one server made, and for all that is made by those that could know of it.

use super::super::history::Identity;
use super::awareness::Awareness;
use super::{Event, Plan};
use crate::executor::Process;
use crate::violation::Violation;

pub(super) fn check(events: &[Event], plan: &Plan) -> Result<(), Violation> {
    let mut awareness = Awareness::default();
    let mut makers: Vec<Maker> = Vec::new();
    let mut issued: Vec<(u64, usize)> = Vec::new();
    for event in events {
        awareness.note(event);
        if let Event::Issued {
            process,
            identity,
            ids,
            ..
        } = event
        {
            issued.extend(ids.iter().map(|id| (*id, makers.len())));
            makers.push(Maker {
                process: *process,
                identity: *identity,
                forgot: awareness.times(),
                is_unaware: awareness.unaware_since(*process).is_some(),
            });
        }
    }
    issued.sort_unstable();
    let repeated = issued.chunk_by(|one, other| one.0 == other.0);
    for alike in repeated.filter(|alike| alike.len() > 1) {
        let makers: Vec<&Maker> = alike.iter().map(|(_, number)| &makers[*number]).collect();
        if let Some((one, other)) = twice(&makers) {
            let id = alike[0].0;
            let parts = plan.options.snowflake.layout.decompose(id);
            let (one, other) = (one.process.0, other.process.0);
            let message =
                format!("{id} was issued by process {one} and by process {other}: {parts:?}");
            return Err(Violation::new("unique", message));
        }
    }
    Ok(())
}

/// The maker of some ids, and what it could know then.
struct Maker {
    process: Process,
    identity: Identity,
    /// How often the registry had forgotten by then.
    forgot: usize,
    /// It could not know of all of these.
    is_unaware: bool,
}

impl Maker {
    /// Whether two servers made one id because the registry forgot in between, or because one of
    /// them could not know yet that it had.
    fn is_excused(&self, other: &Self) -> bool {
        self.identity != other.identity
            && (self.forgot != other.forgot || self.is_unaware || other.is_unaware)
    }
}

/// Two of these without an excuse for one id.
fn twice<'a>(makers: &[&'a Maker]) -> Option<(&'a Maker, &'a Maker)> {
    makers.iter().enumerate().find_map(|(at, one)| {
        let mut others = makers[at + 1..].iter();
        others
            .find(|other| !one.is_excused(other))
            .map(|other| (*one, *other))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::samples::*;
    use super::*;

    #[test]
    fn a_repeat_is_seen() {
        let (a, b) = (id(NOW_MS, 1), id(NOW_MS, 2));
        assert!(check(&[issued(ONE, &[a]), issued(TWO, &[b])], &plan()).is_ok());
        assert!(check(&[issued(ONE, &[a, b]), issued(TWO, &[b])], &plan()).is_err());
    }

    #[test]
    fn a_registry_that_forgot_is_an_excuse_until_a_server_has_looked() {
        let by = |identity| issued(identity, &[id(NOW_MS, 1)]);
        let forgot = || Event::Forgot { at: Duration::ZERO };
        let looked = |identity: Identity, forgot| Event::Looked {
            process: Process(identity.0),
            forgot,
        };
        let verdict = |events: &[Event]| check(events, &plan());
        let aware = [forgot(), looked(ONE, 1), looked(TWO, 1)];
        let then = |rest: &[Event]| verdict(&[&aware[..], rest].concat());
        assert!(then(&[by(ONE), by(TWO)]).is_err());
        assert!(then(&[by(ONE), forgot(), by(TWO)]).is_ok());
        assert!(then(&[by(ONE), forgot(), by(ONE)]).is_err());
        assert!(then(&[by(ONE), forgot(), by(TWO), by(ONE)]).is_err());
        let late = [forgot(), looked(ONE, 0), looked(TWO, 1), by(ONE), by(TWO)];
        assert!(verdict(&late).is_ok());
    }
}
