//! What a SQLite file is, and what could lose a commit to it.

use std::path::Path;

use leafid::store::{StoreError, StoreReport, Weakness};
use sqlx::SqliteConnection;

use crate::private;
use crate::store::CallError;

pub(super) async fn inspect(
    connection: &mut SqliteConnection,
    path: &Path,
) -> Result<StoreReport, CallError> {
    let version: String = sqlx::query_scalar("SELECT sqlite_version()")
        .fetch_one(&mut *connection)
        .await?;
    let identity: String = sqlx::query_scalar("SELECT identity FROM leafid_file")
        .fetch_one(&mut *connection)
        .await?;
    let (synchronous, journal_mode) = settings(connection).await?;
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

/// Refuses a connection whose settings lose commits: those that it was opened with did not hold.
pub(super) async fn check_durable(connection: &mut SqliteConnection) -> Result<(), CallError> {
    let (synchronous, journal_mode) = settings(connection).await?;
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

async fn settings(connection: &mut SqliteConnection) -> Result<(i64, String), sqlx::Error> {
    let synchronous = sqlx::query_scalar("PRAGMA synchronous")
        .fetch_one(&mut *connection)
        .await?;
    let journal_mode = sqlx::query_scalar("PRAGMA journal_mode")
        .fetch_one(connection)
        .await?;
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

fn weakness(setting: &str, value: &str, wanted: &str, danger: &str) -> Weakness {
    let [setting, value, wanted, danger] = [setting, value, wanted, danger].map(str::to_owned);
    Weakness {
        setting,
        value,
        wanted,
        danger,
    }
}

/// What whoever starts a server on this file should know first.
pub(crate) fn file_notes(path: &Path) -> Vec<String> {
    let path = private::resolved(path);
    let shown = path.display();
    let mut notes = Vec::new();
    if std::fs::metadata(&path).map_or(true, |file| file.len() == 0) {
        notes.push(format!(
            "new store: there is no file {shown} yet, so it is made now and every tag begins at \
            its start; if ids were given before, stop this server and name the folder of the \
            former file with data-dir, or bring it back with `leafid store restore`"
        ));
    }
    let is_passing = |system: &str| {
        ["overlay", "aufs", "virtiofs"].contains(&system) || system.starts_with("fuse")
    };
    if let Some(system) = file_system(&path).filter(|system| is_passing(system)) {
        notes.push(format!(
            "the store {shown} is on a file system of the kind {system}, as containers and virtual \
            machines have: when the container goes, the file goes too, and a new one gives all \
            ids again; keep it on a volume that outlives the container, and name that with data-dir"
        ));
    }
    notes
}

/// The kind of file system that holds the path, where the kernel tells.
fn file_system(path: &Path) -> Option<String> {
    // The folder may not be there yet.
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
    use sqlx::Connection as _;

    /// Guards that a connection which does not flush each commit is refused, whatever set it so.
    #[tokio::test]
    async fn a_connection_that_loses_commits_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite:{}/leafid.db?mode=rwc", folder.path().display());
        let mut connection = SqliteConnection::connect(&url).await.expect("a new file");
        for (pragma, is_durable) in [
            ("journal_mode = WAL", true),
            ("synchronous = NORMAL", false),
            ("synchronous = OFF", false),
            ("synchronous = EXTRA", true),
            ("journal_mode = MEMORY", false),
            ("journal_mode = DELETE", true),
            ("journal_mode = OFF", false),
        ] {
            let set = sqlx::AssertSqlSafe(format!("PRAGMA {pragma}"));
            sqlx::raw_sql(set)
                .execute(&mut connection)
                .await
                .expect(pragma);
            let checked = check_durable(&mut connection).await;
            assert_eq!(checked.is_ok(), is_durable, "{pragma}: {checked:?}");
        }
    }
}
