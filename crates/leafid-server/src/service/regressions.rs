//! `Regressions`: when the store was last found to have gone back in time, for health checks. Log
//! and counters are in `ops/event_log.rs`.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leafid::{Clock, Tag};

/// How long it is reported. After a day an operator has seen it, or never will.
const NAMED_FOR: Duration = Duration::from_secs(24 * 3600);

/// Records stores that went back in time.
pub(crate) struct Regressions {
    clock: Arc<dyn Clock>,
    last: Mutex<Option<Last>>,
}

struct Last {
    at: Duration,
    times: u64,
    tag: Tag,
}

/// A store that went back in time recently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WentBack {
    ago: Duration,
    times: u64,
    tag: Tag,
}

impl Regressions {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            last: Mutex::default(),
        }
    }

    /// A store just went back in time, found on this tag.
    pub(crate) fn note(&self, tag: &Tag) {
        let at = self.clock.now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = last.as_ref().map_or(0, |last| last.times);
        *last = Some(Last {
            at,
            times: before.saturating_add(1),
            tag: tag.clone(),
        });
    }

    /// What to report now.
    pub(crate) fn named(&self) -> Option<WentBack> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.as_ref()?;
        let ago = self.clock.now().saturating_sub(last.at);
        (ago < NAMED_FOR).then(|| WentBack {
            ago,
            times: last.times,
            tag: last.tag.clone(),
        })
    }
}

impl fmt::Display for WentBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ago, times, tag } = self;
        write!(
            f,
            "[!]store: went back in time, last found {} s ago on tag {tag}, {times} times in total: \
             ids of this server do not repeat, those of other servers may",
            ago.as_secs()
        )
    }
}

#[cfg(test)]
mod tests {
    use leafid::ManualClock;

    use super::*;

    /// Guards that it is reported for a day, and no longer.
    #[test]
    fn it_is_named_for_a_day() {
        let clock = ManualClock::new();
        let regressions = Regressions::new(Arc::new(clock.clone()));
        assert_eq!(regressions.named(), None);
        let tag = Tag::new("order").unwrap();
        regressions.note(&tag);
        clock.advance(Duration::from_secs(7));
        regressions.note(&tag);
        clock.advance(Duration::from_secs(5));
        let text = regressions.named().unwrap().to_string();
        assert!(text.contains("5 s ago on tag order, 2 times"), "{text}");
        clock.advance(NAMED_FOR);
        assert_eq!(regressions.named(), None);
    }
}
