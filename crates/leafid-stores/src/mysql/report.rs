//! What a MySQL or MariaDB server is, and which of its settings could lose a commit.

use std::collections::HashMap;

use leafid::store::{StoreReport, Weakness};
use sqlx::{MySqlConnection, Row};

use crate::store::Fault;

pub(super) async fn inspect(
    connection: &mut MySqlConnection,
    has_own_table: bool,
) -> Result<StoreReport, Fault> {
    let show = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'version_comment', \
        'hostname', 'port', 'server_id', 'server_uuid', 'server_uid', 'gtid_mode', \
        'gtid_domain_id', 'innodb_flush_log_at_trx_commit', 'innodb_flush_method', \
        'sync_binlog', 'log_bin', 'read_only')";
    let mut variables = HashMap::new();
    for row in sqlx::raw_sql(show).fetch_all(&mut *connection).await? {
        let (name, value): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        variables.insert(name.to_lowercase(), value);
    }
    let engines = "SELECT CAST(table_name AS CHAR), CAST(COALESCE(engine, '') AS CHAR) \
        FROM information_schema.tables WHERE table_schema = DATABASE() \
        AND table_name IN ('leaf_alloc', 'leafid_tag', 'leafid_worker', 'leafid_pool')";
    let mut weaknesses = Vec::new();
    for row in sqlx::raw_sql(engines).fetch_all(&mut *connection).await? {
        let (table, engine): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        weaknesses.extend(weak_engine(&table, &engine));
    }
    let variables = Variables(variables);
    weaknesses.splice(0..0, variables.weaknesses());
    Ok(StoreReport {
        product: variables.product(),
        location: String::new(),
        identity: variables.identity(),
        has_own_table,
        weaknesses,
    })
}

fn weak_engine(table: &str, engine: &str) -> Option<Weakness> {
    let is_weak = !engine.eq_ignore_ascii_case("InnoDB");
    is_weak.then(|| Weakness {
        setting: format!("the engine of {table}"),
        value: engine.to_owned(),
        wanted: "InnoDB".into(),
        danger: "the table has no transactions, and a crash loses its last changes".into(),
    })
}

struct Variables(HashMap<String, String>);

impl Variables {
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
        let read_only = self.get("read_only");
        let is_nosync = method.eq_ignore_ascii_case("nosync");
        let is_logged = self.get("log_bin") == "ON";
        let tests = [
            // MariaDB's 3 flushes at every commit too, and once more.
            (!matches!(flush, "1" | "3" | ""), FLUSH, flush),
            (is_nosync, METHOD, method),
            (is_logged && !matches!(sync, "1" | ""), SYNC, sync),
            (!matches!(read_only, "OFF" | "0" | ""), READ_ONLY, read_only),
        ];
        let weak = tests.into_iter().filter(|(is_weak, ..)| *is_weak);
        weak.map(|(_, [setting, wanted, danger], value)| Weakness {
            setting: setting.to_owned(),
            value: value.to_owned(),
            wanted: wanted.to_owned(),
            danger: danger.to_owned(),
        })
        .collect()
    }
}

/// A setting, what it should be, and what can happen if it is not.
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
