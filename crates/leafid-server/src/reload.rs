//! Reading files again at SIGHUP, without dropping a connection: the access file, and the
//! certificate. A file with a mistake in it changes nothing.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use crate::config::AccessFile;
use crate::service::Service;
use crate::tls::Tls;

/// Reads the access file and the certificate again at each SIGHUP, those that there are, and logs
/// what came of it. From the call on the signal does not end the process any more; the future is
/// never ready.
///
/// # Errors
///
/// When the system does not let the process listen for signals.
///
/// # Example
///
/// ```no_run
/// # fn example(service: std::sync::Arc<leafid_server::Service>) -> std::io::Result<()> {
/// let reloading = leafid_server::reload_on_hangup(service, Some("access.toml".into()), None)?;
/// tokio::spawn(reloading);
/// # Ok(())
/// # }
/// ```
pub fn reload_on_hangup(
    service: Arc<Service>,
    access_file: Option<PathBuf>,
    tls: Option<Arc<Tls>>,
) -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        while hangup.recv().await.is_some() {
            let (service, access_file, tls) =
                (Arc::clone(&service), access_file.clone(), tls.clone());
            // The files may be on a slow disk, and this thread serves connections.
            let read = tokio::task::spawn_blocking(move || {
                if let Some(path) = access_file {
                    reload_access(&service, &path);
                }
                if let Some(tls) = tls {
                    reload_tls(&tls);
                }
            });
            let _read = read.await;
        }
    })
}

fn reload_tls(tls: &Tls) {
    if let Err(error) = tls.read_again() {
        for mistake in error.mistakes {
            tracing::error!("{mistake}; the certificate stays as it was");
        }
        return;
    }
    for note in tls.notes() {
        tracing::warn!("{note}");
    }
    let until = tls.expires().map(|time| time.to_string());
    tracing::info!(until, "the certificate was read again");
}

fn reload_access(service: &Service, path: &Path) {
    let file = match AccessFile::read(path, service.limits()) {
        Ok(file) => file,
        Err(error) => {
            for mistake in error.mistakes {
                tracing::error!("{mistake}; tokens and quotas stay as they were");
            }
            return;
        }
    };
    if file.tokens.is_empty() && service.needs_token() {
        tracing::error!(
            "{}:1: there is no token in it any more, which would let everybody in; tokens and \
             quotas stay as they were: restart the server if that is meant",
            path.display()
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
        "the access file {} was read again",
        path.display()
    );
}
