//! Inspects a SQLite file: what it is, and what could lose a commit.

use std::path::Path;

use leafid::store::{StoreError, StoreReport, Weakness};
use rusqlite::Connection;

use crate::durability::weakness;
use crate::private;
use crate::sql_error::CallError;

pub(super) fn inspect(connection: &Connection, path: &Path) -> Result<StoreReport, CallError> {
    let text = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0));
    let version = text("SELECT sqlite_version()")?;
    let identity = text("SELECT identity FROM leafid_file")?;
    let (synchronous, journal_mode) = settings(connection)?;
    let mut weaknesses = weak_settings(synchronous, &journal_mode);
    weaknesses.extend(weak_place(path));
    Ok(StoreReport {
        product: format!("SQLite {version}"),
        location: String::new(),
        identity: format!("{} {identity}", path.display()),
        has_own_table: true,
        missing: Vec::new(),
        transport: None,
        weaknesses,
    })
}

/// Refuses a connection whose settings lose commits: the settings of its opening did not take
/// effect.
pub(super) fn check_durable(connection: &Connection) -> Result<(), CallError> {
    let (synchronous, journal_mode) = settings(connection)?;
    let found = weak_settings(synchronous, &journal_mode);
    let Some(weakness) = found.first() else {
        return Ok(());
    };
    Err(StoreError::unavailable(
        format!("SQLite does not keep what it acknowledges: {weakness}"),
        "the connection was opened with that setting",
    )
    .into())
}

fn settings(connection: &Connection) -> rusqlite::Result<(i64, String)> {
    let synchronous = connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
    let journal_mode = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    Ok((synchronous, journal_mode))
}

fn weak_settings(synchronous: i64, journal_mode: &str) -> Vec<Weakness> {
    let mut found = Vec::new();
    if synchronous < 2 {
        found.push(weakness(
            "synchronous",
            &synchronous.to_string(),
            "FULL",
            "a power cut loses the last commits",
        ));
    }
    if matches!(journal_mode, "memory" | "off") {
        found.push(weakness(
            "journal_mode",
            journal_mode,
            "WAL",
            "a crash damages the file",
        ));
    }
    found
}

fn weak_place(path: &Path) -> Option<Weakness> {
    let system = file_system(path)?;
    let danger = match system.as_str() {
        "tmpfs" | "ramfs" => "everything is lost when the machine stops",
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "ceph" | "glusterfs" => {
            "locks of a network file system do not keep two machines apart"
        }
        _ => return None,
    };
    let setting = "the file system of the data folder";
    Some(weakness(setting, &system, "a local disk", danger))
}

/// Warnings for an operator before a server starts on this file.
pub(crate) fn file_notes(path: &Path) -> Vec<String> {
    let path = private::resolved(path);
    let shown = path.display();
    let mut notes = Vec::new();
    let is_new = match std::fs::metadata(&path) {
        Ok(file) => file.is_file() && file.len() == 0,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if is_new {
        notes.push(format!(
            "new store: the file {shown} is missing or empty, so it is created now and every tag \
            begins at its start; if ids were issued before, stop this server and name the folder of \
            the former file in the URL of its store, or restore a copy of it"
        ));
    }
    let is_passing = |system: &str| {
        ["overlay", "aufs", "virtiofs"].contains(&system) || system.starts_with("fuse")
    };
    if let Some(system) = file_system(&path).filter(|system| is_passing(system)) {
        notes.push(format!(
            "the store {shown} is on a file system of the kind {system}, as in a container: it is \
            deleted with the container, and a new file would repeat all ids; keep it on a volume \
            that outlives the container, and set data-dir to that"
        ));
    }
    notes
}

/// The kind of file system at the path, if the kernel knows it.
fn file_system(path: &Path) -> Option<String> {
    // The folder may not exist yet.
    let mut folders = path.ancestors().skip(1);
    let path = folders.find_map(|folder| folder.canonicalize().ok())?;
    let mounts = private::mounts().into_iter();
    let holders = mounts.filter(|(folder, _)| path.starts_with(folder));
    holders
        .max_by_key(|(folder, _)| folder.as_os_str().len())
        .map(|(_, system)| system)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that a connection which does not flush each commit is refused, whatever the cause.
    #[test]
    fn a_connection_that_loses_commits_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let connection = Connection::open(folder.path().join("leafid.db")).expect("a new file");
        for (pragma, is_durable) in [
            ("journal_mode = WAL", true),
            ("synchronous = NORMAL", false),
            ("synchronous = OFF", false),
            ("synchronous = EXTRA", true),
            ("journal_mode = MEMORY", false),
            ("journal_mode = DELETE", true),
            ("journal_mode = OFF", false),
        ] {
            let set = connection.execute_batch(&format!("PRAGMA {pragma}"));
            set.expect(pragma);
            let checked = check_durable(&connection);
            assert_eq!(checked.is_ok(), is_durable, "{pragma}: {checked:?}");
        }
    }
}
