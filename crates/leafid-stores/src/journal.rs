//! `FileJournal`: the journal of one server in a file. How it is written and locked; what its
//! text means is in `journal/text.rs`.
//!
//! A record is written to a file beside, flushed, and renamed over the former one; then the
//! folder is flushed. Nothing is tried twice: after a flush that failed the kernel may have
//! dropped the text and still call the next flush a success.

mod text;

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use leafid::store::{Journal, JournalRecord, StoreError, StoreResult};
use tokio::runtime::Handle;

/// A journal in a file. **Thread-safe.** No second process can open it meanwhile.
///
/// Beside the file there are its lock, with `.lock` after the name, and now and then a record
/// that is being written, with `.new` after the name. The first must stay as long as a server
/// runs; the second may be deleted at any time that none does.
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
/// let record = JournalRecord { holder: "6f1c".into(), layout: "leaf".into(), lease: None };
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
    /// Keeps others out while it is open; the kernel closes it when the process ends.
    _lock: File,
    /// How often `write` was called.
    calls: AtomicU64,
    state: Mutex<State>,
}

/// Only changed while the file is being written, so that this keeps writers apart too.
#[derive(Debug, Default)]
struct State {
    /// The number of the call whose record is in the file. A call that was given up goes on in
    /// the background, and must not replace what a later one wrote.
    call: u64,
    /// Why nothing more can be written.
    failure: Option<String>,
}

impl FileJournal {
    /// Opens the journal at `path` and locks it. Makes its folder if there is none; the file
    /// comes with the first record.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when another process has it open, or the lock cannot be made.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let failed = |error| {
            let message = format!("cannot open the journal {}", path.display());
            StoreError::unavailable(message, error)
        };
        make_folder(folder_of(&path)).map_err(failed)?;
        let mut options = File::options();
        let options = options.create(true).truncate(false).write(true);
        let lock = options.open(beside(&path, ".lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(error @ TryLockError::WouldBlock) => {
                let message = format!(
                    "another leafid process uses the journal {}: give each its own data-dir",
                    path.display()
                );
                return Err(StoreError::unavailable(message, error));
            }
        }
        let file = Arc::new(JournalFile {
            path,
            _lock: lock,
            calls: AtomicU64::new(0),
            state: Mutex::default(),
        });
        Ok(Self { file })
    }
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
            let text = text::render(record)?;
            aside(move || file.write(call, &text)).await
        })
    }
}

/// Waits for a disk on a thread where that disturbs nobody. Without a runtime of tokio there is
/// only the caller's, as in `leafid::blocking`.
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
        match self.bytes() {
            Ok(bytes) => text::parse(&bytes).map(Some).map_err(|problem| {
                let message = format!("the journal {} {problem}", self.path.display());
                StoreError::Unsupported { message }
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let message = format!("cannot read the journal {}", self.path.display());
                Err(StoreError::unavailable(message, error))
            }
        }
    }

    fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = File::open(&self.path)?;
        file.take(text::LEN_MAX + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, call: u64, text: &str) -> Result<(), StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path.display();
        if let Some(failure) = &state.failure {
            let message = format!(
                "the journal {path} takes no more records, because one could not be written \
                ({failure}): check the disk and start this server again"
            );
            return Err(StoreError::Unsupported { message });
        }
        if call < state.call {
            return Ok(());
        }
        self.replace(text).map_err(|error| {
            state.failure = Some(error.to_string());
            let message = format!(
                "cannot write the journal {path}: check the disk and start this server again"
            );
            StoreError::unavailable(message, error)
        })?;
        state.call = call;
        Ok(())
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let new = beside(&self.path, ".new");
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        drop(file);
        fs::rename(&new, &self.path)?;
        sync_folder(folder_of(&self.path))
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes a folder that is still there after a power cut.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder_of(folder);
    make_folder(parent)?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => sync_folder(parent),
    }
}

/// A new name in a folder is durable once the folder is flushed.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Windows cannot flush a folder, and journals the names itself.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
