//! `Reloads`: how the last reading of each file that can be reloaded ended, for the metrics.

use std::sync::{Mutex, PoisonError};

use crate::named::named;
use crate::wall_clock;

named! {
    /// A file that is read at start, and again at SIGHUP. Its name is that of its setting.
    pub(crate) enum ReloadedFile, by name {
        Access "access-file"
        FormatKeys "format-keys"
        Certificate "tls-cert"
    }
}

/// How the last reading of each file ended.
#[derive(Debug, Default)]
pub(crate) struct Reloads([Mutex<Option<LastReload>>; ReloadedFile::ALL.len()]);

/// How the last reading of a file ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LastReload {
    pub(crate) succeeded: bool,
    /// When it last succeeded, in seconds since 1970.
    pub(crate) success_at: f64,
}

impl Reloads {
    pub(crate) fn succeeded(&self, file: ReloadedFile) {
        *self.lock(file) = Some(LastReload {
            succeeded: true,
            success_at: wall_clock::now().as_duration().as_secs_f64(),
        });
    }

    /// What was read before still holds.
    pub(crate) fn failed(&self, file: ReloadedFile) {
        if let Some(last) = &mut *self.lock(file) {
            last.succeeded = false;
        }
    }

    /// `None`: there is no such file.
    pub(crate) fn last(&self, file: ReloadedFile) -> Option<LastReload> {
        *self.lock(file)
    }

    /// The settings of files whose last reading failed.
    pub(crate) fn failed_files(&self) -> Vec<&'static str> {
        let failed = |file: &ReloadedFile| self.last(*file).is_some_and(|last| !last.succeeded);
        let failed = ReloadedFile::ALL.into_iter().filter(failed);
        failed.map(ReloadedFile::name).collect()
    }

    fn lock(&self, file: ReloadedFile) -> std::sync::MutexGuard<'_, Option<LastReload>> {
        let last = &self.0[file as usize];
        last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
