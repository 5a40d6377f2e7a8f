//! `FakeClock`: a wall clock for a child process, which a test can set while the child runs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::child::find_program;

const PACKAGE: &str = "libfaketime";
const SHARED_MEMORY: &str = "/dev/shm";
/// What comes before the number of the process.
const LEFT_OVER: [&str; 2] = ["faketime_shm_", "sem.faketime_sem_"];
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// A wall clock that is off by as much as the test says, for child processes.
///
/// A child sees a new offset the next time it reads `CLOCK_REALTIME`, which is what
/// [`std::time::SystemTime`] reads. Only the wall clock steps: `CLOCK_MONOTONIC` and
/// `CLOCK_BOOTTIME` go on as on a real machine. The clock must outlive its children.
///
/// The work is done by libfaketime, which stands between the child and the C library; so a child
/// must be a program that is linked dynamically. Reading the wall clock then takes about 1.5
/// microseconds.
///
/// ```no_run
/// use std::process::Command;
///
/// let clock = leafid_testbed::FakeClock::new();
/// let mut server = Command::new("leafid");
/// clock.apply(server.arg("serve"));
/// let mut server = server.spawn()?;
/// clock.offset(-3600.0); // back by an hour, while the server runs
/// # server.kill()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct FakeClock {
    folder: TempDir,
    library: PathBuf,
}

impl FakeClock {
    /// A clock that shows the right time.
    ///
    /// # Panics
    ///
    /// When libfaketime is missing; the message names the package to install.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it needs a package, and panics")]
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("leafid-clock-").tempdir();
        let clock = Self {
            folder: folder
                .unwrap_or_else(|error| panic!("cannot make a temporary folder: {error}")),
            library: library(),
        };
        clock.offset(0.0);
        clock
    }

    /// Lets a command that is started from now on see this clock.
    pub fn apply(&self, command: &mut Command) {
        command.envs(self.environment());
    }

    /// What a child's environment needs for that.
    pub(crate) fn environment(&self) -> [(&'static str, OsString); 4] {
        [
            ("LD_PRELOAD", self.library.clone().into()),
            ("FAKETIME_TIMESTAMP_FILE", self.offset_file().into()),
            ("FAKETIME_NO_CACHE", "1".into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ]
    }

    /// Sets the clock to the right time and that many seconds, at once for all its children.
    ///
    /// # Panics
    ///
    /// When the temporary folder cannot be written.
    pub fn offset(&self, seconds: f64) {
        // Put in place by one step, so that no child reads half of it.
        let next = self.folder.path().join("next");
        fs::write(&next, format!("{seconds:+}\n"))
            .and_then(|()| fs::rename(&next, self.offset_file()))
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", next.display()));
    }

    fn offset_file(&self) -> PathBuf {
        self.folder.path().join("offset")
    }
}

impl Drop for FakeClock {
    /// Removes what libfaketime leaves in shared memory of children that were killed.
    fn drop(&mut self) {
        for entry in fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            let process = LEFT_OVER.iter().find_map(|kind| name.strip_prefix(kind));
            if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
                // Another clock may have been quicker.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Debian keeps libraries in a folder for each kind of processor.
fn library() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut candidates: Vec<PathBuf> = folders.map(|folder| folder.path().join(LIBRARY)).collect();
    candidates.retain(|path| path.exists());
    candidates.push(Path::new("/usr/lib").join(LIBRARY));
    candidates.push(Path::new("/usr/local/lib").join(LIBRARY));
    find_program(&candidates, PACKAGE)
}
