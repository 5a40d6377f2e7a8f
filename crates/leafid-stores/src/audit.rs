//! `AuditStore`: who changed what, kept in the table `leafid_audit` beside the tags. What is sent
//! to each database is one text of SQL, over the same pool, time-outs and errors as segments.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use leafid::Escaped;
use leafid::store::{StoreError, StoreResult, TagKind, TagRecord};
use sqlx::{ColumnIndex, Database, Decode, Row, Type};

use crate::leases::{LeaseBackend, Statement, Value};
use crate::store::{CallError, SqlStore};
use crate::url::{Place, StoreUrl};
use crate::{StoreOptions, leases_only};

/// Rows that the table keeps: the oldest go.
const ROWS_MAX: i64 = 10_000;
/// After so many new rows of one process the oldest are taken away.
const TRIM_EVERY: u32 = 64;

// In characters, as the columns are declared.
const SERVER_LEN_MAX: usize = 255;
const TOKEN_LEN_MAX: usize = 128;
const ADDRESS_LEN_MAX: usize = 255;
const ACTION_LEN_MAX: usize = 64;
const SUBJECT_LEN_MAX: usize = 255;
const VALUE_LEN_MAX: usize = 1024;

/// One change that was made. Texts that do not fit the table are cut; an empty one is not known.
///
/// # Example
///
/// See [`open_audit`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditRecord {
    /// When, in milliseconds since 1970-01-01T00:00:00Z, by the clock of the machine that made it.
    pub at_ms: u64,
    /// Which server made it; empty for a command that works on the store directly.
    pub server: String,
    /// The name of the token that was shown.
    pub token: String,
    /// Where the connection came from, as IP address and port.
    pub address: String,
    /// What was done, in a few words.
    pub action: String,
    /// To what: the name of a tag or a token, a worker id.
    pub subject: String,
    /// How it was; empty if it was not there.
    pub before: String,
    /// How it is now; empty if it is not there any more.
    pub after: String,
}

impl AuditRecord {
    /// The settings of a tag as `before` and `after` show them.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::Tag;
    /// use leafid::store::{TagRecord, TagSettings};
    /// use leafid_stores::AuditRecord;
    ///
    /// let record = TagRecord {
    ///     tag: Tag::new("order")?,
    ///     max_id: 1001,
    ///     settings: TagSettings::default(),
    ///     description: Some("of the shop".into()),
    ///     updated_ms: None,
    ///     segment_max: None,
    /// };
    /// let text = "max_id=1001 step=1000 policy=default limit=int64 description=\"of the shop\"";
    /// assert_eq!(AuditRecord::of_tag(&record), text);
    /// # Ok::<(), leafid::TagError>(())
    /// ```
    #[must_use]
    pub fn of_tag(record: &TagRecord) -> String {
        let settings = &record.settings;
        let mut text = match settings.kind {
            TagKind::Snowflake => "kind=snowflake".to_owned(),
            TagKind::Segment => format!(
                "max_id={} step={} policy={} limit={}",
                record.max_id,
                settings.step,
                settings.policy.map_or("default", |policy| policy.name()),
                settings.limit
            ),
        };
        if let Some(description) = &record.description {
            text.push_str(&format!(
                " description={:?}",
                Escaped(description).to_string()
            ));
        }
        text
    }
}

/// Where changes are recorded.
///
/// # Example
///
/// See [`open_audit`].
pub trait AuditStore: Send + Sync {
    /// Adds a record; old ones go when there are more than 10,000.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unsupported`] when the table is missing or may not be used, others as every
    /// call to a store.
    fn append<'a>(&'a self, record: &'a AuditRecord) -> StoreResult<'a, ()>;

    /// The last `count` records, the newest first.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    fn recent(&self, count: u32) -> StoreResult<'_, Vec<AuditRecord>>;
}

/// Opens the record of changes of a store. No server is contacted, and no file opened, before the
/// first call.
///
/// # Errors
///
/// [`StoreError::Unsupported`] for what is a registry of worker ids only.
///
/// # Example
///
/// ```
/// use leafid_stores::{AuditRecord, StoreOptions, open_audit};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let text = format!("sqlite:{}/leafid.db", folder.path().display());
/// let audit = open_audit(&text.parse()?, &StoreOptions::default())?;
/// let record = AuditRecord { action: "tag deleted".into(), ..AuditRecord::default() };
/// audit.append(&record).await?;
/// assert_eq!(audit.recent(10).await?, [record]);
/// # Ok(()) })
/// # }
/// ```
pub fn open_audit(
    url: &StoreUrl,
    options: &StoreOptions,
) -> Result<Arc<dyn AuditStore>, StoreError> {
    // Changes are rare.
    let connections_max = 1;
    let options = &StoreOptions {
        connections_max,
        ..*options
    };
    Ok(match url.place() {
        #[cfg(feature = "sqlite")]
        Place::Sqlite(path) => Arc::new(SqlAudit::new(
            crate::sqlite::Sqlite::new(path, options),
            url,
            options,
        )),
        #[cfg(feature = "mysql")]
        Place::Mysql(servers) => Arc::new(SqlAudit::new(
            crate::mysql::Mysql::new(servers, options),
            url,
            options,
        )),
        #[cfg(feature = "postgres")]
        Place::Postgres(servers) => {
            let backend = crate::postgres::Postgres::new(servers, options);
            Arc::new(SqlAudit::new(backend, url, options))
        }
        #[cfg(feature = "redis")]
        Place::Redis(_) => return Err(leases_only("redis")),
        #[cfg(feature = "etcd")]
        Place::Etcd(_) => return Err(leases_only("etcd")),
        #[cfg(feature = "zookeeper")]
        Place::ZooKeeper(_) => return Err(leases_only("zookeeper")),
    })
}

/// A database that can keep the table.
pub(crate) trait AuditBackend: LeaseBackend {
    const SQL: AuditSql;

    /// The newest rows: what `Self::SQL.recent` answers for a count.
    fn recent(
        &self,
        connection: &mut Self::Connection,
        count: i64,
    ) -> impl Future<Output = Result<Vec<AuditRecord>, CallError>> + Send;

    /// Whether an error says that the table is not there, or that the user has no right to it: a user
    /// whose rights are on other tables only is told no more about one that is missing.
    fn is_missing(error: &sqlx::Error) -> bool;
}

/// The statements, each with its placeholders.
pub(crate) struct AuditSql {
    /// A new row, with the fields of a record in their order.
    pub(crate) append: &'static str,
    /// Takes away all but so many of the newest rows.
    pub(crate) trim: &'static str,
    /// So many of the newest rows, with the columns in the order of the fields.
    pub(crate) recent: &'static str,
}

struct SqlAudit<S: AuditBackend> {
    store: SqlStore<S>,
    /// Rows that this process wrote.
    written: AtomicU32,
}

impl<S: AuditBackend> SqlAudit<S> {
    fn new(backend: S, url: &StoreUrl, options: &StoreOptions) -> Self {
        Self {
            store: SqlStore::new(backend, url, options),
            written: AtomicU32::new(0),
        }
    }

    async fn write(&self, record: &AuditRecord) -> Result<(), CallError> {
        let pool = &self.store.pool;
        let texts = Texts::of(record);
        let append = Statement::new(<S as AuditBackend>::SQL.append, texts.values(record.at_ms));
        let mut pooled = pool.take().await?;
        let mut answer = pool.backend().change(&mut pooled.connection, &append).await;
        // Relaxed: it counts, and orders nothing.
        let written = self.written.fetch_add(1, Ordering::Relaxed);
        if answer.is_ok() && written.is_multiple_of(TRIM_EVERY) {
            let rows = vec![Value::Number(ROWS_MAX)];
            let trim = Statement::new(<S as AuditBackend>::SQL.trim, rows);
            answer = pool.backend().change(&mut pooled.connection, &trim).await;
        }
        pooled.give_back(answer).map(drop).map_err(missing::<S>)
    }
}

impl<S: AuditBackend> AuditStore for SqlAudit<S> {
    fn append<'a>(&'a self, record: &'a AuditRecord) -> StoreResult<'a, ()> {
        let what = || "record a change".into();
        Box::pin(self.store.bounded(what, self.write(record)))
    }

    fn recent(&self, count: u32) -> StoreResult<'_, Vec<AuditRecord>> {
        let what = || "read the recorded changes".into();
        Box::pin(self.store.bounded(what, async move {
            let pool = &self.store.pool;
            let mut pooled = pool.take().await?;
            let answer = AuditBackend::recent(pool.backend(), &mut pooled.connection, count.into());
            let answer = answer.await;
            pooled.give_back(answer).map_err(missing::<S>)
        }))
    }
}

fn missing<S: AuditBackend>(fault: CallError) -> CallError {
    match fault {
        CallError::Sql(error) if S::is_missing(&error) => CallError::unsupported(
            "the table leafid_audit is missing, or the user has no right to it: run `leafid store \
            init`, and grant SELECT, INSERT and DELETE on it",
        ),
        fault => fault,
    }
}

/// The texts of a record, as they fit the columns.
struct Texts([String; 7]);

impl Texts {
    fn of(record: &AuditRecord) -> Self {
        // PostgreSQL has no place for the character 0.
        let fit = |text: &str, len_max: usize| {
            let chars = text.chars().filter(|c| *c != '\0');
            chars.take(len_max).collect::<String>()
        };
        Self([
            fit(&record.server, SERVER_LEN_MAX),
            fit(&record.token, TOKEN_LEN_MAX),
            fit(&record.address, ADDRESS_LEN_MAX),
            fit(&record.action, ACTION_LEN_MAX),
            fit(&record.subject, SUBJECT_LEN_MAX),
            fit(&record.before, VALUE_LEN_MAX),
            fit(&record.after, VALUE_LEN_MAX),
        ])
    }

    fn values(&self, at_ms: u64) -> Vec<Value<'_>> {
        let at_ms = i64::try_from(at_ms).unwrap_or(i64::MAX);
        let texts = self.0.iter().map(|text| Value::Text(text));
        std::iter::once(Value::Number(at_ms)).chain(texts).collect()
    }
}

/// A row, with the columns in the order of the fields.
pub(crate) fn record<'r, R>(row: &'r R) -> Result<AuditRecord, CallError>
where
    R: Row,
    usize: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    String: Decode<'r, R::Database> + Type<R::Database>,
    R::Database: Database,
{
    let at_ms: i64 = row.try_get(0)?;
    Ok(AuditRecord {
        at_ms: u64::try_from(at_ms).unwrap_or(0),
        server: row.try_get(1)?,
        token: row.try_get(2)?,
        address: row.try_get(3)?,
        action: row.try_get(4)?,
        subject: row.try_get(5)?,
        before: row.try_get(6)?,
        after: row.try_get(7)?,
    })
}
