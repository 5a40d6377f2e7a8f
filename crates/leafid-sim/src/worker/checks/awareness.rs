//! `Awareness`: what the registry has forgotten, and which processes cannot know it yet. What is
//! made under a forgotten promise can repeat, until its maker has read its row, or has written it
//! anew; not after that.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Event;
use crate::executor::Process;

#[derive(Debug, Default)]
pub(super) struct Awareness {
    /// When the registry forgot, each time.
    forgot: Vec<Duration>,
    /// How often it had when each process last read its row.
    known: BTreeMap<Process, u64>,
}

impl Awareness {
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::Forgot { at } => self.forgot.push(*at),
            Event::Looked { process, forgot }
            | Event::Won {
                process, forgot, ..
            } => {
                let known = self.known.entry(*process).or_default();
                *known = (*known).max(*forgot);
            }
            _ => {}
        }
    }

    /// How often the registry has forgotten.
    pub(super) fn times(&self) -> usize {
        self.forgot.len()
    }

    /// When the registry forgot for the first time of which a process cannot know; `None` if there
    /// is none.
    pub(super) fn unaware_since(&self, process: Process) -> Option<Duration> {
        let known = self.known.get(&process).copied().unwrap_or(0);
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        self.forgot.get(known).copied()
    }
}
