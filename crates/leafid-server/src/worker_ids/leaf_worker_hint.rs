//! The worker id that Java Leaf recorded on this machine: a hint for a server that never had one.
//! It is claimed like any other, so that a wrong or forged record does no harm.

use std::path::Path;

use leafid::WorkerId;
use leafid_stores::leaf_worker_file;

use crate::config::{WorkerConfig, WorkerIdSource};

/// What Java Leaf's `workerID.properties` says, if the settings name the port under which it was
/// written, in `dir`, the folder for temporary files. A file that cannot be read is only logged:
/// the server needs no hint.
pub(super) fn read(workers: &WorkerConfig, dir: &Path) -> Option<WorkerId> {
    if workers.id != WorkerIdSource::Registry {
        return None;
    }
    match leaf_worker_file(dir, &workers.pool, port(workers)?) {
        Ok(number) => {
            let worker = number.map(WorkerId::new)?;
            tracing::info!(%worker, "Java Leaf had this worker id here; it is asked for once if this server never had one");
            Some(worker)
        }
        Err(error) => {
            let error = error.to_string();
            tracing::warn!(
                error,
                "the worker id that Java Leaf had here is not known; any free one is taken"
            );
            None
        }
    }
}

/// The port of Java Leaf: that of the address to take over, else the one in its own settings.
fn port(workers: &WorkerConfig) -> Option<u16> {
    let set = workers.address.rsplit_once(':');
    let port = set.and_then(|(_, port)| port.parse().ok());
    port.or(workers.leaf_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: &str = "com.example.leaf";

    /// A folder with the records of these ports.
    fn notes(ports: &[(u16, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (port, text) in ports {
            let folder = dir.path().join(format!("{POOL}/leafconf/{port}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("workerID.properties"), text).unwrap();
        }
        dir
    }

    #[test]
    fn the_note_is_found_by_the_port() {
        let dir = notes(&[
            (8080, "workerID=7"),
            (2181, "workerID=8"),
            (9, "workerID=x"),
        ]);
        let check = |address: &str, leaf_port: Option<u16>, wanted: Option<u32>| {
            let workers = WorkerConfig {
                pool: POOL.into(),
                address: address.into(),
                leaf_port,
                ..WorkerConfig::default()
            };
            let wanted = wanted.map(WorkerId::new);
            assert_eq!(
                read(&workers, dir.path()),
                wanted,
                "{address} {leaf_port:?}"
            );
        };
        check("10.0.0.5:8080", None, Some(7));
        check("10.0.0.5:8080", Some(2181), Some(7));
        check("", Some(2181), Some(8));
        check("", None, None);
        check("10.0.0.5:8081", Some(2181), None);
        check("10.0.0.5:9", None, None);
    }

    #[test]
    fn who_has_a_number_needs_no_hint() {
        let dir = notes(&[(8080, "workerID=7")]);
        for id in [WorkerIdSource::Fixed(3), WorkerIdSource::Ordinal] {
            let workers = WorkerConfig {
                pool: POOL.into(),
                leaf_port: Some(8080),
                id,
                ..WorkerConfig::default()
            };
            assert_eq!(read(&workers, dir.path()), None);
        }
    }
}
