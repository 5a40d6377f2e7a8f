//! `SqlLeases`: worker ids leased from any SQL database, over the same pool, time-outs and errors
//! as segments. What is sent to the database is in the folder of each system, in `leases.rs`.

use std::future::Future;

use leafid::WorkerId;
use leafid::store::{
    LeaseKey, LeaseRecord, LeaseStore, LeaseSwap, StoreError, StoreReport, StoreResult,
    new_identity,
};
use sqlx::query::Query;
use sqlx::{ColumnIndex, Database, Decode, Encode, Row, Type};

use crate::StoreOptions;
use crate::lease_options::place_of;
use crate::store::{Backend, CallError, SqlStore};
use crate::url::StoreUrl;

/// In characters, as the columns are declared.
const LAYOUT_LEN_MAX: usize = 255;
const HOLDER_LEN_MAX: usize = 128;
const ADDRESS_LEN_MAX: usize = 255;

/// The row of `leafid_pool` with the identity of the whole database. No pool can have this name.
pub(crate) const IDENTITY: &str = "#identity";

/// A database that can lease worker ids. Every call gets a connection of its own.
pub(crate) trait LeaseBackend: Backend {
    const SQL: LeaseSql;

    /// What told the database from others when a connection was last made to it.
    fn known_identity(&self) -> Option<String> {
        None
    }

    /// Refuses a database that is another one than before.
    fn check_identity(&self, _: &Self::Connection, _found: &str) -> Result<(), CallError> {
        Ok(())
    }

    /// Creates the tables of a registry where that is safe; see `tables.rs`.
    fn prepare(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Carries out a statement that changes one row; `false` if it changed none, be it because a
    /// new row is there already. A row of a worker id is read back before the change is committed,
    /// see [`Statement::check_kept`].
    fn change(
        &self,
        connection: &mut Self::Connection,
        statement: &Statement<'_>,
    ) -> impl Future<Output = Result<bool, CallError>> + Send;

    fn layout(
        &self,
        connection: &mut Self::Connection,
        pool: &str,
    ) -> impl Future<Output = Result<Option<String>, CallError>> + Send;

    fn leases(
        &self,
        connection: &mut Self::Connection,
        pool: &str,
    ) -> impl Future<Output = Result<Vec<LeaseRecord>, CallError>> + Send;

    fn lease(
        &self,
        connection: &mut Self::Connection,
        pool: &str,
        worker: i64,
    ) -> impl Future<Output = Result<Option<LeaseRecord>, CallError>> + Send;

    /// Milliseconds since 1970-01-01T00:00:00Z; `None` if the clock is that of this machine.
    fn clock_ms(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Option<i64>, CallError>> + Send;
}

/// The statements that change a row, each with what its placeholders stand for, in their order.
pub(crate) struct LeaseSql {
    /// The layout of a pool, unless there is one: `pool`, `layout`.
    pub(crate) keep_layout: &'static str,
    /// A row, unless it is there: `pool`, `worker`, `epoch`, `holder`, `address`, `until_ms`.
    pub(crate) insert: &'static str,
    /// A row, if it is as expected: the new `epoch`, `holder`, `address`, `until_ms`; `pool`,
    /// `worker`; the expected `epoch`, `until_ms`.
    pub(crate) replace: &'static str,
}

/// A statement, and the values of its placeholders.
pub(crate) struct Statement<'a> {
    sql: &'static str,
    values: Vec<Value<'a>>,
    /// The row of a worker id that is written.
    row: Option<(&'a str, &'a LeaseRecord)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Number(i64),
    Text(&'a str),
}

impl<'a> Statement<'a> {
    pub(crate) const fn new(sql: &'static str, values: Vec<Value<'a>>) -> Self {
        Self {
            sql,
            values,
            row: None,
        }
    }

    pub(crate) fn keep_layout(sql: &LeaseSql, pool: &'a str, layout: &'a str) -> Self {
        Self {
            sql: sql.keep_layout,
            values: [pool, layout].map(Value::Text).into(),
            row: None,
        }
    }

    /// Refuses what the columns cannot hold, because a database may cut it off silently.
    fn swap(sql: &LeaseSql, pool: &'a str, swap: &'a LeaseSwap) -> Result<Self, CallError> {
        let record = &swap.record;
        check_text("holder", &record.holder, HOLDER_LEN_MAX)?;
        check_text("address", &record.address, ADDRESS_LEN_MAX)?;
        let of_row = [
            Value::Text(pool),
            Value::Number(i64::from(record.worker.get())),
        ];
        let new = [
            number("epoch", record.epoch)?,
            Value::Text(&record.holder),
            Value::Text(&record.address),
            number("until_ms", record.until_ms)?,
        ];
        let row = Some((pool, record));
        let Some(LeaseKey { epoch, until_ms }) = swap.expected else {
            return Ok(Self {
                sql: sql.insert,
                values: [&of_row[..], &new].concat(),
                row,
            });
        };
        let expected = [number("epoch", epoch)?, number("until_ms", until_ms)?];
        Ok(Self {
            sql: sql.replace,
            values: [&new[..], &of_row, &expected].concat(),
            row,
        })
    }

    /// Of which row of a worker id it is: the pool, and the number.
    pub(crate) fn row(&self) -> Option<(&'a str, i64)> {
        let (pool, record) = self.row?;
        Some((pool, i64::from(record.worker.get())))
    }

    /// Checks that the row of a worker id is kept as it was written. Where it is not, who reads it
    /// would find the worker id free while it is held: the change is taken back.
    pub(crate) fn check_kept(&self, found: Option<&LeaseRecord>) -> Result<(), CallError> {
        let Some((pool, wanted)) = self.row.filter(|(_, wanted)| found != Some(*wanted)) else {
            return Ok(());
        };
        let message = format!(
            "the row of worker id {} in the worker pool {pool:?} holds {found:?} after {wanted:?} \
            was written: look for a trigger or a rule on leafid_worker, and for the types of its \
            columns; nothing was changed",
            wanted.worker
        );
        Err(StoreError::BadRow { message }.into())
    }

    /// As the driver of a database wants it.
    pub(crate) fn query<'q, D>(&'q self) -> Query<'q, D, D::Arguments>
    where
        D: Database,
        i64: Encode<'q, D> + Type<D>,
        &'q str: Encode<'q, D> + Type<D>,
    {
        let query = sqlx::query(self.sql);
        self.values.iter().fold(query, |query, value| match *value {
            Value::Number(number) => query.bind(number),
            Value::Text(text) => query.bind(text),
        })
    }
}

/// One pool of worker ids in a database.
pub(crate) struct SqlLeases<S: LeaseBackend> {
    store: SqlStore<S>,
    pool: String,
    location: String,
}

impl<S: LeaseBackend> SqlLeases<S> {
    pub(crate) fn new(backend: S, url: &StoreUrl, pool: &str, options: &StoreOptions) -> Self {
        Self {
            store: SqlStore::new(backend, url, options),
            pool: pool.to_owned(),
            location: place_of(url, pool),
        }
    }

    /// Connects once, so that what cannot work is known at once.
    #[cfg(feature = "sqlite")]
    pub(crate) async fn warm_up(&self) -> Result<(), StoreError> {
        self.store.warm_up().await
    }

    /// What `leafid_pool` keeps under a name; `text`, if it keeps nothing yet.
    async fn kept(
        &self,
        connection: &mut S::Connection,
        name: &str,
        text: &str,
    ) -> Result<String, CallError> {
        let backend = self.store.pool.backend();
        if let Some(kept) = backend.layout(connection, name).await? {
            return Ok(kept);
        }
        let statement = Statement::keep_layout(&S::SQL, name, text);
        backend.change(connection, &statement).await?;
        // Of many first calls at once, another one may have won.
        let kept = backend.layout(connection, name).await?;
        kept.ok_or_else(|| {
            CallError::unsupported(format!(
                "the row {name:?} was removed from leafid_pool just now"
            ))
        })
    }
}

impl<S: LeaseBackend> LeaseStore for SqlLeases<S> {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        let what = || format!("bind the worker pool {:?}", self.pool);
        Box::pin(self.store.bounded(what, async move {
            check_text("layout", layout, LAYOUT_LEN_MAX)?;
            let mut pooled = self.store.pool.take().await?;
            let prepared = self
                .store
                .pool
                .backend()
                .prepare(&mut pooled.connection)
                .await;
            let answer = match prepared {
                Ok(()) => self.kept(&mut pooled.connection, &self.pool, layout).await,
                Err(fault) => Err(fault),
            };
            pooled.give_back(answer)
        }))
    }

    fn identity(&self) -> StoreResult<'_, String> {
        let what = || "read the identity of the registry".into();
        Box::pin(self.store.bounded(what, async {
            let mut pooled = self.store.pool.take().await?;
            let backend = self.store.pool.backend();
            let new = match backend.known_identity() {
                // In a registry that was emptied the database is still the one that it was. Whether
                // it is that, and no other one behind the same connection, is looked at anew.
                Some(known) => {
                    backend.recheck(&mut pooled.connection).await?;
                    known
                }
                None => new_identity(),
            };
            let answer = self.kept(&mut pooled.connection, IDENTITY, &new).await;
            let answer = answer.and_then(|found| {
                backend.check_identity(&pooled.connection, &found)?;
                Ok(found)
            });
            Ok(format!("{}/{}", pooled.give_back(answer)?, self.pool))
        }))
    }

    fn location(&self) -> String {
        self.location.clone()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        let what = || format!("read the worker pool {:?}", self.pool);
        Box::pin(self.store.bounded(what, async {
            let mut pooled = self.store.pool.take().await?;
            let backend = self.store.pool.backend();
            let answer = backend.leases(&mut pooled.connection, &self.pool).await;
            pooled.give_back(answer)
        }))
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        let what = move || format!("read the row of worker id {worker}");
        let backend = self.store.pool.backend();
        let row = self.store.bounded(what, async move {
            let mut pooled = self.store.pool.take().await?;
            let number = i64::from(worker.get());
            let answer = backend
                .lease(&mut pooled.connection, &self.pool, number)
                .await;
            pooled.give_back(answer)
        });
        // The holder stops for good, instead of waiting until the row can be read again.
        Box::pin(async move {
            row.await.map_err(|error| match backend.refusal() {
                Some(message) => StoreError::Unsupported { message },
                None => error,
            })
        })
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        let what = || format!("write the row of worker id {}", swap.record.worker);
        Box::pin(self.store.bounded(what, async {
            let statement = Statement::swap(&S::SQL, &self.pool, swap)?;
            let mut pooled = self.store.pool.take().await?;
            let backend = self.store.pool.backend();
            let answer = backend.change(&mut pooled.connection, &statement).await;
            pooled.give_back(answer)
        }))
    }

    fn report<'a>(&'a self, _record: &'a LeaseRecord, _now_ms: u64) -> StoreResult<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        let what = || "read the clock".into();
        Box::pin(self.store.bounded(what, async {
            let mut pooled = self.store.pool.take().await?;
            let answer = self
                .store
                .pool
                .backend()
                .clock_ms(&mut pooled.connection)
                .await;
            // A clock before 1970 tells nothing.
            Ok(pooled
                .give_back(answer)?
                .and_then(|ms| u64::try_from(ms).ok()))
        }))
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        leafid::store::SegmentStore::inspect(&self.store)
    }
}

/// The columns `worker`, `epoch`, `holder`, `address`, `until_ms` of a row, in that order.
pub(crate) fn record<'r, R>(pool: &str, row: &'r R) -> Result<LeaseRecord, CallError>
where
    R: Row,
    usize: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    String: Decode<'r, R::Database> + Type<R::Database>,
{
    let worker: i64 = row.try_get(0)?;
    let bad = |column: &str, value: i64| {
        CallError::Store(StoreError::BadRow {
            message: format!(
                "the row of worker id {worker} in the worker pool {pool:?} has {column} {value}: put it right in leafid_worker"
            ),
        })
    };
    let count = |index: usize, column: &str| {
        let value: i64 = row.try_get(index)?;
        u64::try_from(value).map_err(|_| bad(column, value))
    };
    Ok(LeaseRecord {
        worker: WorkerId::new(u32::try_from(worker).map_err(|_| bad("worker", worker))?),
        epoch: count(1, "epoch")?,
        holder: row.try_get(2)?,
        address: row.try_get(3)?,
        until_ms: count(4, "until_ms")?,
    })
}

fn number(name: &str, value: u64) -> Result<Value<'static>, CallError> {
    i64::try_from(value)
        .map(Value::Number)
        .map_err(|_| CallError::unsupported(format!("{name} {value} is above 9223372036854775807")))
}

fn check_text(name: &str, text: &str, len_max: usize) -> Result<(), CallError> {
    // PostgreSQL has no place for the character 0.
    if text.chars().count() > len_max || text.contains('\0') {
        return Err(CallError::unsupported(format!(
            "the {name} must have at most {len_max} characters and none that is U+0000"
        )));
    }
    Ok(())
}
