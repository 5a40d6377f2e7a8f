//! `Alarms`: turns the library's events into log lines and counters. An alarm is one line at the
//! level `error` and one step of a counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leafid::store::StoreError;
use leafid::{Event, Observer};

/// What has happened so far, for the metrics.
#[derive(Debug, Default)]
pub(crate) struct EventCounts {
    pub(crate) regressions: AtomicU64,
    pub(crate) segments: AtomicU64,
    pub(crate) tags_created: AtomicU64,
    pub(crate) limits_reached: AtomicU64,
    pub(crate) refresh_failures: AtomicU64,
}

/// Takes note of events.
pub(crate) struct Alarms {
    counts: Arc<EventCounts>,
}

impl Alarms {
    pub(crate) fn new(counts: Arc<EventCounts>) -> Self {
        Self { counts }
    }
}

impl Observer for Alarms {
    fn event(&self, event: &Event<'_>) {
        self.count(event);
        log(event);
    }
}

impl Alarms {
    fn count(&self, event: &Event<'_>) {
        let counter = match event {
            Event::Regressed { .. } => &self.counts.regressions,
            Event::Reserved { .. } => &self.counts.segments,
            Event::Created { .. } => &self.counts.tags_created,
            Event::LimitReached { .. } => &self.counts.limits_reached,
            Event::RefreshFailed { .. } => &self.counts.refresh_failures,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn log(event: &Event<'_>) {
    match event {
        Event::Loaded { tag } => tracing::info!(%tag, "tag in use"),
        Event::Created { tag } => tracing::info!(%tag, "tag created on first use"),
        Event::Dropped { tag } => {
            tracing::warn!(%tag, "tag is gone from the store; it issues no more");
        }
        Event::Reserved { tag, segment, took } => {
            tracing::debug!(%tag, %segment, ?took, "segment reserved");
        }
        Event::Failed {
            tag,
            error,
            failures,
            retry_after,
        } => {
            // The first of a row, then at 2, 4, 8, ...: a long outage must not fill the disk.
            if failures.is_power_of_two() {
                tracing::warn!(%tag, failures, ?retry_after, error = with_causes(error), "store failed; it is tried again");
            }
        }
        Event::Regressed { tag, floor, found } => tracing::error!(
            %tag, floor, found,
            "alarm: the store went back in time; ids go on above the floor, none repeats; find out whether a backup was restored or a replica took over"
        ),
        Event::LimitNear {
            tag,
            headroom,
            limit,
        } => {
            tracing::warn!(%tag, headroom, %limit, "few numbers are left below the limit; raise it or move to another tag");
        }
        Event::LimitReached { tag, limit } => {
            tracing::error!(%tag, %limit, "alarm: the limit is reached; raise it or move to another tag");
        }
        Event::RefreshFailed { error } => tracing::warn!(
            error = with_causes(error),
            "settings of tags in use could not be read again; the old ones stay in force"
        ),
        _ => tracing::info!(?event, "event"),
    }
}

/// An error with all its causes, for the log.
pub(crate) fn with_causes(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
