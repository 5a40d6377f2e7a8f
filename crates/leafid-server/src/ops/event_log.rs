//! `EventLog`: turns the library's events into log lines and counters. An alarm is one line at
//! level `error` and one increment of a counter.

mod worker;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use leafid::{Clock, Event, Observer};
use prometheus_client::metrics::counter::Counter;

use crate::error::with_causes;
use crate::log_rate_limit::LogRateLimiter;
use crate::ops::recent::Recent;
use crate::service::regressions::Regressions;

/// The counts so far, for the metrics.
#[derive(Debug, Default)]
pub(crate) struct EventCounts {
    pub(crate) regressions: Counter,
    pub(crate) weak_stores: Counter,
    pub(crate) segments: Counter,
    pub(crate) limits_reached: Counter,
    pub(crate) refresh_failures: Counter,
    pub(crate) store_conflicts: Counter,
    pub(crate) registry_regressions: Counter,
    pub(crate) worker_losses: Counter,
    pub(crate) worker_quarantines: Counter,
    pub(crate) journal_failures: Counter,
}

/// Receives the library's events.
pub(crate) struct EventLog {
    counts: Arc<EventCounts>,
    regressions: Arc<Regressions>,
    recent: Arc<Recent>,
    /// Failures to claim or extend a worker id since the last success.
    worker_failures: AtomicU32,
    clock: Arc<dyn Clock>,
    /// Tags whose store failed: there may be thousands, and the store's outage is logged anyway.
    failures: Mutex<LogRateLimiter>,
}

impl EventLog {
    pub(crate) fn new(
        counts: Arc<EventCounts>,
        regressions: Arc<Regressions>,
        recent: Arc<Recent>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            counts,
            regressions,
            recent,
            worker_failures: AtomicU32::new(0),
            clock,
            failures: Mutex::default(),
        }
    }
}

impl Observer for EventLog {
    fn event(&self, event: &Event<'_>) {
        self.count(event);
        match event {
            Event::WorkerClaimed { .. } | Event::WorkerExtended { .. } => {
                self.worker_failures.store(0, Ordering::Relaxed);
            }
            // Routine where many servers write one row.
            Event::Conflict { .. } => {
                let conflicts = self.counts.store_conflicts.get();
                if !conflicts.is_power_of_two() {
                    return;
                }
            }
            Event::Regressed { tag, .. } => self.regressions.note(tag),
            // The first of a row, then its 2nd, 4th, 8th, ..., and a few over all tags: a long
            // outage must not fill the disk.
            Event::Failed { failures, .. }
                if !failures.is_power_of_two() || !self.tells_failure() =>
            {
                return;
            }
            // The first of a row, then the 2nd, 4th, 8th, ...: a long outage must not fill the
            // disk.
            Event::WorkerRefused { .. } | Event::RegistryFailed { .. } => {
                let failures = self.worker_failures.fetch_add(1, Ordering::Relaxed) + 1;
                if !failures.is_power_of_two() {
                    return;
                }
            }
            _ => {}
        }
        self.recent.note(event);
        log(event);
    }
}

impl EventLog {
    fn tells_failure(&self) -> bool {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let left_out = failures.admit(self.clock.now());
        drop(failures);
        if let Some(left_out @ 1..) = left_out {
            tracing::warn!(left_out, "the store failed for more tags than are logged");
        }
        left_out.is_some()
    }

    fn count(&self, event: &Event<'_>) {
        let counter = match event {
            Event::Regressed { .. } => &self.counts.regressions,
            Event::WeakStore { .. } => &self.counts.weak_stores,
            Event::RegistryFailed { error, .. } | Event::RegistryDown { error }
                if error.weak_store().is_some() =>
            {
                &self.counts.weak_stores
            }
            Event::Reserved { .. } => &self.counts.segments,
            Event::LimitReached { .. } => &self.counts.limits_reached,
            Event::RefreshFailed { .. } => &self.counts.refresh_failures,
            Event::Conflict { .. } => &self.counts.store_conflicts,
            Event::RegistryRegressed { .. } => &self.counts.registry_regressions,
            Event::WorkerLost { .. } => &self.counts.worker_losses,
            Event::Quarantined { .. } => &self.counts.worker_quarantines,
            Event::JournalFailed { .. } => &self.counts.journal_failures,
            _ => return,
        };
        counter.inc();
    }
}

fn log(event: &Event<'_>) {
    match event {
        Event::Loaded { tag } => tracing::info!(tag = tag.to_string(), "tag in use"),
        Event::Created { tag } => {
            tracing::info!(target: "audit", tag = tag.to_string(), "tag created on first use");
        }
        Event::Dropped { tag } => {
            tracing::warn!(
                tag = tag.to_string(),
                "tag is gone from the store; it issues no more ids"
            );
        }
        Event::Reserved { tag, segment, took } => {
            tracing::debug!(tag = tag.to_string(), %segment, ?took, "segment reserved");
        }
        Event::Failed {
            tag,
            error,
            failures,
            retry_after,
        } => {
            if error.weak_store().is_none() {
                tracing::warn!(
                    tag = tag.to_string(),
                    failures,
                    ?retry_after,
                    error = with_causes(error),
                    "store failed; retrying"
                );
            }
        }
        Event::WeakStore {
            tag,
            error,
            failures,
        } => {
            if failures.is_power_of_two() {
                tracing::error!(tag = tag.to_string(), failures, error = %error, "alarm: a weak store is refused; retrying");
            }
        }
        Event::Regressed {
            tag,
            floor,
            found,
            discarded,
        } => tracing::error!(
            tag = tag.to_string(), floor, found, %discarded,
            "alarm: the store went back in time; this server discards the segment, continues \
             above it, and repeats none of its own ids; it is unknown whether other servers had \
             come further, or have reserved numbers from `found` on since: see docs/operating.md, \
             and check whether a backup was restored or a replica took over"
        ),
        Event::LimitNear {
            tag,
            headroom,
            limit,
        } => {
            tracing::warn!(tag = tag.to_string(), headroom, %limit, "few numbers are left below the limit; raise it or move to another tag");
        }
        Event::LimitReached { tag, limit } => {
            tracing::error!(tag = tag.to_string(), %limit, "alarm: the limit is reached; raise it or move to another tag");
        }
        Event::Conflict { error } => tracing::info!(
            error = with_causes(error),
            "a call to the store met another transaction and is repeated; leafid_store_conflicts_total counts them"
        ),
        Event::StoreDown { error, location } => tracing::warn!(
            error = with_causes(error),
            in_use = location.map(tracing::field::display),
            "the store is down: nothing can be reserved; ids in memory are still issued, and the store is retried"
        ),
        Event::StoreUp { down_for, location } => tracing::warn!(
            ?down_for,
            in_use = location.map(tracing::field::display),
            "the store is up again"
        ),
        Event::RefreshFailed { error } => tracing::warn!(
            error = with_causes(error),
            "settings of tags in use could not be reread; the old ones still apply"
        ),
        other => worker::log(other),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    use leafid::store::StoreError;
    use leafid::{Limit, Tag};
    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lines.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Lines {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    fn logged(event: &Event<'_>) -> (String, Arc<EventCounts>) {
        logged_all(std::iter::once(event))
    }

    fn logged_all<'e>(events: impl Iterator<Item = &'e Event<'e>>) -> (String, Arc<EventCounts>) {
        let (lines, counts) = (Lines::default(), Arc::new(EventCounts::default()));
        let log = tracing_subscriber::fmt()
            .with_writer(lines.clone())
            .with_ansi(false)
            .finish();
        let clock: Arc<dyn Clock> = Arc::new(leafid::ManualClock::new());
        let regressions = Regressions::new(Arc::clone(&clock));
        let event_log = EventLog::new(
            Arc::clone(&counts),
            Arc::new(regressions),
            Arc::default(),
            clock,
        );
        tracing::subscriber::with_default(log, || events.for_each(|event| event_log.event(event)));
        let bytes = lines
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        (String::from_utf8(bytes).unwrap(), counts)
    }

    /// Guards that a store that went back in time raises one alarm, in the log and the metrics.
    #[test]
    fn a_regression_is_one_line_and_one_step() {
        let tag = Tag::new("order").unwrap();
        let (text, counts) = logged(&Event::Regressed {
            tag: &tag,
            floor: 5001,
            found: 1001,
            discarded: leafid::Segment::new(7001, 8001).unwrap(),
        });
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.contains("ERROR") && text.contains("went back in time"),
            "{text}"
        );
        let fields = "tag=\"order\" floor=5001 found=1001 discarded=[7001, 8001)";
        assert!(text.contains(fields), "{text}");
        assert_eq!(counts.regressions.get(), 1);
    }

    #[test]
    fn the_last_number_is_an_alarm() {
        let tag = Tag::new("order").unwrap();
        let limit = Limit::INT32;
        let (text, counts) = logged(&Event::LimitReached { tag: &tag, limit });
        assert!(
            text.contains("ERROR") && text.contains("limit=int32"),
            "{text}"
        );
        assert_eq!(counts.limits_reached.get(), 1);
    }

    /// Guards that an outage of thousands of tags does not fill the disk either.
    #[test]
    fn failures_of_many_tags_are_told_a_few_times() {
        let tag = Tag::new("order").unwrap();
        let error = StoreError::unavailable("cannot reach it", "timed out");
        let event = Event::Failed {
            tag: &tag,
            error: &error,
            failures: 1,
            retry_after: Duration::from_secs(5),
        };
        let (text, _) = logged_all(std::iter::repeat_n(&event, 5000));
        assert_eq!(text.lines().count(), 10, "{text}");
    }

    /// Guards that an outage of hours does not fill the disk with lines.
    #[test]
    fn failures_in_a_row_are_logged_ever_more_rarely() {
        let tag = Tag::new("order").unwrap();
        let error = StoreError::unavailable("cannot reach it", "timed out");
        let lines = (1..=1000).map(|failures| {
            let event = Event::Failed {
                tag: &tag,
                error: &error,
                failures,
                retry_after: Duration::from_secs(5),
            };
            logged(&event).0.lines().count()
        });
        assert_eq!(lines.sum::<usize>(), 10);
        assert_eq!(with_causes(&error), "cannot reach it: timed out");
    }
}
