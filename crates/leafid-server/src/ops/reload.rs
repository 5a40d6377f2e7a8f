//! Reading files again at SIGHUP, without dropping a connection: the access file, and after it the
//! certificate. A file with a mistake in it changes nothing, nor does one that cannot be read in
//! time: each is read on a thread of its own, so that neither is in the other's way.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::config::{AccessFile, ConfigError};
use crate::net::tls::Tls;
use crate::service::Service;

/// The signals at which files are read again.
///
/// # Example
///
/// ```no_run
/// # fn example(service: std::sync::Arc<leafid_server::Service>) -> std::io::Result<()> {
/// // First of all: from here on the signal does not end the process.
/// let hangups = leafid_server::Hangups::listen()?;
/// let reloading = hangups.reload(service, Some("access.toml".into()), None);
/// tokio::spawn(reloading);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Hangups(Signal);

impl Hangups {
    /// Listens for SIGHUP. From now on it does not end the process any more, whatever is done
    /// with it, also after this is dropped.
    ///
    /// # Errors
    ///
    /// When the system does not let the process listen for signals.
    ///
    /// # Example
    ///
    /// See [`Hangups`].
    pub fn listen() -> io::Result<Self> {
        Ok(Self(signal(SignalKind::hangup())?))
    }

    /// Reads the access file and the certificate again at each SIGHUP, those that there are, and
    /// logs what came of it; with neither it does nothing. The future is never ready.
    ///
    /// # Example
    ///
    /// See [`Hangups`].
    pub async fn reload(
        mut self,
        service: Arc<Service>,
        access_file: Option<PathBuf>,
        tls: Option<Arc<Tls>>,
    ) {
        let patience = service.limits().reload_max;
        let mut tokens = Reader::new("tokens and quotas stay as they were", patience);
        let mut certificate = Reader::new("the certificate stays as it was", patience);
        while self.0.recv().await.is_some() {
            // The tokens first: who was taken out of them shall be kept out soon.
            if let Some(path) = access_file.clone() {
                let limits = *service.limits();
                let read = move || AccessFile::read(&path, &limits);
                if let Some(file) = tokens.read(read).await {
                    put_access(&service, file, access_file.as_deref());
                }
            }
            if let Some(tls) = &tls {
                let read = Arc::clone(tls);
                if let Some(prepared) = certificate.read(move || read.prepare()).await {
                    tls.put(prepared);
                    tell_certificate(tls);
                }
            }
        }
    }
}

/// Reads files of one kind, off the threads that serve.
struct Reader {
    /// What happens if they cannot be read.
    stays: &'static str,
    patience: Duration,
    /// A thread that still hangs in a file. There is one at most.
    hanging: Option<JoinHandle<()>>,
}

impl Reader {
    const fn new(stays: &'static str, patience: Duration) -> Self {
        Self {
            stays,
            patience,
            hanging: None,
        }
    }

    /// What was read in time. What comes later is dropped: it may be from before the next change.
    async fn read<T: Send + 'static>(
        &mut self,
        read: impl FnOnce() -> Result<T, ConfigError> + Send + 'static,
    ) -> Option<T> {
        let (stays, patience) = (self.stays, self.patience);
        if self.hanging.as_ref().is_some_and(|it| !it.is_finished()) {
            tracing::error!(
                "a file that was to be read again before still does not answer; {stays}: look at the disk or the mount that it is on"
            );
            return None;
        }
        let (told, telling) = tokio::sync::oneshot::channel();
        let reading = tokio::task::spawn_blocking(move || {
            // Nobody listens any more once it took too long.
            drop(told.send(read()));
        });
        match tokio::time::timeout(patience, telling).await {
            Ok(Ok(Ok(read))) => return Some(read),
            Ok(Ok(Err(error))) => {
                for mistake in error.mistakes {
                    tracing::error!("{mistake}; {stays}");
                }
            }
            Ok(Err(_)) => tracing::error!("a file was not read; {stays}"),
            Err(_) => {
                self.hanging = Some(reading);
                tracing::error!(
                    "a file could not be read within {patience:?}; {stays}: look at the disk or \
                     the mount that it is on, and send SIGHUP again"
                );
            }
        }
        None
    }
}

fn tell_certificate(tls: &Tls) {
    for note in tls.notes() {
        tracing::warn!("{note}");
    }
    let until = tls.expires().map(|time| time.to_string());
    tracing::info!(until, "the certificate was read again");
}

fn put_access(service: &Service, file: AccessFile, path: Option<&Path>) {
    let path = path.map(Path::display);
    let path = path.as_ref().map(ToString::to_string).unwrap_or_default();
    if file.tokens.is_empty() && service.needs_token() {
        tracing::error!(
            "{path}:1: there is no token in it any more, which would let everybody in; tokens and \
             quotas stay as they were: restart the server if that is meant"
        );
        return;
    }
    service.put_access(&file.tokens, &file.quotas);
    for note in file.notes {
        tracing::warn!("{note}");
    }
    tracing::info!(
        tokens = file.tokens.len(),
        quotas = file.quotas.len(),
        "the access file {path} was read again"
    );
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Guards that a file on a mount that hangs ends no reloading, takes one thread at most, and
    /// is not put in force late.
    #[tokio::test]
    async fn a_read_that_hangs_is_given_up() {
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
        reader.hanging.take().unwrap().await.unwrap();
        let mut reader = Reader::new("all stays", Duration::from_secs(60));
        assert_eq!(reader.read(|| Ok(3)).await, Some(3));
        let mistakes = vec!["wrong".to_owned()];
        let failed = reader.read::<u8>(|| Err(ConfigError { mistakes })).await;
        assert_eq!(failed, None);
        assert_eq!(reader.read(|| Ok(4)).await, Some(4));
    }
}
