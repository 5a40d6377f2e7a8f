//! `Recent`: the events of the last hour and the last reservations, for the console. Bounded: what
//! is older than the newest few is forgotten.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leafid::{Event, Segment, Tag};

use crate::api::console::{RecentEvent, Reservation};
use crate::error::with_causes;
use crate::wall_clock;

/// How many events are kept.
const EVENTS_MAX: usize = 256;
/// How many reservations are kept, of all tags together.
const RESERVATIONS_MAX: usize = 4096;
/// How many reservations of one tag are shown.
const RESERVATIONS_SHOWN: usize = 64;
/// The maximum age of an event that is shown.
const AGE_MAX_MS: i64 = 3_600_000;
/// How many characters of a text are kept: an error of a store may be long.
const TEXT_LEN_MAX: usize = 300;

/// What happened lately.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    events: Mutex<VecDeque<Happened>>,
    reservations: Mutex<VecDeque<Reserved>>,
}

/// An event.
#[derive(Debug)]
struct Happened {
    unix_ms: i64,
    level: &'static str,
    what: &'static str,
    tag: Option<Tag>,
    text: String,
}

/// A reservation.
#[derive(Debug)]
struct Reserved {
    unix_ms: i64,
    tag: Tag,
    segment: Segment,
    took: Duration,
}

impl Recent {
    /// Keeps an event, if people want to know of it.
    pub(super) fn note(&self, event: &Event<'_>) {
        let unix_ms = wall_clock::now().as_millisecond();
        if let Event::Reserved { tag, segment, took } = event {
            let (tag, segment, took) = ((*tag).clone(), *segment, *took);
            let reserved = Reserved {
                unix_ms,
                tag,
                segment,
                took,
            };
            return push(lock(&self.reservations), reserved, RESERVATIONS_MAX);
        }
        let Some((level, what, text)) = described(event) else {
            return;
        };
        let happened = Happened {
            unix_ms,
            level,
            what,
            tag: tag_of(event).cloned(),
            text: text.chars().take(TEXT_LEN_MAX).collect(),
        };
        push(lock(&self.events), happened, EVENTS_MAX);
    }

    /// The events of the last hour that `shows` lets through, the newest first.
    pub(crate) fn events(
        &self,
        count: usize,
        shows: impl Fn(Option<&Tag>) -> bool,
    ) -> Vec<RecentEvent> {
        let since = wall_clock::now().as_millisecond() - AGE_MAX_MS;
        let events = lock(&self.events);
        let shown = events.iter().rev();
        let shown = shown.filter(|event| event.unix_ms >= since && shows(event.tag.as_ref()));
        shown.take(count).map(Happened::shown).collect()
    }

    /// The last reservations of a tag, the newest first.
    pub(crate) fn reservations(&self, tag: &Tag) -> Vec<Reservation> {
        let reservations = lock(&self.reservations);
        let of_tag = reservations.iter().rev().filter(|one| one.tag == *tag);
        of_tag
            .take(RESERVATIONS_SHOWN)
            .map(Reserved::shown)
            .collect()
    }
}

impl Happened {
    fn shown(&self) -> RecentEvent {
        RecentEvent {
            unix_ms: self.unix_ms.to_string(),
            level: self.level.to_owned(),
            what: self.what.to_owned(),
            tag: self.tag.as_ref().map(|tag| tag.as_str().to_owned()),
            text: self.text.clone(),
        }
    }
}

impl Reserved {
    fn shown(&self) -> Reservation {
        Reservation {
            unix_ms: self.unix_ms.to_string(),
            start: self.segment.start().to_string(),
            end: self.segment.end().to_string(),
            took_ms: self.took.as_secs_f64() * 1000.0,
        }
    }
}

fn lock<T>(kept: &Mutex<VecDeque<T>>) -> MutexGuard<'_, VecDeque<T>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn push<T>(mut kept: MutexGuard<'_, VecDeque<T>>, new: T, count_max: usize) {
    if kept.len() == count_max {
        kept.pop_front();
    }
    kept.push_back(new);
}

fn tag_of<'e>(event: &Event<'e>) -> Option<&'e Tag> {
    match event {
        Event::Created { tag }
        | Event::Dropped { tag }
        | Event::Failed { tag, .. }
        | Event::WeakStore { tag, .. }
        | Event::Regressed { tag, .. }
        | Event::LimitNear { tag, .. }
        | Event::LimitReached { tag, .. } => Some(tag),
        _ => None,
    }
}

type Described = Option<(&'static str, &'static str, String)>;

/// The level, the kind and a sentence of an event; `None` for routine.
fn described(event: &Event<'_>) -> Described {
    Some(match event {
        Event::Created { .. } => ("info", "tag_created", "created on first use".into()),
        Event::Dropped { .. } => (
            "warn",
            "tag_gone",
            "gone from the store; it issues no more ids".into(),
        ),
        Event::Failed {
            error, failures, ..
        } => {
            let times = if *failures == 1 {
                "call"
            } else {
                "calls in a row"
            };
            let text = format!(
                "{failures} {times} to the store failed: {}",
                with_causes(error)
            );
            ("warn", "store_failed", text)
        }
        Event::WeakStore { error, .. } => ("error", "weak_store", error.to_string()),
        Event::Regressed { floor, found, .. } => (
            "error",
            "store_went_back",
            format!("the store went back in time: it held {found} after {floor}"),
        ),
        Event::LimitNear {
            headroom, limit, ..
        } => (
            "warn",
            "limit_near",
            format!("{headroom} numbers are left below the limit {limit}"),
        ),
        Event::LimitReached { limit, .. } => (
            "error",
            "limit_reached",
            format!("the limit {limit} is reached"),
        ),
        Event::StoreDown { error, .. } => (
            "error",
            "store_down",
            format!("the store is down: {}", with_causes(error)),
        ),
        Event::StoreUp { down_for, .. } => (
            "info",
            "store_up",
            format!(
                "the store answers again after {:.1} s",
                down_for.as_secs_f64()
            ),
        ),
        Event::RefreshFailed { error } => (
            "warn",
            "refresh_failed",
            format!(
                "settings of tags could not be reread: {}",
                with_causes(error)
            ),
        ),
        other => return described_worker(other),
    })
}

/// As [`described`], of the worker id and the clock.
fn described_worker(event: &Event<'_>) -> Described {
    Some(match event {
        Event::WorkerClaimed { lease } => (
            "info",
            "worker_claimed",
            format!("worker id {} is held", lease.worker),
        ),
        Event::WorkerReleased { worker } => (
            "info",
            "worker_released",
            format!("worker id {worker} was given back"),
        ),
        Event::WorkerLost { worker, reason } => (
            "error",
            "worker_lost",
            format!("worker id {worker} is lost: {reason}"),
        ),
        Event::WorkerRefused { reason } => ("error", "worker_refused", (*reason).to_owned()),
        Event::WorkersExhausted { holders } => (
            "error",
            "workers_exhausted",
            format!("all {} worker ids are held", holders.len()),
        ),
        Event::WeakStart { worker, error } => (
            "warn",
            "registry_unreachable",
            format!(
                "worker id {worker} continues from the journal: {}",
                with_causes(error)
            ),
        ),
        Event::WorkerKept { lease, error } => (
            "warn",
            "worker_kept",
            format!(
                "worker id {} could not be given back: {}",
                lease.worker,
                with_causes(error)
            ),
        ),
        Event::RegistryRegressed { lease, .. } => (
            "error",
            "registry_went_back",
            format!("the registry has forgotten worker id {}", lease.worker),
        ),
        Event::RegistryDown { error } => (
            "error",
            "registry_down",
            format!("the registry of worker ids is down: {}", with_causes(error)),
        ),
        Event::RegistryUp { after } => (
            "info",
            "registry_up",
            format!(
                "the registry answers again after {:.1} s",
                after.as_secs_f64()
            ),
        ),
        Event::JournalFailed { error } => (
            "error",
            "journal_failed",
            format!("the journal cannot be written: {}", with_causes(error)),
        ),
        Event::ClockStepped { .. } => ("warn", "clock_stepped", "the clock stepped".into()),
        Event::ClockAgrees => ("info", "clock_agrees", "the clock agrees again".into()),
        Event::ClockAccepted { .. } => ("warn", "clock_accepted", "the clock was accepted".into()),
        Event::Quarantined { .. } => (
            "warn",
            "worker_quarantined",
            "a worker id is left unused until its ids' time has come".into(),
        ),
        Event::EndNear { .. } => (
            "warn",
            "layout_end_near",
            "the layout's time runs out".into(),
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use leafid::store::StoreError;

    use super::*;

    fn tag(name: &str) -> Tag {
        Tag::new(name).unwrap()
    }

    /// Guards that both lists are bounded, and that the newest comes first.
    #[test]
    fn the_newest_are_kept() {
        let (recent, order) = (Recent::default(), tag("order"));
        for number in 0..10_000_u64 {
            let segment = Segment::new(number * 10 + 1, number * 10 + 11).unwrap();
            let took = Duration::from_millis(1);
            let tag = &order;
            recent.note(&Event::Reserved { tag, segment, took });
            recent.note(&Event::Dropped { tag });
        }
        assert_eq!(lock(&recent.reservations).len(), RESERVATIONS_MAX);
        assert_eq!(lock(&recent.events).len(), EVENTS_MAX);
        let shown = recent.reservations(&order);
        assert_eq!((shown.len(), shown[0].end.as_str()), (64, "100001"));
        assert!(recent.reservations(&tag("other")).is_empty());
    }

    /// Guards that a caller sees no event of a tag that it may not see, and no endless text.
    #[test]
    fn events_of_hidden_tags_are_left_out() {
        let (recent, order) = (Recent::default(), tag("order"));
        let error = StoreError::unavailable("x".repeat(5000), "cut");
        recent.note(&Event::Dropped { tag: &order });
        recent.note(&Event::StoreDown {
            error: &error,
            location: None,
        });
        let all = recent.events(10, |_| true);
        assert_eq!((all.len(), all[0].what.as_str()), (2, "store_down"));
        assert_eq!(all[0].text.chars().count(), TEXT_LEN_MAX);
        assert_eq!(recent.events(10, |tag| tag.is_none()).len(), 1);
        assert_eq!(recent.events(1, |_| true).len(), 1);
    }
}
