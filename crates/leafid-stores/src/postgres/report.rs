//! Inspects a PostgreSQL server: what it is, and which of its settings could lose a commit.

use leafid::store::{StoreReport, Weakness};

use super::schema::Schema;
use crate::durability::weakness;

/// What the server is; `is_listed`, if another one takes over from it.
pub(super) fn report(schema: &Schema, is_listed: bool) -> StoreReport {
    let mut weaknesses = weaknesses(schema, is_listed);
    let version = schema.get("server_version");
    let number = version.split(' ').next().unwrap_or(version);
    let product = format!("PostgreSQL {number}");
    let [system, timeline] = ["system", "timeline"].map(|name| schema.get(name));
    let identity = format!("system {system}, timeline {timeline}");
    weaknesses.extend(schema.weaknesses.iter().cloned());
    StoreReport {
        product,
        location: String::new(),
        identity,
        has_own_table: schema.own.exists,
        missing: schema.own.missing_names(),
        transport: None,
        weaknesses,
    }
}

fn weaknesses(schema: &Schema, is_listed: bool) -> Vec<Weakness> {
    let is_off = |name| schema.get(name) == "off";
    let commit = schema.get("synchronous_commit");
    let tests = [
        (
            is_off("fsync"),
            ["fsync", "off", "on"],
            "a power cut loses commits or the whole database",
        ),
        (
            is_off("full_page_writes"),
            ["full_page_writes", "off", "on"],
            "a power cut leaves torn pages",
        ),
        // Our session setting is on; it is off if a proxy between us and the server drops it.
        (
            is_off("synchronous_commit"),
            ["synchronous_commit", "off", "on"],
            "a crash loses the last commits",
        ),
        (
            is_listed && commit == "local",
            ["synchronous_commit", "local", "on"],
            LISTED,
        ),
        (
            is_listed && schema.get("synchronous_standby_names").is_empty(),
            [
                "synchronous_standby_names",
                "empty",
                "the names of the other servers",
            ],
            LISTED,
        ),
        (
            schema.get("recovery") == "true",
            ["pg_is_in_recovery", "true", "false"],
            "it is a standby, which may be behind",
        ),
    ];
    let weak = tests.into_iter().filter(|(is_weak, ..)| *is_weak);
    weak.map(|(_, [setting, value, wanted], danger)| weakness(setting, value, wanted, danger))
        .collect()
}

const LISTED: &str = "several servers are listed, and a fail-over loses what the next one has not \
    received";
