//! `SqlLeases`: worker ids leased from any SQL database, over the same pool, time-outs and errors
//! as segments. What is sent to the database is in the folder of each system, in `leases.rs`.

use std::future::Future;

use leafid::WorkerId;
use leafid::store::{
    LeaseKey, LeaseRecord, LeaseStore, LeaseSwap, StoreError, StoreReport, StoreResult,
};
use sqlx::{ColumnIndex, Decode, Row, Type};

use crate::StoreOptions;
use crate::store::{Fault, SqlStore, System};
use crate::url::StoreUrl;

/// In characters, as the columns are declared.
const LAYOUT_LEN_MAX: usize = 255;
const HOLDER_LEN_MAX: usize = 128;
const ADDRESS_LEN_MAX: usize = 255;

/// A database that can lease worker ids. Every call gets a connection of its own.
pub(crate) trait LeaseSystem: System {
    /// Creates the tables of a registry where that is safe; see `tables.rs`.
    fn prepare(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Keeps the layout of a pool, if there is none yet.
    fn keep_layout(
        &self,
        connection: &mut Self::Connection,
        pool: &str,
        layout: &str,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    fn layout(
        &self,
        connection: &mut Self::Connection,
        pool: &str,
    ) -> impl Future<Output = Result<Option<String>, Fault>> + Send;

    fn leases(
        &self,
        connection: &mut Self::Connection,
        pool: &str,
    ) -> impl Future<Output = Result<Vec<LeaseRecord>, Fault>> + Send;

    /// Writes a row that is not there; `false` if it is.
    fn insert(
        &self,
        connection: &mut Self::Connection,
        pool: &str,
        row: &LeaseRow<'_>,
    ) -> impl Future<Output = Result<bool, Fault>> + Send;

    /// Writes a row that is as expected; `false` if it is not.
    fn replace(
        &self,
        connection: &mut Self::Connection,
        pool: &str,
        expected: ExpectedRow,
        row: &LeaseRow<'_>,
    ) -> impl Future<Output = Result<bool, Fault>> + Send;

    /// Milliseconds since 1970-01-01T00:00:00Z; `None` if the clock is that of this machine.
    fn clock_ms(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Option<i64>, Fault>> + Send;
}

/// A row in the numbers of the columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseRow<'a> {
    pub(crate) worker: i64,
    pub(crate) epoch: i64,
    pub(crate) holder: &'a str,
    pub(crate) address: &'a str,
    pub(crate) until_ms: i64,
}

/// What a row must be like, in the numbers of the columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedRow {
    pub(crate) epoch: i64,
    pub(crate) until_ms: i64,
}

impl<'a> LeaseRow<'a> {
    /// Refuses what the columns cannot hold, because a database may cut it off silently.
    fn of(record: &'a LeaseRecord) -> Result<Self, Fault> {
        check_text("holder", &record.holder, HOLDER_LEN_MAX)?;
        check_text("address", &record.address, ADDRESS_LEN_MAX)?;
        Ok(Self {
            worker: i64::from(record.worker.get()),
            epoch: number("epoch", record.epoch)?,
            holder: &record.holder,
            address: &record.address,
            until_ms: number("until_ms", record.until_ms)?,
        })
    }
}

impl ExpectedRow {
    fn of(key: LeaseKey) -> Result<Self, Fault> {
        Ok(Self {
            epoch: number("epoch", key.epoch)?,
            until_ms: number("until_ms", key.until_ms)?,
        })
    }
}

/// One pool of worker ids in a database.
pub(crate) struct SqlLeases<S: LeaseSystem> {
    store: SqlStore<S>,
    pool: String,
}

impl<S: LeaseSystem> SqlLeases<S> {
    pub(crate) fn new(system: S, url: &StoreUrl, pool: &str, options: &StoreOptions) -> Self {
        Self {
            store: SqlStore::new(system, url, options),
            pool: pool.to_owned(),
        }
    }

    /// Connects once, so that what cannot work is known at once.
    #[cfg(feature = "sqlite")]
    pub(crate) async fn warm_up(&self) -> Result<(), StoreError> {
        self.store.warm_up().await
    }

    async fn bound_layout(
        &self,
        connection: &mut S::Connection,
        layout: &str,
    ) -> Result<String, Fault> {
        let system = self.store.pool.system();
        if let Some(kept) = system.layout(connection, &self.pool).await? {
            return Ok(kept);
        }
        system.keep_layout(connection, &self.pool, layout).await?;
        // Of many first calls at once, another one may have won.
        let kept = system.layout(connection, &self.pool).await?;
        kept.ok_or_else(|| {
            Fault::unsupported(format!(
                "the layout of the worker pool {:?} was removed from leafid_pool just now",
                self.pool
            ))
        })
    }
}

impl<S: LeaseSystem> LeaseStore for SqlLeases<S> {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        let what = || format!("bind the worker pool {:?}", self.pool);
        Box::pin(self.store.bounded(what, async move {
            check_text("layout", layout, LAYOUT_LEN_MAX)?;
            let mut loan = self.store.pool.take().await?;
            let prepared = self.store.pool.system().prepare(&mut loan.connection).await;
            let answer = match prepared {
                Ok(()) => self.bound_layout(&mut loan.connection, layout).await,
                Err(fault) => Err(fault),
            };
            loan.settle(answer)
        }))
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        let what = || format!("read the worker pool {:?}", self.pool);
        Box::pin(self.store.bounded(what, async {
            let mut loan = self.store.pool.take().await?;
            let system = self.store.pool.system();
            let answer = system.leases(&mut loan.connection, &self.pool).await;
            loan.settle(answer)
        }))
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        let what = || format!("write the row of worker id {}", swap.record.worker);
        Box::pin(self.store.bounded(what, async {
            let row = LeaseRow::of(&swap.record)?;
            let expected = swap.expected.map(ExpectedRow::of).transpose()?;
            let mut loan = self.store.pool.take().await?;
            let (system, connection) = (self.store.pool.system(), &mut loan.connection);
            let answer = match expected {
                None => system.insert(connection, &self.pool, &row).await,
                Some(expected) => system.replace(connection, &self.pool, expected, &row).await,
            };
            loan.settle(answer)
        }))
    }

    fn report<'a>(&'a self, _record: &'a LeaseRecord, _now_ms: u64) -> StoreResult<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        let what = || "read the clock".into();
        Box::pin(self.store.bounded(what, async {
            let mut loan = self.store.pool.take().await?;
            let answer = self
                .store
                .pool
                .system()
                .clock_ms(&mut loan.connection)
                .await;
            // A clock before 1970 tells nothing.
            Ok(loan.settle(answer)?.and_then(|ms| u64::try_from(ms).ok()))
        }))
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        leafid::store::SegmentStore::inspect(&self.store)
    }
}

/// The columns `worker`, `epoch`, `holder`, `address`, `until_ms` of a row, in that order.
pub(crate) fn record<'r, R>(pool: &str, row: &'r R) -> Result<LeaseRecord, Fault>
where
    R: Row,
    usize: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    String: Decode<'r, R::Database> + Type<R::Database>,
{
    let worker: i64 = row.try_get(0)?;
    let bad = |column: &str, value: i64| {
        Fault::Meaning(StoreError::BadRow {
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

fn number(name: &str, value: u64) -> Result<i64, Fault> {
    i64::try_from(value)
        .map_err(|_| Fault::unsupported(format!("{name} {value} is above 9223372036854775807")))
}

fn check_text(name: &str, text: &str, len_max: usize) -> Result<(), Fault> {
    // PostgreSQL has no place for the character 0.
    if text.chars().count() > len_max || text.contains('\0') {
        return Err(Fault::unsupported(format!(
            "the {name} must have at most {len_max} characters and none that is U+0000"
        )));
    }
    Ok(())
}
