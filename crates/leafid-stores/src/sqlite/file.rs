//! `DatabaseFile`: what this process knows of one SQLite file: its identity, how far it has come,
//! and whether it may still be used. All stores and registries of a process on one path share it.
//!
//! Nothing more is reserved, until the program is restarted, once the file was replaced or removed,
//! is behind what was acknowledged from it, or failed to be flushed: a second flush may succeed
//! although the data is gone.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use leafid::store::StoreError;
use rusqlite::Connection;

use super::mark::{Mark, MarkRecord};
use crate::backend::refused;
use crate::private::{self, FileId};
use crate::sql::Dialect as _;
use crate::sql_error::{CallError, SqlError};

/// After how many changes the write-ahead log is folded into the file.
const CHANGES_MAX: u32 = 256;

static FILES: Mutex<BTreeMap<PathBuf, Weak<DatabaseFile>>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
pub(super) struct DatabaseFile {
    /// Absolute, and without links: SQLite puts the write-ahead log beside the file itself.
    path: PathBuf,
    /// Why it may no longer be used.
    refusal: OnceLock<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The identity of the file, since it was first opened.
    id: Option<FileId>,
    mark: Option<Mark>,
    /// The identity of the database in it, and the last change that was acknowledged to this
    /// process.
    last: Option<MarkRecord>,
    /// The changes since the write-ahead log was last folded in.
    changes: u32,
}

impl DatabaseFile {
    /// What this process knows of the file at `path`.
    pub(super) fn at(path: &Path) -> Arc<Self> {
        let path = private::resolved(path);
        let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|_, file| file.strong_count() > 0);
        if let Some(file) = files.get(&path).and_then(Weak::upgrade) {
            return file;
        }
        let file = Arc::new(Self {
            path: path.clone(),
            refusal: OnceLock::new(),
            state: Mutex::default(),
        });
        files.insert(path, Arc::downgrade(&file));
        file
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_refused(&self) -> bool {
        self.refusal.get().is_some()
    }

    /// Why it may no longer be used.
    pub(super) fn refusal(&self) -> Option<String> {
        self.refusal.get().cloned()
    }

    /// Whether it may still be used.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match self.refusal.get() {
            None => Ok(()),
            Some(reason) => Err(refused(reason)),
        }
    }

    /// Ends its use by this process.
    pub(super) fn refuse(&self, reason: String) -> StoreError {
        refused(self.refusal.get_or_init(|| reason))
    }

    /// Passes on the answer; an error which says that what was written may not be there ends the
    /// use of the file.
    pub(super) fn noted<T>(&self, answer: Result<T, CallError>) -> Result<T, CallError> {
        match answer {
            Err(CallError::Sql(error)) if is_final(&error) => {
                let path = self.path.display();
                let remedy = Connection::remedy(&error).unwrap_or("the disk failed");
                let refusal = self.refuse(format!(
                    "the file {path} cannot be used: {remedy} ({error}), and what was written \
                    last may be lost; check the disk"
                ));
                Err(refusal.into())
            }
            answer => answer,
        }
    }

    /// Before it is opened: creates it if it never existed, and returns its identity.
    pub(super) fn before_open(&self) -> Result<FileId, StoreError> {
        self.check()?;
        let folder = private::folder_of(&self.path);
        private::make_folder(folder).map_err(|error| {
            let message = format!("cannot make the folder {}", folder.display());
            StoreError::unavailable(message, error)
        })?;
        // Under the lock: otherwise another connection of this process would lose its locks on the
        // file when this one is closed.
        let state = self.lock();
        if state.id.is_none() {
            let made = private::options()
                .write(true)
                .create_new(true)
                .open(&self.path);
            match made {
                Ok(file) => {
                    drop(file);
                    private::sync_folder(folder).map_err(|error| self.failed("make", error))?;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.failed("make", error)),
            }
        }
        let known = state.id;
        drop(state);
        self.check_only_name()?;
        match known {
            Some(id) => self.same(&self.path, id).map(|()| id),
            None => {
                let found = FileId::of(&self.path).map_err(|error| self.failed("find", error))?;
                found.ok_or_else(|| self.failed("find", io::ErrorKind::NotFound.into()))
            }
        }
    }

    /// The write-ahead log and its locks lie beside the name by which a file is opened. A process
    /// that opens it by another name, a hard link or a mount of the file alone, sees neither.
    fn check_only_name(&self) -> Result<(), StoreError> {
        let metadata = fs::metadata(&self.path).map_err(|error| self.failed("find", error))?;
        let names = private::names_of(&metadata);
        let mounts = private::mounts();
        let what = if !metadata.is_file() {
            "is not a regular file: name one, or a path where one can be created".to_owned()
        } else if names > 1 {
            format!(
                "has {names} names (hard links), and programs that use different ones issue the \
                same ids: remove all but one (leafid_stores::backup makes a copy)"
            )
        } else if mounts.is_empty() && cfg!(target_os = "linux") {
            "cannot be distinguished from one that is mounted by itself: make /proc/self/mounts \
            readable (mount /proc)"
                .to_owned()
        } else if mounts.iter().any(|(point, _)| *point == self.path) {
            "is mounted by itself, so programs outside would issue the same ids: mount its folder \
            instead"
                .to_owned()
        } else {
            return Ok(());
        };
        Err(StoreError::Unsupported {
            message: format!("the file {} {what}", self.path.display()),
        })
    }

    /// After it was opened: checks that it is still the same one.
    pub(super) fn after_open(&self, before: FileId) -> Result<(), StoreError> {
        let found = FileId::of(&self.path).map_err(|error| self.failed("find", error))?;
        let mut state = self.lock();
        if found == Some(before) {
            state.id.get_or_insert(before);
            return Ok(());
        }
        drop(state);
        Err(StoreError::unavailable(
            format!(
                "the file {} changes while it is opened",
                self.path.display()
            ),
            "another one was there before",
        ))
    }

    /// Whether a path still leads to the file that was opened.
    pub(super) fn same(&self, path: &Path, id: FileId) -> Result<(), StoreError> {
        let what = match FileId::of(path) {
            Ok(Some(found)) if found == id => return Ok(()),
            Ok(Some(_)) => "replaced",
            Ok(None) => "removed",
            Err(error) => return Err(self.failed("find", error)),
        };
        let path = path.display();
        Err(self.refuse(format!(
            "the file {path} was {what} while it was in use, so the present file may repeat ids: \
            put the right one back with leafid_stores::restore"
        )))
    }

    /// How far the database had come, as the mark and this process know. To be read before the
    /// database is, which advances meanwhile.
    pub(super) fn known(&self) -> Result<Vec<MarkRecord>, StoreError> {
        let mut state = self.lock();
        let mut open = || {
            let mut mark = Mark::open(&self.mark_path())?;
            let marked = mark.read()?;
            state.mark = Some(mark);
            Ok(marked)
        };
        let marked = open().map_err(|error| self.no_mark(error))?;
        Ok(state.last.clone().into_iter().chain(marked).collect())
    }

    /// Records the database that was found in the file, and refuses one that is behind.
    pub(super) fn found(&self, found: MarkRecord, known: &[MarkRecord]) -> Result<(), StoreError> {
        if let Some(known) = known.iter().find(|known| !is_ahead(&found, known)) {
            return Err(self.refuse(self.behind(&found, known)));
        }
        let mut state = self.lock();
        if known.last() != Some(&found)
            && let Some(mark) = &mut state.mark
        {
            mark.write(&found).map_err(|error| self.no_mark(error))?;
        }
        if state
            .last
            .as_ref()
            .is_none_or(|last| is_ahead(&found, last))
        {
            state.last = Some(found);
        }
        Ok(())
    }

    fn mark_path(&self) -> PathBuf {
        private::beside(&self.path, "-mark")
    }

    fn no_mark(&self, error: io::Error) -> StoreError {
        let message = format!("cannot use the file {}", self.mark_path().display());
        match error.kind() {
            // It is damaged, or is not a file.
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => StoreError::Unsupported {
                message: format!("{message}: {error}"),
            },
            _ => StoreError::unavailable(message, error),
        }
    }

    fn behind(&self, found: &MarkRecord, known: &MarkRecord) -> String {
        let path = self.path.display();
        let what = if found.identity == known.identity {
            format!(
                "the file {path} is an older copy, or has lost its write-ahead log: it has {} \
                changes, but {} were acknowledged",
                found.generation, known.generation
            )
        } else {
            format!("the file {path} is another database than the one that was used here")
        };
        format!(
            "{what}, so it would repeat ids: take it with leafid_stores::restore, which raises \
            every tag; or, if all its ids may repeat, delete {path}-mark"
        )
    }

    /// Within a change: it must be the one after the last that this process knows.
    pub(super) fn check_generation(&self, generation: u64) -> Result<(), StoreError> {
        let state = self.lock();
        let Some(last) = state.last.as_ref() else {
            return Ok(());
        };
        let found = MarkRecord {
            identity: last.identity.clone(),
            generation,
        };
        if last.generation < generation {
            return Ok(());
        }
        let reason = self.behind(&found, last);
        drop(state);
        Err(self.refuse(reason))
    }

    /// A change was committed.
    pub(super) fn committed(&self, generation: u64) -> Result<(), StoreError> {
        let mut state = self.lock();
        let State {
            mark,
            last,
            changes,
            ..
        } = &mut *state;
        *changes = changes.saturating_add(1);
        let (Some(mark), Some(last)) = (mark, last) else {
            return Ok(());
        };
        last.generation = last.generation.max(generation);
        mark.write(last).map_err(|error| self.no_mark(error))
    }

    /// Whether the write-ahead log should be folded in.
    pub(super) fn wants_checkpoint(&self) -> bool {
        self.lock().changes >= CHANGES_MAX
    }

    /// The write-ahead log was folded in.
    pub(super) fn checkpointed(&self) {
        let mut state = self.lock();
        state.changes = 0;
        if let Some(mark) = &state.mark {
            // A mark that is behind does no harm.
            let _ = mark.sync();
        }
    }

    fn failed(&self, what: &str, error: io::Error) -> StoreError {
        StoreError::unavailable(
            format!("cannot {what} the file {}", self.path.display()),
            error,
        )
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a database can be the known one, or a later state of it.
fn is_ahead(found: &MarkRecord, known: &MarkRecord) -> bool {
    found.identity == known.identity && found.generation >= known.generation
}

/// Whether what was written may not be on the disk, or what is there cannot be read. A lock that
/// was not acquired, or a lack of memory, is neither; nor is a full disk, on which nothing was
/// committed.
fn is_final(error: &SqlError) -> bool {
    // SQLITE_IOERR with: BLOCKED, NOMEM, LOCK, UNLOCK, RDLOCK, CHECKRESERVEDLOCK, ACCESS, and
    // what makes and maps the shared memory.
    const PASSING: [u32; 11] = [11, 12, 15, 8, 9, 14, 13, 18, 19, 20, 21];
    // The lowest byte is the primary code: 10 is SQLITE_IOERR, 11 SQLITE_CORRUPT, 26
    // SQLITE_NOTADB; 1032 is SQLITE_READONLY_DBMOVED.
    error.number().is_some_and(|code| match code & 0xff {
        10 => !PASSING.contains(&(code >> 8)),
        11 | 26 => true,
        _ => code == 1032,
    })
}
