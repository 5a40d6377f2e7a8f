//! `FileJournal`: the journal of one server in a file: when a record counts as written, and what
//! ends the writing. `journal/slots.rs` divides the file, `journal/text.rs` parses the text.
//!
//! The file is opened and locked once and then written in place: it needs no further descriptor, no
//! room on the disk, and the lock stays on the very file that is written. Only a flush that failed
//! is final: after it the kernel may have dropped the text and still report the next flush as a
//! success.

mod slots;
mod text;

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use leafid::store::{Journal, JournalRecord, StoreError, StoreResult};
use tokio::runtime::Handle;

use slots::{ReadError, Slots};

use crate::private;

/// A journal in a file. **Thread-safe.** No second process can open it meanwhile.
///
/// The file must stay in place while a server runs: if it is removed or replaced, nothing more is
/// written until it is back. It detects that it is a copy, such as one from a backup or on another
/// disk: that is read as [`JournalRecord::of_copy`].
///
/// # Example
///
/// ```
/// use leafid::store::{Journal, JournalRecord};
/// use leafid_stores::FileJournal;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("worker.journal");
/// let journal = FileJournal::open(&path)?;
/// assert_eq!(journal.read().await?, None);
/// let record = JournalRecord::new("6f1c", "leaf");
/// journal.write(&record).await?;
/// assert_eq!(journal.read().await?, Some(record));
/// assert!(FileJournal::open(&path).is_err());
/// # Ok(()) })
/// # }
/// ```
#[derive(Debug)]
pub struct FileJournal {
    file: Arc<JournalFile>,
}

#[derive(Debug)]
struct JournalFile {
    path: PathBuf,
    /// The inode of the file.
    number: FileNumber,
    /// Locks out a server of a version that locked this file beside the journal.
    _old_lock: Option<File>,
    /// The number of calls to `write`.
    calls: AtomicU64,
    state: Mutex<State>,
}

/// Only changed during a write, so that it also serializes the writers.
#[derive(Debug)]
struct State {
    /// The number of the call whose record is in the file. A call whose caller gave up continues in
    /// the background, and must not replace what a later one wrote.
    call: u64,
    /// Why nothing more can be written.
    failure: Option<String>,
    /// The locked file: the kernel unlocks it when the process ends.
    slots: Slots<File>,
}

/// How often to retry opening a file that is replaced meanwhile.
const OPENS_MAX: usize = 8;

impl FileJournal {
    /// Opens the journal at `path` and locks it. Creates it and its folder if they are missing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if another process has it open, or it cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let failed = |error| {
            let message = format!("cannot open the journal {}", path.display());
            StoreError::unavailable(message, error)
        };
        private::make_folder(private::folder_of(&path)).map_err(failed)?;
        let old_lock = private::beside(&path, ".lock");
        let old_lock = match private::open_regular(&old_lock, File::options().write(true)) {
            Ok(lock) => Some(lock),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if let Some(lock) = &old_lock {
            try_lock(lock, &path)?;
        }
        let (file, number) = open_and_lock(&path)?;
        private::sync_folder(private::folder_of(&path)).map_err(failed)?;
        let state = State {
            call: 0,
            failure: None,
            slots: Slots::new(file),
        };
        let file = Arc::new(JournalFile {
            path,
            number,
            _old_lock: old_lock,
            calls: AtomicU64::new(0),
            state: Mutex::new(state),
        });
        Ok(Self { file })
    }
}

/// Opens and locks the file that is at this path after locking.
fn open_and_lock(path: &Path) -> Result<(File, FileNumber), StoreError> {
    let failed = |error| {
        let message = format!("cannot open the journal {}", path.display());
        StoreError::unavailable(message, error)
    };
    let mut options = private::options();
    options.create(true).truncate(false).read(true).write(true);
    for _ in 0..OPENS_MAX {
        let file = private::open_regular(path, &options).map_err(failed)?;
        try_lock(&file, path)?;
        let number = FileNumber::of(&file.metadata().map_err(failed)?);
        match fs::metadata(path) {
            Ok(there) if FileNumber::of(&there) == number => return Ok((file, number)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(io::Error::other("it is replaced again and again")))
}

fn try_lock(file: &File, path: &Path) -> Result<(), StoreError> {
    file.try_lock().map_err(|error| {
        let path = path.display();
        let message = match error {
            TryLockError::Error(_) => format!("cannot lock the journal {path}"),
            TryLockError::WouldBlock => format!(
                "another leafid process uses the journal {path}: give each its own data-dir"
            ),
        };
        StoreError::unavailable(message, error)
    })
}

impl Journal for FileJournal {
    fn read(&self) -> StoreResult<'_, Option<JournalRecord>> {
        let file = Arc::clone(&self.file);
        Box::pin(aside(move || file.read()))
    }

    fn write<'a>(&'a self, record: &'a JournalRecord) -> StoreResult<'a, ()> {
        let file = Arc::clone(&self.file);
        let call = file.calls.fetch_add(1, Ordering::Relaxed) + 1;
        Box::pin(async move {
            let record = record.clone();
            aside(move || file.write(call, &record)).await
        })
    }
}

/// Does disk I/O on a thread where it may block. Without a tokio runtime there is only the
/// caller's, as in `leafid::blocking`.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(|error| {
            StoreError::unavailable("the journal cannot be used: the program is ending", error)
        })?,
        Err(_) => work(),
    }
}

impl JournalFile {
    fn read(&self) -> Result<Option<JournalRecord>, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path.display();
        let found = state.slots.read().map_err(|fault| match fault {
            ReadError::Io(error) => {
                StoreError::unavailable(format!("cannot read the journal {path}"), error)
            }
            ReadError::Text(problem) => StoreError::Unsupported {
                message: format!("the journal {path} {problem}"),
            },
        })?;
        Ok(found.map(|text| match text.file {
            // A journal of an older version does not say which file it is.
            None => text.record,
            Some(file) if file == self.number.to_string() => text.record,
            Some(_) => text.record.of_copy(),
        }))
    }

    fn write(&self, call: u64, record: &JournalRecord) -> Result<(), StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path.display();
        if let Some(failure) = &state.failure {
            let message = format!(
                "the journal {path} takes no more records, because one could not be flushed \
                ({failure}): check the disk and start this server again"
            );
            return Err(StoreError::Unsupported { message });
        }
        if call < state.call {
            return Ok(());
        }
        self.check_place()?;
        match state.slots.write(record, &self.number.to_string())? {
            Ok(()) => {
                state.call = call;
                Ok(())
            }
            Err(slots::WriteError::Write(error)) => {
                let message = format!("cannot write the journal {path}: check the disk");
                Err(StoreError::unavailable(message, error))
            }
            Err(slots::WriteError::Flush(error)) => {
                state.failure = Some(error.to_string());
                let message = format!(
                    "cannot flush the journal {path} ({error}): check the disk and start this \
                    server again"
                );
                Err(StoreError::Unsupported { message })
            }
        }
    }

    /// Another server could start with a file that is at our path and is not ours.
    fn check_place(&self) -> Result<(), StoreError> {
        let there = fs::metadata(&self.path).map(|there| FileNumber::of(&there));
        let message = |what: &str| {
            format!(
                "the journal {} was {what} while this server uses it: put it back, or start this \
                server again",
                self.path.display()
            )
        };
        match there {
            Ok(there) if there == self.number => Ok(()),
            Ok(_) => Err(StoreError::unavailable(message("replaced"), "another file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(StoreError::unavailable(message("removed"), error))
            }
            Err(error) => {
                let message = format!("cannot look at the journal {}", self.path.display());
                Err(StoreError::unavailable(message, error))
            }
        }
    }
}

/// What distinguishes a file from a copy of it: its inode, and when it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileNumber {
    inode: u64,
    /// In nanoseconds since 1970; 0 if the file system does not know.
    made: u128,
}

impl FileNumber {
    fn of(file: &Metadata) -> Self {
        let made = file.created().ok();
        let made = made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
        Self {
            inode: inode(file),
            made: made.map_or(0, |made| made.as_nanos()),
        }
    }
}

impl std::fmt::Display for FileNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}-{:x}", self.inode, self.made)
    }
}

#[cfg(unix)]
fn inode(file: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(file)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that a failed flush is not retried: the device accepts every byte, and cannot be
    /// flushed. No server opens one as its journal.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_failed_flush_is_final() {
        let file = File::options().read(true).write(true).open("/dev/null");
        let file = file.unwrap();
        let journal = FileJournal {
            file: Arc::new(JournalFile {
                path: "/dev/null".into(),
                number: FileNumber::of(&file.metadata().unwrap()),
                _old_lock: None,
                calls: AtomicU64::new(0),
                state: Mutex::new(State {
                    call: 0,
                    failure: None,
                    slots: Slots::new(file),
                }),
            }),
        };
        let record = JournalRecord::new("6f1c", "leaf");
        for _ in 0..2 {
            let error = journal.write(&record).await.unwrap_err();
            assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
            assert!(error.to_string().contains("Invalid argument"), "{error}");
        }
    }
}
