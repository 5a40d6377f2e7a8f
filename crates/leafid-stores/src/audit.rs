//! `AuditStore`: the audit log: who changed what, in the table `leafid_audit` beside the tags, with
//! the pool, time-outs and errors of segments.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use leafid::Escaped;
use leafid::store::{StoreError, StoreResult, TagKind, TagRecord};

use crate::StoreOptions;
use crate::backend::Backend;
use crate::schema::Shape;
#[cfg(feature = "_sqlx")]
use crate::servers::Servers;
use crate::sql::{Dialect, Row, Value, Work};
use crate::sql_error::{CallError, SqlError};
use crate::store::SqlStore;
use crate::url::{Place, StoreUrl};

/// The maximum number of rows in the table: the oldest are deleted.
const ROWS_MAX: i64 = 10_000;
/// After this many new rows of one process the oldest are deleted.
const TRIM_EVERY: u32 = 64;

// In characters, as the columns are declared.
const SERVER_LEN_MAX: usize = 255;
const TOKEN_LEN_MAX: usize = 128;
const ADDRESS_LEN_MAX: usize = 255;
const ACTION_LEN_MAX: usize = 64;
const SUBJECT_LEN_MAX: usize = 255;
const VALUE_LEN_MAX: usize = 1024;

/// A recorded change. Texts that are too long for the table are cut; an empty one is unknown.
///
/// # Example
///
/// See [`open_audit`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditRecord {
    /// When, in milliseconds since 1970-01-01T00:00:00Z, by the clock of the server or command that
    /// made it.
    pub at_ms: u64,
    /// Which server made it; empty for a command that works on the store directly.
    pub server: String,
    /// The name of the caller's token.
    pub token: String,
    /// Where the connection came from, as IP address and port.
    pub address: String,
    /// The action, in a few words.
    pub action: String,
    /// What was changed: the name of a tag or a token, a worker id.
    pub subject: String,
    /// The state before; empty if it did not exist.
    pub before: String,
    /// The state after; empty if it no longer exists.
    pub after: String,
}

impl AuditRecord {
    /// The settings of a tag in the form of `before` and `after`.
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
    ///     format: None,
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
            kind @ (TagKind::Snowflake | TagKind::Family(_)) => format!("kind={kind}"),
            TagKind::Segment => format!(
                "max_id={} step={} policy={} limit={}",
                record.max_id,
                settings.step,
                settings.policy.map_or("default", |policy| policy.name()),
                settings.limit
            ),
        };
        if let Some(format) = &record.format {
            text.push_str(&format!(" format={:?}", Escaped(format).to_string()));
        }
        if let Some(description) = &record.description {
            text.push_str(&format!(
                " description={:?}",
                Escaped(description).to_string()
            ));
        }
        text
    }
}

/// The audit log of a store.
///
/// # Example
///
/// See [`open_audit`].
pub trait AuditStore: Send + Sync {
    /// Adds a record; if there are more than 10,000, the oldest are deleted.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unsupported`] if the table is missing or access is denied, others as for every
    /// call to a store.
    fn append<'a>(&'a self, record: &'a AuditRecord) -> StoreResult<'a, ()>;

    /// The last `count` records, the newest first.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    fn recent(&self, count: u32) -> StoreResult<'_, Vec<AuditRecord>>;
}

/// Opens the audit log of a store. No server is contacted, and no file opened, before the first
/// call.
///
/// # Errors
///
/// [`StoreError::Unsupported`] for a pure registry of worker ids.
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
        Place::Mysql(servers) | Place::GearKey { servers, .. } => Arc::new(SqlAudit::new(
            Servers::new(crate::mysql::Mysql::STORE, servers, options),
            url,
            options,
        )),
        #[cfg(feature = "postgres")]
        Place::Postgres(servers) => {
            let backend = Servers::new(crate::postgres::Postgres, servers, options);
            Arc::new(SqlAudit::new(backend, url, options))
        }
        #[cfg(feature = "redis")]
        Place::Redis(_) => return Err(crate::open::leases_only("redis")),
        #[cfg(feature = "etcd")]
        Place::Etcd(_) => return Err(crate::open::leases_only("etcd")),
        #[cfg(feature = "zookeeper")]
        Place::ZooKeeper(_) => return Err(crate::open::leases_only("zookeeper")),
    })
}

const COLUMNS: &str = "at_ms, server, token, address, action, subject, old_value, new_value";
/// Deletes all but this many of the newest rows. The inner table is materialized first: MySQL does
/// not delete from a table that the same statement reads.
const TRIM: &str = "DELETE FROM leafid_audit WHERE id <= (SELECT id FROM \
    (SELECT id FROM leafid_audit ORDER BY id DESC LIMIT 1 OFFSET ?) AS oldest)";

struct Append(Vec<Value>);

impl Work for Append {
    type Answer = ();

    async fn run<D: Dialect>(self, connection: &mut D, _: Shape) -> Result<(), CallError> {
        let marks = vec!["?"; self.0.len()].join(", ");
        let append = format!("INSERT INTO leafid_audit ({COLUMNS}) VALUES ({marks})");
        let appended = connection.execute(&append, &self.0).await;
        appended.map(drop).map_err(missing::<D>)
    }
}

struct Trim;

impl Work for Trim {
    type Answer = ();

    async fn run<D: Dialect>(self, connection: &mut D, _: Shape) -> Result<(), CallError> {
        let trimmed = connection.execute(TRIM, &[ROWS_MAX.into()]).await;
        trimmed.map(drop).map_err(missing::<D>)
    }
}

/// This many of the newest rows.
struct Recent(u32);

impl Work for Recent {
    type Answer = Vec<AuditRecord>;

    async fn run<D: Dialect>(
        self,
        connection: &mut D,
        _: Shape,
    ) -> Result<Vec<AuditRecord>, CallError> {
        let sql = format!("SELECT {COLUMNS} FROM leafid_audit ORDER BY id DESC LIMIT ?");
        let rows = connection.rows(&sql, &[i64::from(self.0).into()]).await;
        let rows = rows.map_err(missing::<D>)?;
        rows.iter().map(record).collect()
    }
}

fn missing<D: Dialect>(error: SqlError) -> CallError {
    if !D::is_no_table(&error) && !D::is_denied(&error) {
        return error.into();
    }
    CallError::unsupported(
        "the table leafid_audit is missing, or the user has no privilege on it: call \
        leafid_stores::init, and grant SELECT, INSERT and DELETE on it",
    )
}

struct SqlAudit<S: Backend> {
    store: SqlStore<S>,
    /// The number of rows that this process wrote.
    written: AtomicU32,
}

impl<S: Backend> SqlAudit<S> {
    fn new(backend: S, url: &StoreUrl, options: &StoreOptions) -> Self {
        Self {
            store: SqlStore::new(backend, url, options),
            written: AtomicU32::new(0),
        }
    }
}

impl<S: Backend> AuditStore for SqlAudit<S> {
    fn append<'a>(&'a self, record: &'a AuditRecord) -> StoreResult<'a, ()> {
        let what = || "record a change".into();
        Box::pin(self.store.bounded(what, async {
            let appended = self.store.transact(Append(values(record))).await;
            // Relaxed: it counts, and orders nothing.
            let written = self.written.fetch_add(1, Ordering::Relaxed);
            if appended.is_ok() && written.is_multiple_of(TRIM_EVERY) {
                self.store.transact(Trim).await?;
            }
            appended
        }))
    }

    fn recent(&self, count: u32) -> StoreResult<'_, Vec<AuditRecord>> {
        let what = || "read the recorded changes".into();
        Box::pin(self.store.bounded(what, self.store.run(Recent(count))))
    }
}

/// The fields of a record in order, cut to fit the columns.
fn values(record: &AuditRecord) -> Vec<Value> {
    let at_ms = i64::try_from(record.at_ms).unwrap_or(i64::MAX);
    let texts = [
        (&record.server, SERVER_LEN_MAX),
        (&record.token, TOKEN_LEN_MAX),
        (&record.address, ADDRESS_LEN_MAX),
        (&record.action, ACTION_LEN_MAX),
        (&record.subject, SUBJECT_LEN_MAX),
        (&record.before, VALUE_LEN_MAX),
        (&record.after, VALUE_LEN_MAX),
    ];
    let texts = texts.into_iter().map(|(text, len_max)| {
        // PostgreSQL cannot store the character 0.
        let chars = text.chars().filter(|c| *c != '\0');
        Value::Text(Some(chars.take(len_max).collect()))
    });
    std::iter::once(Value::from(at_ms)).chain(texts).collect()
}

/// A row, with the columns in the order of the fields.
fn record(row: &impl Row) -> Result<AuditRecord, CallError> {
    Ok(AuditRecord {
        at_ms: u64::try_from(row.number(0)?).unwrap_or(0),
        server: row.text(1)?,
        token: row.text(2)?,
        address: row.text(3)?,
        action: row.text(4)?,
        subject: row.text(5)?,
        before: row.text(6)?,
        after: row.text(7)?,
    })
}
