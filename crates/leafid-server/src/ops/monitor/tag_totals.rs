//! `TagTotals`: what all tags in use come to. To look at a million takes a good part of a second,
//! so they are looked at the more rarely, the longer it takes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leafid::{Clock, Stage, Status, Tag};

use crate::service::Service;

/// While somebody looks, counting takes at most this part of one core.
const SHARE_WATCHED: u32 = 100;
/// For the history, which nobody may be looking at.
const SHARE_UNWATCHED: u32 = 5000;
/// Totals are no older than that where counting is quick.
const AGE_MAX: Duration = Duration::from_millis(900);
/// More tags than these are counted beside the threads that serve.
const COUNTED_INLINE_MAX: usize = 2000;
/// How long a tag has to be in use before its cover counts: its first segments are short.
const WARM_UP: Duration = Duration::from_secs(60);
/// How many tags with little headroom are named.
const NAMED_MAX: usize = 20;

/// The totals of all tags in use, and when they were counted.
#[derive(Debug, Default)]
pub(super) struct TagTotals {
    last: Mutex<Option<Arc<Totals>>>,
    /// One count at a time.
    counting: tokio::sync::Mutex<()>,
}

/// What all tags in use come to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) at: Duration,
    took: Duration,
    pub(crate) issued: u64,
    /// Ids in a second, as the tags measure it.
    pub(crate) rate: f64,
    /// The shortest cover, and whose.
    pub(crate) cover: Option<(Duration, Tag)>,
    /// Tags that have reached their limit, a few of them.
    pub(crate) exhausted: Vec<Tag>,
    /// Tags whose numbers end within days, with the days; a few of them.
    pub(crate) ending: Vec<(Tag, f64)>,
}

/// Tags whose numbers end within these are named.
const ENDING_DAYS: f64 = 180.0;

impl TagTotals {
    /// The totals, no older than what watching them may cost.
    pub(super) async fn read(&self, service: &Arc<Service>, clock: &dyn Clock) -> Arc<Totals> {
        self.read_within(service, clock, SHARE_WATCHED).await
    }

    /// The totals, for the history.
    pub(super) async fn read_rarely(
        &self,
        service: &Arc<Service>,
        clock: &dyn Clock,
    ) -> Arc<Totals> {
        self.read_within(service, clock, SHARE_UNWATCHED).await
    }

    async fn read_within(
        &self,
        service: &Arc<Service>,
        clock: &dyn Clock,
        share: u32,
    ) -> Arc<Totals> {
        if let Some(totals) = self.fresh(clock.now(), share) {
            return totals;
        }
        let _turn = self.counting.lock().await;
        if let Some(totals) = self.fresh(clock.now(), share) {
            return totals;
        }
        let began = clock.now();
        let mut totals = count(service).await;
        (totals.at, totals.took) = (began, clock.now().saturating_sub(began));
        let totals = Arc::new(totals);
        *self.lock() = Some(Arc::clone(&totals));
        totals
    }

    fn fresh(&self, now: Duration, share: u32) -> Option<Arc<Totals>> {
        let last = self.lock();
        let last = last.as_ref()?;
        let age_max = last.took.saturating_mul(share).max(AGE_MAX);
        (now.saturating_sub(last.at) < age_max).then(|| Arc::clone(last))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Totals>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn count(service: &Arc<Service>) -> Totals {
    if service.loaded_len() <= COUNTED_INLINE_MAX {
        return Totals::of(service);
    }
    let service = Arc::clone(service);
    let counting = tokio::task::spawn_blocking(move || Totals::of(&service));
    counting.await.unwrap_or_default()
}

impl Totals {
    fn of(service: &Service) -> Self {
        let mut totals = Self::default();
        service.for_each_status(|status| totals.add(&status));
        totals
    }

    fn add(&mut self, status: &Status) {
        self.issued += status.issued;
        self.rate += status.rate;
        if status.stage == Stage::Exhausted && self.exhausted.len() < NAMED_MAX {
            self.exhausted.push(status.tag.clone());
        }
        if status.in_use_for < WARM_UP {
            return;
        }
        if let Some(cover) = status.cover
            && self.cover.as_ref().is_none_or(|(least, _)| cover < *least)
        {
            self.cover = Some((cover, status.tag.clone()));
        }
        let days = status.headroom_days(status.max_id.unwrap_or(1));
        if let Some(days) = days.filter(|days| *days < ENDING_DAYS)
            && self.ending.len() < NAMED_MAX
        {
            self.ending.push((status.tag.clone(), days));
        }
    }
}
