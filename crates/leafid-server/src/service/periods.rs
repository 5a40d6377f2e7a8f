//! The periods of calendar counters: each has a tag of its own in the store, made when its first
//! id is requested. A tag that is deleted keeps how far it went, so that a period never restarts.

use std::sync::Arc;

use leafid::format::FormatError;
use leafid::format::Period;
use leafid::store::{StoreError, TagRecord, TagSpec};
use leafid::{Formatted, Generators, IssueError, Limit, Permanent, Stage, Tag, TagError};
use tokio::sync::Semaphore;

use super::counter_names::counter_name;
use super::create_on_first_use::failed;
use super::forms::Counter;
use super::period_numbers::{no_period, numbers_of};
use super::{Service, ServiceError};

/// How many old periods are deleted at once.
const OLD_MAX: u32 = 100;

impl Service {
    /// Takes ids of a period, which begins if it has no tag yet.
    pub(super) async fn or_begin<T, F>(
        &self,
        tag: &str,
        name: &str,
        counter: &Counter,
        take: impl Fn() -> F,
    ) -> Result<T, ServiceError>
    where
        F: Future<Output = Result<Formatted<T>, IssueError>>,
    {
        let period = match take().await {
            Err(IssueError::Permanent(Permanent::UnknownTag { tag })) => tag,
            taken => return numbers_of(name, taken).map_err(|error| self.refusal(error)),
        };
        let tag = Tag::new(tag).map_err(|error| IssueError::from(Permanent::BadTag(error)))?;
        self.begin_period(&tag, &period, counter).await?;
        numbers_of(name, take().await).map_err(|error| self.refusal(error))
    }

    /// Why no id was issued. What helps a tag that has reached its limit helps neither a period nor
    /// a tag whose format has no room for more.
    #[cold]
    pub(super) fn refusal(&self, error: IssueError) -> ServiceError {
        match &error {
            IssueError::Permanent(Permanent::LimitReached { tag, limit }) => self
                .spent_period(tag, *limit)
                .or_else(|| self.spent_format(tag, *limit))
                .unwrap_or_else(|| error.into()),
            _ => error.into(),
        }
    }

    /// The refusal of a tag whose format has no room for a higher limit.
    fn spent_format(&self, tag: &Tag, limit: Limit) -> Option<ServiceError> {
        let format = self.generators.format(tag.as_str())?;
        let (tag, last) = (tag.to_string(), limit.largest());
        (format.largest() <= last).then(|| ServiceError::Format {
            tag,
            error: FormatError::TooLong(format!(
                "{last}, the last one that its format has room for, was issued"
            )),
        })
    }

    /// The refusal of a tag that is known to be the period of a calendar counter.
    fn spent_period(&self, tag: &Tag, limit: Limit) -> Option<ServiceError> {
        let counter = counter_name(tag.as_str()).filter(|name| self.is_counter(name) == Some(true));
        let (counter, (_, label)) = (Tag::new(counter?).ok()?, tag.as_str().rsplit_once('@')?);
        Some(ServiceError::PeriodSpent {
            counter,
            label: label.to_owned(),
            last: limit.largest(),
        })
    }

    async fn begin_period(
        &self,
        tag: &Tag,
        period: &Tag,
        counter: &Counter,
    ) -> Result<(), ServiceError> {
        let beginning = Beginning {
            generators: self.generators.clone(),
            tag: tag.clone(),
            period: counter.period,
            oldest: counter.label_before(self.periods_kept),
            deletion: self.gate.deletion(),
        };
        let beginning = beginning.begin(period.clone());
        let place = self.gate.period_call();
        self.call_for_ids(period, place, beginning).await?
    }
}

/// The beginning of a calendar counter's period.
struct Beginning {
    generators: Generators,
    /// The counter.
    tag: Tag,
    period: Period,
    /// The label of the oldest period that is kept.
    oldest: Option<u64>,
    deletion: Arc<Semaphore>,
}

impl Beginning {
    async fn begin(self, period: Tag) -> Result<(), ServiceError> {
        let status = self.generators.status(period.as_str());
        if status.is_some_and(|status| status.stage != Stage::Unknown) {
            // Another caller was faster.
            return Ok(());
        }
        let tag = &self.tag;
        let record = self.generators.read_tag(tag).await;
        let record = record.map_err(|error| failed(tag, error))?;
        let record = record.ok_or_else(|| ServiceError::UnknownTag { tag: tag.clone() })?;
        let spec = period_spec(&record, self.period);
        let spec = spec.map_err(|error| IssueError::from(Permanent::BadTag(error)))?;
        match self.generators.create_tag(&spec).await {
            Ok(_) | Err(StoreError::TagExists) => {}
            Err(error) => return Err(not_created(&period, error)),
        }
        tracing::info!(target: "audit", tag = period.to_string(), "period begun");
        // Nobody waits for that.
        tokio::spawn(async move {
            let _place = Arc::clone(&self.deletion).acquire_owned().await;
            self.delete_old_periods().await;
        });
        Ok(())
    }

    /// Deletes the tags of periods that ended long ago. What fails is tried again when the next
    /// period begins.
    async fn delete_old_periods(&self) {
        let after = Tag::new(format!("{}@", self.tag));
        let (Some(oldest), Ok(after)) = (self.oldest, after) else {
            return;
        };
        let Ok(listed) = self.generators.list_tags(Some(&after), OLD_MAX).await else {
            return;
        };
        for record in listed {
            let is_of_counter = record.tag.as_str().starts_with(after.as_str());
            let label = record.period_label().filter(|_| is_of_counter);
            if label.is_some_and(|label| label < oldest) {
                match self.generators.delete_tag(&record.tag).await {
                    Ok(()) => {
                        let tag = record.tag.to_string();
                        tracing::info!(target: "audit", tag, "old period deleted");
                    }
                    Err(error) => {
                        let tag = record.tag.to_string();
                        tracing::warn!(tag, %error, "old period not deleted");
                        return;
                    }
                }
            }
        }
    }
}

/// Why the tag of a period could not be created.
fn not_created(period: &Tag, error: StoreError) -> ServiceError {
    let what = match &error {
        StoreError::FormerKind { former } => format!("was a {former} tag before it was deleted,"),
        StoreError::FormerFormat { .. } => "had a format before it was deleted,".to_owned(),
        _ => return failed(period, error),
    };
    no_period(period.clone(), &what).into()
}

fn period_spec(parent: &TagRecord, period: Period) -> Result<TagSpec, TagError> {
    let limit = Limit::new(period.len()).unwrap_or_default();
    let mut spec = parent.period(period.label)?;
    spec.settings.limit = spec.settings.limit.min(limit);
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use leafid::{ManualClock, store::MemoryStore};

    use super::*;
    use crate::Caller;
    use crate::config::{Config, Limits};

    const HOUR: Duration = Duration::from_secs(3600);

    /// Guards that the periods of a counter that are over leave memory: a server goes on past
    /// `tags-max` periods, and its clock's going back begins none again.
    #[tokio::test]
    async fn periods_that_are_over_do_not_fill_tags_max() {
        let config = Config {
            create_tags: Some(false),
            tags_max: 30,
            periods_kept: 24 * HOUR,
            ..Config::default()
        };
        let clock = ManualClock::new();
        clock.set_wall(500_000 * HOUR);
        let store = Arc::new(MemoryStore::new());
        let on = Arc::new(clock.clone());
        let (service, driver) = Service::in_memory_on(on, store, &config, Limits::default());
        let driver = tokio::spawn(driver);
        let mut spec = TagSpec::new(Tag::new("invoice").unwrap());
        spec.format = Some("{date %Y%m%d%H}-{number width=4 restart=hour}".into());
        service.generators.create_tag(&spec).await.unwrap();
        let (mut texts, caller) = (std::collections::BTreeSet::new(), Caller::anonymous());
        for hour in 0..100 {
            let id = service.next(&caller, "invoice").await;
            let text = id.unwrap_or_else(|error| panic!("hour {hour}: {error}"));
            assert!(texts.insert(text.to_string()), "{text} came twice");
            for _ in 0..60 {
                clock.advance(HOUR / 60);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
            }
        }
        assert!(
            texts.iter().all(|text| text.ends_with("-0001")),
            "{texts:?}"
        );
        clock.set_wall(500_000 * HOUR);
        let again = service.next(&caller, "invoice").await.unwrap().to_string();
        assert!(!texts.contains(&again), "{again} came twice");
        Generators::stop(&service.generators);
        driver.await.unwrap();
    }
}
