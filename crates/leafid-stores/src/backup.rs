//! Backup and restore of a store that is one file: copies of it, and what must be raised when one
//! replaces it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use leafid::Escaped;
use leafid::store::StoreError;
use rusqlite::Connection;

use crate::StoreOptions;
use crate::sql::Dialect as _;
use crate::sql_error::CallError;
use crate::sqlite::{Sqlite, blocking};
use crate::url::StoreUrl;

/// The options of a restore.
///
/// # Example
///
/// ```
/// use leafid_stores::RestoreOptions;
///
/// let options = RestoreOptions::default().with_now_ms(1_800_000_000_000);
/// assert_eq!(options.margin, 100_000_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreOptions {
    /// By how much every tag is raised: more than the ids of any tag that were reserved since the
    /// copy was made. If the same copy was restored before, that includes the margin of that time.
    /// Default 100 million, a day of 1,157 ids per second.
    pub margin: u64,
    /// How long a lease of a worker id is at most. Default an hour.
    pub lease: Duration,
    /// The time now, in milliseconds since 1970-01-01T00:00:00Z.
    pub now_ms: u64,
    /// Whether periods of calendar counters that begin two days from now, or later, start at 1, and
    /// not above the margin, where the replaced file, or that of an earlier restore, is not known.
    /// **Only if none of them was begun**, by a server whose clock was a day ahead or by its name: its
    /// ids would repeat. Default `false`.
    pub spares_later_periods: bool,
}

impl Default for RestoreOptions {
    fn default() -> Self {
        Self {
            margin: 100_000_000,
            lease: Duration::from_secs(3600),
            now_ms: 0,
            spares_later_periods: false,
        }
    }
}

impl RestoreOptions {
    /// Sets [`margin`](Self::margin).
    #[must_use]
    pub const fn with_margin(mut self, margin: u64) -> Self {
        self.margin = margin;
        self
    }

    /// Sets [`lease`](Self::lease).
    #[must_use]
    pub const fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets [`spares_later_periods`](Self::spares_later_periods).
    #[must_use]
    pub const fn with_spares_later_periods(mut self, spares: bool) -> Self {
        self.spares_later_periods = spares;
        self
    }

    /// Sets [`now_ms`](Self::now_ms).
    #[must_use]
    pub const fn with_now_ms(mut self, now_ms: u64) -> Self {
        self.now_ms = now_ms;
        self
    }
}

/// What was done when a store was brought back.
///
/// # Example
///
/// See [`restore`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// The tags of the copy, in ascending order.
    pub tags: Vec<RaisedTag>,
    /// How many rows of worker ids were raised or created.
    pub workers: u64,
    /// The calendar counters of the copy, each of whose later periods starts above the margin, in
    /// ascending order.
    pub raised_counters: Vec<String>,
    /// What was known of the file that was replaced.
    pub knowledge: Knowledge,
    /// The new name of that file; `None` if there was none.
    pub aside: Option<PathBuf>,
}

/// A tag that was raised.
///
/// # Example
///
/// ```
/// use leafid_stores::RaisedTag;
///
/// fn reserve_again(raised: &RaisedTag) -> String {
///     format!("{} goes on at {}", raised.tag, raised.to)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RaisedTag {
    /// Its name.
    pub tag: String,
    /// Its max id in the copy.
    pub from: u64,
    /// Its max id now.
    pub to: u64,
    /// Whether that is above its limit, so that it issues no more ids.
    pub is_spent: bool,
}

impl fmt::Display for RaisedTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: from {} to {}",
            Escaped(&self.tag),
            self.from,
            self.to
        )?;
        if self.is_spent {
            f.write_str(", its limit: it issues no more ids until the limit is raised")?;
        }
        Ok(())
    }
}

/// What was known of a replaced file, and so of the ids issued from it.
///
/// # Example
///
/// ```
/// assert!(leafid_stores::Knowledge::Nothing.to_string().contains("margin"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// It had all that it had acknowledged.
    Everything,
    /// It may have been behind.
    Something,
    /// It was missing, or could not be read.
    Nothing,
}

impl fmt::Display for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Everything => {
                "the former file had all that was given, and was taken into account"
            }
            Self::Something => {
                "the former file was taken into account, but may have been behind: the margin \
                must be more than any tag issued since"
            }
            Self::Nothing => {
                "there was no former file that could be read: the margin must be more than any \
                tag issued since the copy was made"
            }
        })
    }
}

/// Copies a store that is a SQLite file to a new file at `target`, while servers use it, and
/// returns how many tags are in it. The copy is one file, complete and durable, that only its owner
/// can read. Put it back with [`restore`], not by hand.
///
/// # Errors
///
/// [`StoreError::Unsupported`] for a database server and if there is no store;
/// [`StoreError::Unavailable`] if the file cannot be read, or the copy cannot be written, for
/// example because the target exists already.
///
/// # Example
///
/// See [`restore`].
pub async fn backup(
    url: &StoreUrl,
    target: &Path,
    options: &StoreOptions,
) -> Result<u64, StoreError> {
    let sqlite = sqlite_of(url, options, "backup")?;
    let copied = sqlite.backup(target.to_owned()).await;
    meaning("copy", url, options, copied)
}

/// Replaces a store that is a SQLite file by the copy at `source`, and keeps the old file under
/// another name. No server may use it. Every tag is raised, and no worker id can be claimed before
/// the longest possible lease of it would have ended; see [`RestoreOptions`].
///
/// # Errors
///
/// [`StoreError::Unsupported`] for a database server; [`StoreError::Unavailable`] if a program uses
/// the store, the copy is incomplete, or the disk fails. Nothing is changed then.
///
/// # Example
///
/// ```
/// use leafid::store::TagSpec;
/// use leafid::Tag;
/// use leafid_stores::{RestoreOptions, StoreOptions, StoreUrl, backup, open, restore, checkpoint};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// let url = StoreUrl::sqlite(folder.path().join("leafid.db"));
/// let options = StoreOptions::default();
/// let store = open(&url, &options).await?;
/// store.create(&TagSpec::new(Tag::new("order")?)).await?;
/// let copy = folder.path().join("copy.db");
/// assert_eq!(backup(&url, &copy, &options).await?, 1);
///
/// let url = StoreUrl::sqlite(folder.path().join("other.db"));
/// let report = restore(&url, &copy, &RestoreOptions::default(), &options).await?;
/// assert_eq!(report.tags[0].to_string(), "order: from 1 to 100000001");
/// # Ok(()) })
/// # }
/// ```
pub async fn restore(
    url: &StoreUrl,
    source: &Path,
    how: &RestoreOptions,
    options: &StoreOptions,
) -> Result<RestoreReport, StoreError> {
    let sqlite = sqlite_of(url, options, "restore")?;
    let (source, how) = (source.to_owned(), *how);
    let restored = blocking(move || sqlite.restore(&source, &how)).await;
    meaning("restore", url, options, restored)
}

/// Folds the write-ahead log of a SQLite store into its file. For the end of a program; does
/// nothing for a database server, or for a file that failed.
///
/// # Errors
///
/// [`StoreError::Unavailable`] if the file cannot be used.
///
/// # Example
///
/// ```
/// use leafid_stores::{StoreOptions, StoreUrl, checkpoint};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let url: StoreUrl = "mysql://leaf@db/leaf".parse()?;
/// checkpoint(&url, &StoreOptions::default()).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn checkpoint(url: &StoreUrl, options: &StoreOptions) -> Result<(), StoreError> {
    match sqlite_of(url, options, "checkpoint") {
        Ok(sqlite) => meaning("close", url, options, sqlite.checkpoint().await),
        Err(_) => Ok(()),
    }
}

fn sqlite_of(url: &StoreUrl, options: &StoreOptions, what: &str) -> Result<Sqlite, StoreError> {
    match url.file() {
        Some(path) => Ok(Sqlite::new(path, options)),
        None => Err(StoreError::Unsupported {
            message: format!(
                "{what} is for SQLite files, and {url} is a server: use its own tools, see \
                docs/backup.md"
            ),
        }),
    }
}

fn meaning<T>(
    what: &str,
    url: &StoreUrl,
    options: &StoreOptions,
    answer: Result<T, CallError>,
) -> Result<T, StoreError> {
    answer.map_err(|fault| {
        let error = match fault {
            CallError::Store(error) => error,
            CallError::Sql(error) => {
                let remedy = Connection::remedy(&error).unwrap_or("the file cannot be used");
                StoreError::unavailable(format!("cannot {what} {url}: {remedy}"), error)
            }
        };
        options.remedies.reword(error, &url.to_string())
    })
}
