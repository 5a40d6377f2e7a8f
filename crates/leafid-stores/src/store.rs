//! `SqlStore`: the contract on top of any SQL database: connections, time-outs and errors in one
//! place. What is sent to the database is in `sqlite.rs`, `mysql.rs` and `postgres.rs`.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use leafid::Tag;
use leafid::store::{
    BoxFuture, Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagPatch,
    TagRecord, TagSettings, TagSpec,
};

use crate::pool::Pool;
use crate::url::StoreUrl;
use crate::{InitReport, StoreOptions};

/// One kind of database. Every call gets a connection of its own.
pub(crate) trait Backend: Send + Sync + 'static {
    type Connection: Send + 'static;

    /// The most connections that help.
    const CONNECTIONS_MAX: usize;

    /// Connects to the first server that can be used.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, StoreError>> + Send;

    /// The server that a connection goes to, as people may see it; `None` where there is only one.
    fn server(connection: &Self::Connection) -> Option<&str>;

    fn is_alive(&self, connection: &mut Self::Connection) -> impl Future<Output = bool> + Send;

    /// Why this process may not use the store any more, whatever it answers later.
    fn refusal(&self) -> Option<String>;

    /// Looks again whether the connection's server can be trusted.
    fn recheck(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    fn reserve(
        &self,
        connection: &mut Self::Connection,
        reserve: &Reserve,
    ) -> impl Future<Output = Result<Reserved, CallError>> + Send;

    fn read(
        &self,
        connection: &mut Self::Connection,
        tags: &[Tag],
    ) -> impl Future<Output = Result<Vec<TagRecord>, CallError>> + Send;

    fn list(
        &self,
        connection: &mut Self::Connection,
        after: Option<&Tag>,
        count: u32,
    ) -> impl Future<Output = Result<Vec<TagRecord>, CallError>> + Send;

    fn create(
        &self,
        connection: &mut Self::Connection,
        spec: &TagSpec,
    ) -> impl Future<Output = Result<TagRecord, CallError>> + Send;

    fn update(
        &self,
        connection: &mut Self::Connection,
        tag: &Tag,
        patch: &TagPatch,
    ) -> impl Future<Output = Result<TagRecord, CallError>> + Send;

    fn delete(
        &self,
        connection: &mut Self::Connection,
        tag: &Tag,
    ) -> impl Future<Output = Result<(), CallError>> + Send;

    /// What the store is; its location is filled in by the caller.
    fn inspect(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<StoreReport, CallError>> + Send;

    /// Creates the tables that are missing.
    fn init(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<InitReport, CallError>> + Send;

    /// Whether rows may be written now: a statement that changes none, and that the database
    /// refuses where it would refuse a reservation.
    fn probe(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Whether an error says that another transaction was in the way and nothing was changed.
    fn is_conflict(error: &sqlx::Error) -> bool;

    /// Whether an error says that the database has no connection left for us.
    fn is_full(error: &sqlx::Error) -> bool;

    /// What an error of this database means and what to do, where it is known.
    fn remedy(error: &sqlx::Error) -> Option<&'static str>;
}

/// What went wrong within a call: a meaning, or an error of the database that still needs one.
#[derive(Debug)]
pub(crate) enum CallError {
    Store(StoreError),
    Sql(sqlx::Error),
}

impl From<StoreError> for CallError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<sqlx::Error> for CallError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl CallError {
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::Store(StoreError::Unsupported {
            message: message.into(),
        })
    }

    /// For what needs our own table, when it is not there.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(crate) fn no_own_table(what: &str) -> Self {
        Self::unsupported(format!(
            "cannot {what} without the table leafid_tag: run `leafid store init`"
        ))
    }
}

/// Changes no row of `leaf_alloc`, and asks for all that a reservation needs: the table, the right
/// to write it, a server that is no replica and, with Galera, one that has its majority.
pub(crate) const PROBE_SQL: &str = "UPDATE leaf_alloc SET max_id = max_id WHERE 1 = 0";
/// How hints name the command that creates the tables; the store's URL is put in.
const INIT: &str = "`leafid store init`";

/// In characters, as Leaf's column is declared.
const DESCRIPTION_LEN_MAX: usize = 256;

pub(crate) struct SqlStore<S: Backend> {
    pub(crate) pool: Arc<Pool<S>>,
    location: String,
    timeout: Duration,
}

impl<S: Backend> SqlStore<S> {
    pub(crate) fn new(backend: S, url: &StoreUrl, options: &StoreOptions) -> Self {
        let connections_max = options.connections_max.clamp(1, S::CONNECTIONS_MAX);
        Self {
            pool: Arc::new(Pool::new(
                backend,
                connections_max,
                options.connection_age_max,
            )),
            location: url.to_string(),
            timeout: options.statement_timeout,
        }
    }

    /// Connects once, so that what cannot work is known at once.
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

    /// Waits for the work, but not longer than the time-out, and gives its faults a meaning. In a
    /// box, so that there is one time-out in the program and not one for each call.
    pub(crate) async fn bounded<T>(
        &self,
        what: impl FnOnce() -> String + Send,
        work: impl Future<Output = Result<T, CallError>> + Send,
    ) -> Result<T, StoreError> {
        let began = self.pool.now();
        let work: BoxFuture<'_, Result<T, CallError>> = Box::pin(work);
        let answer = match tokio::time::timeout(self.timeout, work).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(CallError::Store(StoreError::unavailable(
                format!("no answer within {:?}", self.timeout),
                elapsed,
            ))),
        };
        answer.map_err(|fault| {
            let error = self.explain(&what(), fault);
            if matches!(error, StoreError::Unavailable { .. }) {
                self.pool.clear(began);
            }
            error
        })
    }

    /// The server in use, or all that there are.
    fn in_use(&self) -> String {
        self.pool.in_use().unwrap_or_else(|| self.location.clone())
    }

    fn explain(&self, what: &str, fault: CallError) -> StoreError {
        let message = |reason: &str| {
            let at = self.in_use();
            let reason = reason.replace(INIT, &format!("`leafid store init --store {at}`"));
            format!("cannot {what} at {at}: {reason}")
        };
        match fault {
            CallError::Store(StoreError::Unavailable {
                message: reason,
                source,
            }) => StoreError::Unavailable {
                message: message(&reason),
                source,
            },
            CallError::Store(error) => error,
            CallError::Sql(error) if S::is_conflict(&error) => StoreError::Conflict {
                message: message(S::remedy(&error).unwrap_or(plain(&error))),
                source: Box::new(error),
            },
            CallError::Sql(error) => {
                StoreError::unavailable(message(S::remedy(&error).unwrap_or(plain(&error))), error)
            }
        }
    }
}

/// What calls get of a store that this process may not use any more.
pub(crate) fn refused(reason: &str) -> StoreError {
    StoreError::unavailable(
        format!("{reason}; then start this program again"),
        "nothing more is reserved from it by this process",
    )
}

/// Refuses what does not fit Leaf's columns, alike in every database.
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

/// What an error of the driver itself means, alike for every database.
pub(crate) fn plain(error: &sqlx::Error) -> &'static str {
    match error {
        sqlx::Error::Database(_) => "the database refused",
        sqlx::Error::Io(_) => {
            "the connection failed; whether the statement was carried out is unknown"
        }
        sqlx::Error::Tls(_) => "TLS failed: look at ssl-mode and the certificates",
        sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::Decode(_) => "a column is missing or of another type than Leaf's",
        _ => "the driver failed",
    }
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
            let answer = self
                .pool
                .backend()
                .reserve(&mut pooled.connection, reserve)
                .await;
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
            let mut pooled = self.pool.take().await?;
            let answer = self.pool.backend().read(&mut pooled.connection, tags).await;
            pooled.give_back(answer)
        }))
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        Box::pin(self.bounded(|| "list tags".into(), async move {
            let mut pooled = self.pool.take().await?;
            let answer = self
                .pool
                .backend()
                .list(&mut pooled.connection, after, count)
                .await;
            pooled.give_back(answer)
        }))
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        let what = || format!("create tag {:?}", spec.tag.as_str());
        Box::pin(self.bounded(what, async {
            check_settings(Some(spec.settings.step), spec.description.as_deref())?;
            let mut pooled = self.pool.take().await?;
            let answer = self
                .pool
                .backend()
                .create(&mut pooled.connection, spec)
                .await;
            pooled.give_back(answer)
        }))
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        Box::pin(self.bounded(
            move || format!("change tag {:?}", tag.as_str()),
            async move {
                let description = patch.description.as_ref().and_then(Option::as_deref);
                check_settings(patch.step, description)?;
                let mut pooled = self.pool.take().await?;
                let answer = self
                    .pool
                    .backend()
                    .update(&mut pooled.connection, tag, patch)
                    .await;
                pooled.give_back(answer)
            },
        ))
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        Box::pin(self.bounded(
            move || format!("delete tag {:?}", tag.as_str()),
            async move {
                let mut pooled = self.pool.take().await?;
                let answer = self
                    .pool
                    .backend()
                    .delete(&mut pooled.connection, tag)
                    .await;
                pooled.give_back(answer)
            },
        ))
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
