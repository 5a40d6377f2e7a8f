//! Inspects a MySQL or MariaDB server: what it is, and which of its settings could lose a commit.

use std::collections::HashMap;

use leafid::store::{StoreReport, Weakness};
use sqlx::{MySqlConnection, Row};

use super::schema::Schema;
use crate::durability::weakness;
use crate::sql_error::SqlError;

/// The server's settings.
pub(super) struct Variables(HashMap<String, String>);

impl Variables {
    pub(super) async fn read(connection: &mut MySqlConnection) -> Result<Self, SqlError> {
        let show = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'version_comment', \
            'hostname', 'port', 'server_id', 'server_uuid', 'server_uid', 'gtid_mode', \
            'gtid_domain_id', 'datadir', 'innodb_flush_log_at_trx_commit', 'innodb_flush_method', \
            'sync_binlog', 'log_bin', 'read_only', 'wsrep_on', 'group_replication_group_name') \
            OR Variable_name LIKE 'rpl\\_semi\\_sync\\_%'";
        let mut variables = HashMap::new();
        for row in sqlx::raw_sql(show).fetch_all(connection).await? {
            let (name, value): (String, String) = (row.try_get(0)?, row.try_get(1)?);
            variables.insert(name.to_lowercase(), value);
        }
        Ok(Self(variables))
    }

    /// What the server is, as far as it and its tables show.
    pub(super) fn report(&self, schema: &Schema, is_listed: bool) -> StoreReport {
        let mut weaknesses = self.weaknesses();
        if is_listed {
            weaknesses.extend(self.weak_replication());
        }
        weaknesses.extend(schema.weaknesses.iter().cloned());
        StoreReport {
            product: self.product(),
            location: String::new(),
            identity: self.identity(),
            has_own_table: schema.shape.own.exists,
            missing: schema.shape.own.missing_names(),
            transport: None,
            weaknesses,
        }
    }

    /// The value of `read_only` if it is on.
    pub(super) fn read_only(&self) -> Option<&str> {
        let value = self.get("read_only");
        (!matches!(value, "OFF" | "0" | "")).then_some(value)
    }

    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn product(&self) -> String {
        let version = self.get("version");
        let is_mariadb =
            version.contains("MariaDB") || self.get("version_comment").contains("MariaDB");
        let name = if is_mariadb { "MariaDB" } else { "MySQL" };
        let number = version.split('-').next().unwrap_or(version);
        format!("{name} {number}")
    }

    /// The identity of the server, as far as it has one.
    pub(super) fn place(&self) -> String {
        format!("{} {}", self.identity(), self.get("datadir"))
    }

    fn identity(&self) -> String {
        let server = match (self.get("server_uuid"), self.get("server_uid")) {
            ("", "") => "server".to_owned(),
            ("", uid) => format!("server {uid}"),
            (uuid, _) => format!("server {uuid}"),
        };
        let gtid = match (self.get("gtid_mode"), self.get("gtid_domain_id")) {
            ("", "") => String::new(),
            ("", domain) => format!(", GTID domain {domain}"),
            (mode, _) => format!(", GTID mode {mode}"),
        };
        let [id, host, port] = ["server_id", "hostname", "port"].map(|name| self.get(name));
        format!("{server}, id {id} at {host}:{port}{gtid}")
    }

    fn weaknesses(&self) -> Vec<Weakness> {
        let flush = self.get("innodb_flush_log_at_trx_commit");
        let method = self.get("innodb_flush_method");
        let sync = self.get("sync_binlog");
        let read_only = self.read_only();
        let is_nosync = method.eq_ignore_ascii_case("nosync");
        let is_logged = self.get("log_bin") == "ON";
        let tests = [
            // MariaDB's value 3 flushes at every commit too, and once more.
            (!matches!(flush, "1" | "3" | ""), FLUSH, flush),
            (is_nosync, METHOD, method),
            (is_logged && !matches!(sync, "1" | ""), SYNC, sync),
            (
                read_only.is_some(),
                READ_ONLY,
                read_only.unwrap_or_default(),
            ),
        ];
        named(&tests)
    }

    /// For one of several servers: a commit must be on another one before it is acknowledged, so
    /// that a fail-over does not lose it.
    fn weak_replication(&self) -> Vec<Weakness> {
        if self.get("wsrep_on") == "ON" || !self.get("group_replication_group_name").is_empty() {
            return Vec::new();
        }
        // MySQL has used this name since 8.0.26.
        let is_source = self.0.contains_key("rpl_semi_sync_source_enabled");
        let [enabled, timeout, without] = if is_source {
            [SOURCE_ENABLED, SOURCE_TIMEOUT, SOURCE_WITHOUT]
        } else {
            [MASTER_ENABLED, MASTER_TIMEOUT, MASTER_WITHOUT]
        };
        let value = |[name, ..]: Danger| self.get(name);
        // Nothing is sent to a replica without a binary log.
        let is_logged = !matches!(self.get("log_bin"), "OFF" | "0");
        let is_on = matches!(value(enabled), "ON" | "1");
        let is_short = |text: &str| text.parse::<u64>().is_ok_and(|ms| ms < TIMEOUT_MS_MIN);
        let is_off = matches!(value(without), "OFF" | "0");
        let found = match value(enabled) {
            "" => "not there",
            value => value,
        };
        named(&[
            (!is_on, enabled, found),
            (!is_logged, BINLOG, self.get("log_bin")),
            (is_on && is_short(value(timeout)), timeout, value(timeout)),
            (is_on && is_off, without, value(without)),
        ])
    }
}

fn named(tests: &[(bool, Danger, &str)]) -> Vec<Weakness> {
    let weak = tests.iter().filter(|(is_weak, ..)| *is_weak);
    weak.map(|(_, [setting, wanted, danger], value)| weakness(setting, value, wanted, danger))
        .collect()
}

/// A setting, its safe value, and what can happen otherwise.
type Danger = [&'static str; 3];

const FLUSH: Danger = [
    "innodb_flush_log_at_trx_commit",
    "1",
    "a power cut loses up to a second of commits",
];
const METHOD: Danger = ["innodb_flush_method", "fsync", "a power cut loses commits"];
const SYNC: Danger = [
    "sync_binlog",
    "1",
    "after a power cut the replicas may have commits that the server lost",
];
const READ_ONLY: Danger = ["read_only", "OFF", "it is a replica, which may be behind"];

/// With a shorter wait, an ordinary outage of a replica ends it, and commits are then acknowledged
/// before they are replicated.
const TIMEOUT_MS_MIN: u64 = 86_400_000;

const LISTED: &str = "several servers are listed, and a fail-over loses what the next one has not \
    received";
const FALLS_BACK: &str = "without a replica commits are acknowledged after it all the same, and a \
    fail-over loses them";
const BINLOG: Danger = ["log_bin", "ON", LISTED];
const MASTER_ENABLED: Danger = ["rpl_semi_sync_master_enabled", "ON", LISTED];
const MASTER_TIMEOUT: Danger = ["rpl_semi_sync_master_timeout", "4294967295", FALLS_BACK];
const MASTER_WITHOUT: Danger = ["rpl_semi_sync_master_wait_no_slave", "ON", FALLS_BACK];
const SOURCE_ENABLED: Danger = ["rpl_semi_sync_source_enabled", "ON", LISTED];
const SOURCE_TIMEOUT: Danger = ["rpl_semi_sync_source_timeout", "4294967295", FALLS_BACK];
const SOURCE_WITHOUT: Danger = ["rpl_semi_sync_source_wait_no_replica", "ON", FALLS_BACK];
