//! What a SQLite file is, and what could lose a commit to it.

use std::path::Path;

use leafid::store::{StoreReport, Weakness};
use sqlx::SqliteConnection;

use crate::store::Fault;

pub(super) async fn inspect(
    connection: &mut SqliteConnection,
    path: &Path,
) -> Result<StoreReport, Fault> {
    let version: String = sqlx::query_scalar("SELECT sqlite_version()")
        .fetch_one(&mut *connection)
        .await?;
    let identity: String = sqlx::query_scalar("SELECT identity FROM leafid_file")
        .fetch_one(&mut *connection)
        .await?;
    let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous")
        .fetch_one(&mut *connection)
        .await?;
    let journal_mode: String = sqlx::query_scalar("PRAGMA journal_mode")
        .fetch_one(&mut *connection)
        .await?;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Ok(StoreReport {
        product: format!("SQLite {version}"),
        location: String::new(),
        identity: format!("{} {identity}", path.display()),
        has_own_table: true,
        weaknesses: weaknesses(synchronous, &journal_mode, &path),
    })
}

fn weaknesses(synchronous: i64, journal_mode: &str, path: &Path) -> Vec<Weakness> {
    let mut found = Vec::new();
    let mut weak = |setting: &str, value: &str, wanted: &str, danger: &str| {
        let [setting, value, wanted, danger] = [setting, value, wanted, danger].map(str::to_owned);
        found.push(Weakness {
            setting,
            value,
            wanted,
            danger,
        });
    };
    if synchronous < 2 {
        weak(
            "synchronous",
            &synchronous.to_string(),
            "FULL",
            "a power cut loses the last commits",
        );
    }
    if matches!(journal_mode, "memory" | "off") {
        weak(
            "journal_mode",
            journal_mode,
            "WAL",
            "a crash damages the file",
        );
    }
    if let Some(system) = file_system(path) {
        let danger = match system.as_str() {
            "tmpfs" | "ramfs" => "everything is lost when the machine stops",
            "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "ceph" | "glusterfs" => {
                "locks of a network file system do not keep two machines apart"
            }
            _ => return found,
        };
        weak(
            "the file system of the data folder",
            &system,
            "a local disk",
            danger,
        );
    }
    found
}

/// The kind of file system that holds the path, where the kernel tells.
fn file_system(path: &Path) -> Option<String> {
    let path = path.parent()?.canonicalize().ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?.replace("\\040", " "), fields.next()?))
    });
    let holders = mounts.filter(|(folder, _)| path.starts_with(folder));
    holders
        .max_by_key(|(folder, _)| folder.len())
        .map(|(_, system)| system.to_owned())
}
