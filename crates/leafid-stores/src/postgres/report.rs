//! What a PostgreSQL server is, and which of its settings could lose a commit.

use std::collections::HashMap;

use leafid::store::{StoreReport, Weakness};
use sqlx::Row;

use super::connect::Session;
use crate::store::Fault;

pub(super) async fn inspect(session: &mut Session) -> Result<StoreReport, Fault> {
    let connection = &mut session.connection;
    let show = "SELECT name, setting FROM pg_settings WHERE name IN ('server_version', 'fsync', \
        'full_page_writes', 'synchronous_commit')";
    let mut settings = HashMap::new();
    for row in sqlx::raw_sql(show).fetch_all(&mut *connection).await? {
        let (name, value): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        settings.insert(name, value);
    }
    let who = "SELECT (SELECT system_identifier::text FROM pg_control_system()), \
        (SELECT timeline_id::text FROM pg_control_checkpoint()), pg_is_in_recovery()";
    let row = sqlx::raw_sql(who).fetch_one(&mut *connection).await?;
    let (system, timeline): (String, String) = (row.try_get(0)?, row.try_get(1)?);
    let version = settings.get("server_version").map_or("", String::as_str);
    Ok(StoreReport {
        product: format!(
            "PostgreSQL {}",
            version.split(' ').next().unwrap_or(version)
        ),
        location: String::new(),
        identity: format!("system {system}, timeline {timeline}"),
        has_own_table: session.has_own_table,
        weaknesses: weaknesses(&settings, row.try_get(2)?),
    })
}

fn weaknesses(settings: &HashMap<String, String>, is_in_recovery: bool) -> Vec<Weakness> {
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
    let is_off = |name: &str| settings.get(name).is_some_and(|value| value == "off");
    if is_off("fsync") {
        weak(
            "fsync",
            "off",
            "on",
            "a power cut loses commits or the whole database",
        );
    }
    if is_off("full_page_writes") {
        weak(
            "full_page_writes",
            "off",
            "on",
            "a power cut leaves torn pages",
        );
    }
    // Ours is on; it is off when something between us and the server drops the setting.
    if is_off("synchronous_commit") {
        weak(
            "synchronous_commit",
            "off",
            "on",
            "a crash loses the last commits",
        );
    }
    if is_in_recovery {
        weak(
            "pg_is_in_recovery",
            "true",
            "false",
            "it is a standby, which may be behind",
        );
    }
    found
}
