//! `SqlLeases`: leases of worker ids in any SQL database, with the pool, time-outs and errors of
//! segments. Each change is one statement in a transaction of its own.

use leafid::WorkerId;
use leafid::store::{
    LeaseKey, LeaseRecord, LeaseStore, LeaseSwap, StoreError, StoreReport, StoreResult,
    new_identity,
};

use crate::StoreOptions;
use crate::backend::Backend;
use crate::lease_options::place_of;
use crate::schema::Shape;
use crate::sql::{Dialect, InsertError, Row, Value, Work};
use crate::sql_error::CallError;
use crate::store::SqlStore;
use crate::url::StoreUrl;

/// In characters, as the columns are declared.
const LAYOUT_LEN_MAX: usize = 255;
const HOLDER_LEN_MAX: usize = 128;
const ADDRESS_LEN_MAX: usize = 255;

/// Enough for the calls of operators, of which few are made at once, and those of the holder.
const CONNECTIONS_MIN: usize = 6;

/// The row of `leafid_pool` with the identity of the whole database. No pool can have this name.
pub(crate) const IDENTITY: &str = "#identity";

/// A change of one row, which returns `false` if it changed none. A row of a worker id is read back
/// before the change is committed.
pub(crate) enum Change {
    /// Inserts the layout of a pool, unless there is one.
    KeepLayout { pool: String, layout: String },
    /// Updates the row of a worker id, if it is as expected.
    Swap { pool: String, swap: LeaseSwap },
}

impl Work for Change {
    type Answer = bool;

    async fn run<D: Dialect>(self, connection: &mut D, _: Shape) -> Result<bool, CallError> {
        let (sql, values) = self.statement::<D>()?;
        match connection.execute(&sql, &values).await {
            Ok(1) => {}
            Ok(_) => return Ok(false),
            // A row with the key of the new one exists.
            Err(error) if D::insert_error(&error) == InsertError::Exists => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        if let Self::Swap { pool, swap } = self {
            let found = lease_of(connection, &pool, swap.record.worker).await?;
            check_kept(&pool, &swap.record, found.as_ref())?;
        }
        Ok(true)
    }
}

impl Change {
    /// Refuses values that the columns cannot hold, because a database may cut them silently.
    fn statement<D: Dialect>(&self) -> Result<(String, Vec<Value>), CallError> {
        let (pool, swap) = match self {
            Self::KeepLayout { pool, layout } => {
                let insert = "INSERT INTO leafid_pool (pool, layout) VALUES (?, ?)";
                let values = vec![pool.as_str().into(), layout.as_str().into()];
                return Ok((format!("{insert}{}", D::OR_IGNORE), values));
            }
            Self::Swap { pool, swap } => (pool, swap),
        };
        let record = &swap.record;
        check_text("holder", &record.holder, HOLDER_LEN_MAX)?;
        check_text("address", &record.address, ADDRESS_LEN_MAX)?;
        let of_row = [pool.as_str().into(), i64::from(record.worker.get()).into()];
        let new = [
            number("epoch", record.epoch)?,
            record.holder.as_str().into(),
            record.address.as_str().into(),
            number("until_ms", record.until_ms)?,
        ];
        let Some(LeaseKey { epoch, until_ms }) = swap.expected else {
            let insert = "INSERT INTO leafid_worker (pool, worker, epoch, holder, address, \
                until_ms) VALUES (?, ?, ?, ?, ?, ?)";
            let values = of_row.into_iter().chain(new).collect();
            return Ok((format!("{insert}{}", D::OR_IGNORE), values));
        };
        let replace = format!(
            "UPDATE leafid_worker SET epoch = ?, holder = ?, address = ?, until_ms = ?{} \
            WHERE pool = ? AND worker = ? AND epoch = ? AND until_ms = ?",
            D::TOUCH_WORKER
        );
        let expected = [number("epoch", epoch)?, number("until_ms", until_ms)?];
        let values = new.into_iter().chain(of_row).chain(expected);
        Ok((replace, values.collect()))
    }
}

/// Checks that the row of a worker id was stored as it was written; otherwise a server that reads
/// it would find the worker id free while it is held. The change is rolled back.
fn check_kept(
    pool: &str,
    wanted: &LeaseRecord,
    found: Option<&LeaseRecord>,
) -> Result<(), CallError> {
    if found == Some(wanted) {
        return Ok(());
    }
    let message = format!(
        "the row of worker id {} in the worker pool {pool:?} holds {found:?} after {wanted:?} \
        was written: look for a trigger or a rule on leafid_worker, and for the types of its \
        columns; nothing was changed",
        wanted.worker
    );
    Err(StoreError::BadRow { message }.into())
}

/// The value of `leafid_pool` under a name.
struct Layout(String);

impl Work for Layout {
    type Answer = Option<String>;

    async fn run<D: Dialect>(
        self,
        connection: &mut D,
        _: Shape,
    ) -> Result<Option<String>, CallError> {
        let sql = format!("SELECT {} FROM leafid_pool WHERE pool = ?", D::LAYOUT);
        let row = connection.row(&sql, &[self.0.as_str().into()]).await?;
        Ok(row.map(|row| row.text(0)).transpose()?)
    }
}

struct Leases(String);

impl Work for Leases {
    type Answer = Vec<LeaseRecord>;

    async fn run<D: Dialect>(
        self,
        connection: &mut D,
        _: Shape,
    ) -> Result<Vec<LeaseRecord>, CallError> {
        let Self(pool) = self;
        let columns = D::LEASE_COLUMNS;
        let sql = format!("SELECT {columns} FROM leafid_worker WHERE pool = ? ORDER BY worker");
        let rows = connection.rows(&sql, &[pool.as_str().into()]).await?;
        rows.iter().map(|row| record(&pool, row)).collect()
    }
}

struct Lease {
    pool: String,
    worker: WorkerId,
}

impl Work for Lease {
    type Answer = Option<LeaseRecord>;

    async fn run<D: Dialect>(
        self,
        connection: &mut D,
        _: Shape,
    ) -> Result<Option<LeaseRecord>, CallError> {
        lease_of(connection, &self.pool, self.worker).await
    }
}

async fn lease_of<D: Dialect>(
    connection: &mut D,
    pool: &str,
    worker: WorkerId,
) -> Result<Option<LeaseRecord>, CallError> {
    let columns = D::LEASE_COLUMNS;
    let sql = format!("SELECT {columns} FROM leafid_worker WHERE pool = ? AND worker = ?");
    let values = [pool.into(), i64::from(worker.get()).into()];
    let row = connection.row(&sql, &values).await?;
    row.map(|row| record(pool, &row)).transpose()
}

/// A pool of worker ids in a database.
pub(crate) struct SqlLeases<S: Backend> {
    store: SqlStore<S>,
    pool: String,
    location: String,
}

impl<S: Backend> SqlLeases<S> {
    pub(crate) fn new(backend: S, url: &StoreUrl, pool: &str, options: &StoreOptions) -> Self {
        let connections_max = options.connections_max.max(CONNECTIONS_MIN);
        let options = &options.with_connections_max(connections_max);
        Self {
            store: SqlStore::new(backend, url, options),
            pool: pool.to_owned(),
            location: place_of(url, pool),
        }
    }

    /// Connects once, so that permanent errors are reported at once.
    #[cfg(feature = "sqlite")]
    pub(crate) async fn warm_up(&self) -> Result<(), StoreError> {
        self.store.warm_up().await
    }

    /// The value of `leafid_pool` under a name; stores `text`, if there is none yet.
    async fn kept(
        &self,
        connection: &mut S::Connection,
        name: &str,
        text: &str,
    ) -> Result<String, CallError> {
        let backend = self.store.pool.backend();
        if let Some(kept) = backend.run(connection, Layout(name.to_owned())).await? {
            return Ok(kept);
        }
        let keep = Change::KeepLayout {
            pool: name.to_owned(),
            layout: text.to_owned(),
        };
        backend.transact(connection, keep).await?;
        // Of many first calls at once, another one may have won.
        let kept = backend.run(connection, Layout(name.to_owned())).await?;
        kept.ok_or_else(|| {
            CallError::unsupported(format!(
                "the row {name:?} was removed from leafid_pool just now"
            ))
        })
    }

    async fn bound_layout(
        &self,
        connection: &mut S::Connection,
        layout: &str,
    ) -> Result<String, CallError> {
        self.store.pool.backend().prepare(connection).await?;
        self.kept(connection, &self.pool, layout).await
    }

    async fn database_identity(&self, connection: &mut S::Connection) -> Result<String, CallError> {
        let backend = self.store.pool.backend();
        let new = match backend.known_identity() {
            // An emptied registry is still in the same database. Whether it is that one, and not
            // another one behind the same connection, is checked anew.
            Some(known) => {
                backend.recheck(connection).await?;
                known
            }
            None => new_identity(),
        };
        let found = self.kept(connection, IDENTITY, &new).await?;
        backend.check_identity(connection, &found)?;
        Ok(found)
    }
}

impl<S: Backend> LeaseStore for SqlLeases<S> {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        let what = || format!("bind the worker pool {:?}", self.pool);
        Box::pin(self.store.bounded(what, async move {
            check_text("layout", layout, LAYOUT_LEN_MAX)?;
            let mut pooled = self.store.pool.take().await?;
            let answer = self.bound_layout(&mut pooled.connection, layout).await;
            pooled.give_back(answer)
        }))
    }

    fn identity(&self) -> StoreResult<'_, String> {
        let what = || "read the identity of the registry".into();
        Box::pin(self.store.bounded(what, async {
            let mut pooled = self.store.pool.take().await?;
            let answer = self.database_identity(&mut pooled.connection).await;
            Ok(format!("{}/{}", pooled.give_back(answer)?, self.pool))
        }))
    }

    fn location(&self) -> String {
        self.location.clone()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        let what = || format!("read the worker pool {:?}", self.pool);
        let leases = Leases(self.pool.clone());
        Box::pin(self.store.bounded(what, self.store.run(leases)))
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        let what = move || format!("read the row of worker id {worker}");
        let pool = self.pool.clone();
        let row = self.store.look(what, Lease { pool, worker });
        // The holder stops for good, instead of waiting until the row can be read again.
        Box::pin(async move {
            row.await
                .map_err(|error| match self.store.pool.backend().refusal() {
                    Some(message) => StoreError::Unsupported { message },
                    None => error,
                })
        })
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        let what = || format!("write the row of worker id {}", swap.record.worker);
        let change = Change::Swap {
            pool: self.pool.clone(),
            swap: swap.clone(),
        };
        Box::pin(self.store.bounded(what, self.store.transact(change)))
    }

    fn report<'a>(&'a self, _record: &'a LeaseRecord, _now_ms: u64) -> StoreResult<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        let what = || "read the clock".into();
        Box::pin(self.store.bounded(what, async {
            let mut pooled = self.store.pool.take().await?;
            let backend = self.store.pool.backend();
            let answer = backend.clock_ms(&mut pooled.connection).await;
            // A clock before 1970 is useless.
            let now_ms = pooled.give_back(answer)?;
            Ok(now_ms.and_then(|ms| u64::try_from(ms).ok()))
        }))
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        leafid::store::SegmentStore::inspect(&self.store)
    }
}

/// A row with the columns of [`Dialect::LEASE_COLUMNS`].
fn record(pool: &str, row: &impl Row) -> Result<LeaseRecord, CallError> {
    let worker = row.number(0)?;
    let bad = |column: &str, value: i64| {
        CallError::Store(StoreError::BadRow {
            message: format!(
                "the row of worker id {worker} in the worker pool {pool:?} has {column} {value}: \
                 correct it in leafid_worker"
            ),
        })
    };
    let count = |index: usize, column: &str| {
        let value = row.number(index)?;
        u64::try_from(value).map_err(|_| bad(column, value))
    };
    Ok(LeaseRecord {
        worker: WorkerId::new(u32::try_from(worker).map_err(|_| bad("worker", worker))?),
        epoch: count(1, "epoch")?,
        holder: row.text(2)?,
        address: row.text(3)?,
        until_ms: count(4, "until_ms")?,
    })
}

fn number(name: &str, value: u64) -> Result<Value, CallError> {
    let number = i64::try_from(value).map_err(|_| {
        CallError::unsupported(format!("{name} {value} is above 9223372036854775807"))
    })?;
    Ok(number.into())
}

fn check_text(name: &str, text: &str, len_max: usize) -> Result<(), CallError> {
    // PostgreSQL cannot store the character 0.
    if text.chars().count() > len_max || text.contains('\0') {
        return Err(CallError::unsupported(format!(
            "the {name} must have at most {len_max} characters and none that is U+0000"
        )));
    }
    Ok(())
}
