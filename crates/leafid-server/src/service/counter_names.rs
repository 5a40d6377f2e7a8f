//! Names of calendar counters, as far as they are known here, and of their periods.

use std::time::Duration;

use leafid::Tag;
use papaya::ResizeMode;

/// How many names are known at once. If more are called, all are asked for again.
const NAMES_MAX: usize = 100_000;

/// What is known of names that may be those of calendar counters.
pub(super) struct CounterNames(papaya::HashMap<Tag, Answer>);

/// Whether a name is that of a calendar counter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) is_calendar: bool,
    /// `None`: a calendar counter stays one for life.
    pub(super) until: Option<Duration>,
}

impl CounterNames {
    pub(super) fn new() -> Self {
        let names = papaya::HashMap::builder();
        Self(names.resize_mode(ResizeMode::Blocking).build())
    }

    pub(super) fn of(&self, name: &str) -> Option<Answer> {
        self.0.pin().get(name).copied()
    }

    pub(super) fn learn(&self, name: Tag, is_calendar: bool, until: Option<Duration>) {
        let names = self.0.pin();
        if names.len() >= NAMES_MAX {
            names.clear();
        }
        names.insert(name, Answer { is_calendar, until });
    }
}

/// The name of the calendar counter of which a tag would be a period.
pub(super) fn counter_name(tag: &str) -> Option<&str> {
    let (name, label) = tag.rsplit_once('@')?;
    let is_label = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    (is_label && Tag::new(name).is_ok()).then_some(name)
}
