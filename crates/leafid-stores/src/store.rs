//! `SqlStore`: implements the contract on any SQL database: connections, time-outs and errors in
//! one place. `tags.rs` and `leases.rs` have the statements; `sqlite.rs`, `mysql.rs` and
//! `postgres.rs` the differences.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use leafid::Tag;
use leafid::store::{
    Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagPatch, TagRecord,
    TagSettings, TagSpec,
};

use crate::backend::Backend;
use crate::options::Patience;
use crate::pool::Pool;
use crate::sql::{Dialect, Work, failed};
use crate::sql_error::CallError;
use crate::timeout::within;
use crate::url::StoreUrl;
use crate::{InitReport, Remedies, StoreOptions, tags};

/// In characters, as Leaf's column is declared.
const DESCRIPTION_LEN_MAX: usize = 256;

/// Enough for the reads of one row that can be under way at once, of which eight late ones wait long
/// ([`leafid::LateReads`]), and another call.
const LOOKS_MAX: usize = 10;

pub(crate) struct SqlStore<S: Backend> {
    pub(crate) pool: Arc<Pool<S>>,
    /// The connections of reads of one row of a registry, if there can be others beside them. Other
    /// calls may be many, and one that gets no answer in time closes its connection: a slow registry
    /// may not be able to establish another one in time.
    looks: Option<Arc<Pool<S>>>,
    location: String,
    timeout: Duration,
    look_timeout: Duration,
    remedies: Remedies,
}

impl<S: Backend> SqlStore<S> {
    pub(crate) fn new(backend: S, url: &StoreUrl, options: &StoreOptions) -> Self {
        Self::at(backend, url.to_string(), options)
    }

    /// A store that is shown as being at this location.
    pub(crate) fn at(backend: S, location: String, options: &StoreOptions) -> Self {
        let backend = Arc::new(backend);
        let pool = |connections_max: usize, patience| {
            let backend = Arc::clone(&backend);
            let age_max = options.connection_age_max;
            Arc::new(Pool::new(backend, connections_max, age_max, patience))
        };
        let connections_max = options.connections_max.clamp(1, S::CONNECTIONS_MAX);
        let has_looks = S::CONNECTIONS_MAX > LOOKS_MAX;
        Self {
            pool: pool(connections_max, Patience::Usual),
            looks: has_looks.then(|| pool(LOOKS_MAX, Patience::Long)),
            location,
            timeout: options.statement_timeout,
            look_timeout: options.look_timeout(),
            remedies: options.remedies,
        }
    }

    /// Connects once, so that permanent errors are reported at once.
    #[cfg(feature = "sqlite")]
    pub(crate) async fn warm_up(&self) -> Result<(), StoreError> {
        let work = async { self.pool.take().await?.give_back(Ok(())) };
        self.bounded(|| "open the store".into(), work).await
    }

    pub(crate) async fn init(&self) -> Result<InitReport, StoreError> {
        let work = async {
            let mut pooled = self.pool.take().await?;
            let answer = self.pool.backend().init(&mut pooled.connection).await;
            pooled.give_back(answer)
        };
        self.bounded(|| "create the tables".into(), work).await
    }

    pub(crate) async fn run<W: Work>(&self, work: W) -> Result<W::Answer, CallError> {
        let mut pooled = self.pool.take().await?;
        let answer = self.pool.backend().run(&mut pooled.connection, work).await;
        pooled.give_back(answer)
    }

    /// Reads one row of a registry, with time-outs of its own: the one for the answer begins when it
    /// has a connection.
    pub(crate) async fn look<W: Work>(
        &self,
        what: impl Fn() -> String + Send + Sync,
        work: W,
    ) -> Result<W::Answer, StoreError> {
        let pool = self.looks.as_ref().unwrap_or(&self.pool);
        let timeout = self.timeout.saturating_add(self.look_timeout);
        let take = async { Ok(pool.take().await?) };
        let mut pooled = self.bounded_by(pool, timeout, &what, take).await?;
        let answer = async {
            let answer = pool.backend().run(&mut pooled.connection, work).await;
            pooled.give_back(answer)
        };
        self.bounded_by(pool, self.look_timeout, &what, answer)
            .await
    }

    pub(crate) async fn transact<W: Work>(&self, work: W) -> Result<W::Answer, CallError> {
        let mut pooled = self.pool.take().await?;
        let backend = self.pool.backend();
        let answer = backend.transact(&mut pooled.connection, work).await;
        pooled.give_back(answer)
    }

    /// Waits for the work, at most for the time-out, and maps its errors.
    pub(crate) async fn bounded<T>(
        &self,
        what: impl FnOnce() -> String + Send,
        work: impl Future<Output = Result<T, CallError>> + Send,
    ) -> Result<T, StoreError> {
        self.bounded_by(&self.pool, self.timeout, what, work).await
    }

    async fn bounded_by<T>(
        &self,
        pool: &Pool<S>,
        timeout: Duration,
        what: impl FnOnce() -> String + Send,
        work: impl Future<Output = Result<T, CallError>> + Send,
    ) -> Result<T, StoreError> {
        let began = pool.now();
        let late = || format!("no answer within {timeout:?}");
        let answer = within(timeout, work, late).await;
        answer.map_err(|fault| {
            let error = self.explain(&what(), fault);
            if matches!(error, StoreError::Unavailable { .. }) {
                pool.clear(began);
            }
            error
        })
    }

    /// The server in use, or all of them.
    pub(crate) fn in_use(&self) -> String {
        self.pool.in_use().unwrap_or_else(|| self.location.clone())
    }

    fn explain(&self, what: &str, fault: CallError) -> StoreError {
        let at = self.in_use();
        let message = |reason: &str| format!("cannot {what} at {at}: {reason}");
        let error = match fault {
            CallError::Store(StoreError::Unavailable {
                message: reason,
                source,
            }) => StoreError::Unavailable {
                message: message(&reason),
                source,
            },
            CallError::Store(error) => error,
            CallError::Sql(error) => {
                let message = message(S::Dialect::remedy(&error).unwrap_or(error.meaning()));
                match S::Dialect::is_conflict(&error) {
                    true => StoreError::Conflict {
                        message,
                        source: Box::new(error),
                    },
                    false => failed::<S::Dialect>(message, error),
                }
            }
        };
        self.remedies.reword(error, &at)
    }
}

/// Refuses what does not fit Leaf's columns, the same in every database.
fn check_settings(step: Option<u32>, description: Option<&str>) -> Result<(), CallError> {
    if step.is_some_and(|step| !(1..=TagSettings::STEP_MAX).contains(&step)) {
        return Err(CallError::unsupported(
            "a step is a number from 1 to 2147483647",
        ));
    }
    if description.is_some_and(|text| text.chars().count() > DESCRIPTION_LEN_MAX) {
        return Err(CallError::unsupported(format!(
            "a description has at most {DESCRIPTION_LEN_MAX} characters"
        )));
    }
    Ok(())
}

impl<S: Backend> SegmentStore for SqlStore<S> {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        let what = || {
            format!(
                "reserve {} ids of tag {:?}",
                reserve.count,
                reserve.tag.as_str()
            )
        };
        Box::pin(self.bounded(what, async {
            let mut pooled = self.pool.take_to_reserve().await?;
            let backend = self.pool.backend();
            let answer = backend.reserve(&mut pooled.connection, reserve).await;
            pooled.give_back(answer)
        }))
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        let what = move || match tags {
            [tag] => format!("read tag {:?}", tag.as_str()),
            tags => format!("read {} tags", tags.len()),
        };
        Box::pin(self.bounded(what, async move {
            if tags.is_empty() {
                return Ok(Vec::new());
            }
            self.run(tags::Read(tags.to_vec())).await
        }))
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        let after = after.cloned();
        let list = self.run(tags::List { after, count });
        Box::pin(self.bounded(|| "list tags".into(), list))
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        let what = || format!("create tag {:?}", spec.tag.as_str());
        Box::pin(self.bounded(what, async {
            check_settings(Some(spec.settings.step), spec.description.as_deref())?;
            if let Some(format) = &spec.format {
                TagSpec::check_format(format).map_err(StoreError::from)?;
            }
            self.transact(tags::Create(spec.clone())).await
        }))
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        let what = move || format!("change tag {:?}", tag.as_str());
        Box::pin(self.bounded(what, async move {
            let description = patch.description.as_ref().and_then(Option::as_deref);
            check_settings(patch.step, description)?;
            let (tag, patch) = (tag.clone(), patch.clone());
            self.transact(tags::Update { tag, patch }).await
        }))
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        let what = move || format!("delete tag {:?}", tag.as_str());
        let delete = self.transact(tags::Delete(tag.clone()));
        Box::pin(self.bounded(what, delete))
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(self.bounded(|| "inspect the store".into(), async {
            let mut pooled = self.pool.take().await?;
            let answer = self.pool.backend().inspect(&mut pooled.connection).await;
            let report = pooled.give_back(answer)?;
            Ok(StoreReport {
                location: self.in_use(),
                ..report
            })
        }))
    }

    fn probe(&self) -> StoreResult<'_, String> {
        Box::pin(self.bounded(|| "reserve ids".into(), async {
            let mut pooled = self.pool.take().await?;
            let answer = self.pool.backend().probe(&mut pooled.connection).await;
            pooled.give_back(answer)?;
            Ok(self.in_use())
        }))
    }
}
