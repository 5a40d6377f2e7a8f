//! Reading the access file again at SIGHUP, without dropping a connection. A file with a mistake
//! in it changes nothing.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use crate::config::AccessFile;
use crate::service::Service;

/// Reads the access file again at each SIGHUP, and logs what came of it. From the call on the
/// signal does not end the process any more; the future is never ready.
///
/// # Errors
///
/// When the system does not let the process listen for signals.
///
/// # Example
///
/// ```no_run
/// # fn example(service: std::sync::Arc<leafid_server::Service>) -> std::io::Result<()> {
/// let reloading = leafid_server::reload_on_hangup(service, "access.toml".into())?;
/// tokio::spawn(reloading);
/// # Ok(())
/// # }
/// ```
pub fn reload_on_hangup(
    service: Arc<Service>,
    path: PathBuf,
) -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        while hangup.recv().await.is_some() {
            let (service, path) = (Arc::clone(&service), path.clone());
            // The file may be on a slow disk, and this thread serves connections.
            let read = tokio::task::spawn_blocking(move || reload(&service, &path));
            let _read = read.await;
        }
    })
}

fn reload(service: &Service, path: &Path) {
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
