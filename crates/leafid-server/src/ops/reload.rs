//! Reloads files at SIGHUP, without dropping a connection: the access file, and after it the
//! certificate. A file with a mistake changes nothing, nor does one that cannot be read in time:
//! each is read on a thread of its own, so that neither delays the other.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::config::{AccessFile, ConfigError, FormatKeys};
use crate::net::tls::Tls;
use crate::service::Service;
use crate::service::reloads::ReloadedFile;

/// The signals at which files are reloaded.
///
/// # Example
///
/// See [`Reloader`].
#[derive(Debug)]
pub struct Hangups(Signal);

impl Hangups {
    /// Listens for SIGHUP. From now on the signal does not end the process, even after this value
    /// is dropped.
    ///
    /// # Errors
    ///
    /// When the system does not let the process listen for signals.
    ///
    /// # Example
    ///
    /// See [`Reloader`].
    pub fn listen() -> io::Result<Self> {
        Ok(Self(signal(SignalKind::hangup())?))
    }

    /// Waits for the next SIGHUP; `None`: there will be none.
    ///
    /// # Example
    ///
    /// See [`Reloader`].
    pub async fn next(&mut self) -> Option<()> {
        self.0.recv().await
    }
}

/// Reloads the access file, the format keys and the certificate, if they are given, and logs the
/// outcome.
///
/// # Example
///
/// ```no_run
/// # async fn example(service: std::sync::Arc<leafid_server::Service>) -> std::io::Result<()> {
/// // Do this first: from here on the signal does not end the process.
/// let mut hangups = leafid_server::Hangups::listen()?;
/// let access_file = Some("access.toml".into());
/// let mut reloader = leafid_server::Reloader::new(service, access_file, None, None);
/// while hangups.next().await.is_some() {
///     reloader.reload().await;
/// }
/// # Ok(())
/// # }
/// ```
pub struct Reloader {
    service: Arc<Service>,
    access_file: Option<PathBuf>,
    format_keys: Option<PathBuf>,
    tls: Option<Arc<Tls>>,
    tokens: Reader,
    keys: Reader,
    certificate: Reader,
}

impl Reloader {
    /// Reloads these files of that service.
    ///
    /// # Example
    ///
    /// See [`Reloader`].
    #[must_use]
    pub fn new(
        service: Arc<Service>,
        access_file: Option<PathBuf>,
        format_keys: Option<PathBuf>,
        tls: Option<Arc<Tls>>,
    ) -> Self {
        let timeout = service.limits().reload_max;
        // The start has read them.
        let files = [
            (ReloadedFile::Access, access_file.is_some()),
            (ReloadedFile::FormatKeys, format_keys.is_some()),
            (ReloadedFile::Certificate, tls.is_some()),
        ];
        for (file, _) in files.into_iter().filter(|(_, is_set)| *is_set) {
            service.reloads().succeeded(file);
        }
        Self {
            service,
            access_file,
            format_keys,
            tls,
            tokens: Reader::new("keeping the previous tokens and quotas", timeout),
            keys: Reader::new("keeping the previous format keys", timeout),
            certificate: Reader::new("keeping the previous certificate", timeout),
        }
    }

    /// Reads the files now, and applies those without a mistake.
    ///
    /// # Example
    ///
    /// See [`Reloader`].
    pub async fn reload(&mut self) {
        // The tokens first, so that a removed token is refused soon.
        self.reload_access().await;
        self.reload_keys().await;
        self.reload_certificate().await;
    }

    async fn reload_access(&mut self) {
        let Some(path) = self.access_file.clone() else {
            return;
        };
        let limits = *self.service.limits();
        let read = self.tokens.read(move || AccessFile::read(&path, &limits));
        let applied = read
            .await
            .is_some_and(|file| apply_access(&self.service, file, self.access_file.as_deref()));
        note(&self.service, ReloadedFile::Access, applied);
    }

    async fn reload_keys(&mut self) {
        let Some(path) = self.format_keys.clone() else {
            return;
        };
        let shown = path.display().to_string();
        let read = self.keys.read(move || FormatKeys::read(&path)).await;
        note(&self.service, ReloadedFile::FormatKeys, read.is_some());
        if let Some(read) = read {
            apply_keys(&self.service, read, &shown);
        }
    }

    async fn reload_certificate(&mut self) {
        let Some(tls) = self.tls.clone() else {
            return;
        };
        let read = Arc::clone(&tls);
        let prepared = self.certificate.read(move || read.prepare()).await;
        note(&self.service, ReloadedFile::Certificate, prepared.is_some());
        if let Some(prepared) = prepared {
            tls.apply(prepared);
            log_certificate(&tls);
        }
    }
}

impl fmt::Debug for Reloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloader")
            .field("access_file", &self.access_file)
            .field("format_keys", &self.format_keys)
            .finish_non_exhaustive()
    }
}

fn note(service: &Service, file: ReloadedFile, succeeded: bool) {
    match succeeded {
        true => service.reloads().succeeded(file),
        false => service.reloads().failed(file),
    }
}

fn apply_keys(service: &Service, read: FormatKeys, shown: &str) {
    service.apply_format_keys(read.keys);
    for note in read.notes {
        tracing::warn!("{note}");
    }
    tracing::info!("reloaded the format keys {shown}");
}

/// Reads files of one kind, on a thread that serves no requests.
struct Reader {
    /// What to log if they cannot be read.
    fallback: &'static str,
    timeout: Duration,
    /// A thread that is still blocked reading a file. There is at most one.
    blocked: Option<JoinHandle<()>>,
}

impl Reader {
    const fn new(fallback: &'static str, timeout: Duration) -> Self {
        Self {
            fallback,
            timeout,
            blocked: None,
        }
    }

    /// The content, if it is read in time. Later content is dropped: the file may have changed
    /// since.
    async fn read<T: Send + 'static>(
        &mut self,
        read: impl FnOnce() -> Result<T, ConfigError> + Send + 'static,
    ) -> Option<T> {
        let (fallback, timeout) = (self.fallback, self.timeout);
        if self.blocked.as_ref().is_some_and(|it| !it.is_finished()) {
            tracing::error!(
                "the previous reload is still waiting for a file; {fallback}: check the disk or the \
                 mount that it is on"
            );
            return None;
        }
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let reading = tokio::task::spawn_blocking(move || {
            // There is no receiver once it took too long.
            drop(sender.send(read()));
        });
        match tokio::time::timeout(timeout, receiver).await {
            Ok(Ok(Ok(read))) => return Some(read),
            Ok(Ok(Err(error))) => {
                for mistake in error.mistakes {
                    tracing::error!("{mistake}; {fallback}");
                }
            }
            Ok(Err(_)) => tracing::error!("a file was not read; {fallback}"),
            Err(_) => {
                self.blocked = Some(reading);
                tracing::error!(
                    "a file could not be read within {timeout:?}; {fallback}: check the disk or the \
                     mount that it is on, and send SIGHUP again"
                );
            }
        }
        None
    }
}

fn log_certificate(tls: &Tls) {
    for note in tls.notes() {
        tracing::warn!("{note}");
    }
    let until = tls.expires().map(|time| time.to_string());
    tracing::info!(until, "reloaded the certificate");
}

/// Whether it was applied.
fn apply_access(service: &Service, file: AccessFile, path: Option<&Path>) -> bool {
    let path = path.map(Path::display);
    let path = path.as_ref().map(ToString::to_string).unwrap_or_default();
    if file.tokens.is_empty() && service.needs_token() {
        tracing::error!(
            "{path}:1: there are no tokens in it, which would let everyone in; keeping the \
             previous tokens and quotas: restart the server if this is intended"
        );
        return false;
    }
    service.apply_access(&file.tokens, &file.quotas);
    for note in file.notes {
        tracing::warn!("{note}");
    }
    tracing::info!(
        tokens = file.tokens.len(),
        quotas = file.quotas.len(),
        "reloaded the access file {path}"
    );
    true
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Guards that a file on a mount that hangs does not end reloading, blocks at most one thread,
    /// and is not applied late.
    #[tokio::test]
    async fn a_read_that_hangs_is_abandoned() {
        let mut reader = Reader::new("all stays", Duration::from_millis(20));
        let (let_go, held) = mpsc::channel::<()>();
        let hangs = move || {
            let _end = held.recv();
            Ok(1)
        };
        assert_eq!(reader.read(hangs).await, None);
        assert_eq!(
            reader.read(|| Ok(2)).await,
            None,
            "the first one still hangs"
        );
        drop(let_go);
        reader.blocked.take().unwrap().await.unwrap();
        let mut reader = Reader::new("all stays", Duration::from_secs(60));
        assert_eq!(reader.read(|| Ok(3)).await, Some(3));
        let mistakes = vec!["wrong".to_owned()];
        let failed = reader.read::<u8>(|| Err(ConfigError { mistakes })).await;
        assert_eq!(failed, None);
        assert_eq!(reader.read(|| Ok(4)).await, Some(4));
    }
}
