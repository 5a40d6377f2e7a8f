//! Inspects a Redis server: what it is, and which of its settings could lose an acknowledged lease.

use leafid::store::{StoreError, StoreReport, Transport, Weakness};
use redis::cmd;

use super::{Session, explain};
use crate::durability::weakness;

pub(super) async fn report(
    session: &mut Session,
    location: &str,
    transport: Option<Transport>,
) -> Result<StoreReport, StoreError> {
    let info: String = session.ask(&cmd("INFO")).await.map_err(explain)?;
    let info = Info(&info);
    let mut weaknesses = weaknesses_of(&info);
    for (setting, wanted, danger) in FLUSHING {
        let value = setting_of(session, setting).await?;
        if value.as_deref() != Some(*wanted) {
            let value = value
                .as_deref()
                .unwrap_or("unknown, as CONFIG GET is refused");
            weaknesses.push(weakness(setting, value, wanted, danger));
        }
    }
    Ok(StoreReport {
        product: info.product(),
        location: location.to_owned(),
        identity: info.get("run_id").to_owned(),
        has_own_table: true,
        missing: Vec::new(),
        transport,
        weaknesses,
    })
}

/// Setting, wanted value, danger.
const FLUSHING: &[(&str, &str, &str)] = &[
    (
        "appendfsync",
        "always",
        "a power cut can lose leases that were acknowledged",
    ),
    (
        "no-appendfsync-on-rewrite",
        "no",
        "nothing is flushed while the file is rewritten, so a power cut can lose leases",
    ),
];

/// `None` if the user may not read it or the server has no such setting.
async fn setting_of(session: &mut Session, setting: &str) -> Result<Option<String>, StoreError> {
    let mut get = cmd("CONFIG");
    get.arg("GET").arg(setting);
    match session.ask::<Vec<String>>(&get).await {
        Ok(pair) => Ok(pair.into_iter().nth(1)),
        Err(error) if error.is_io_error() => Err(explain(error)),
        Err(_) => Ok(None),
    }
}

fn weaknesses_of(info: &Info<'_>) -> Vec<Weakness> {
    let mut found = Vec::new();
    let role = info.get("role");
    if role != "master" {
        let danger = "rows may be old, and what is written here is lost";
        found.push(weakness("role", role, "master (name the primary)", danger));
    }
    if info.get("aof_enabled") != "1" {
        let danger = "a restart loses every lease since the last snapshot";
        found.push(weakness("appendonly", "no", "yes", danger));
    }
    let policy = info.get("maxmemory_policy");
    if policy.starts_with("allkeys-") {
        let danger = "the leases are deleted when memory is full";
        found.push(weakness("maxmemory-policy", policy, "noeviction", danger));
    }
    let replicas = info.get("connected_slaves");
    if !matches!(replicas, "" | "0") {
        let danger = "replicas lag, so a fail-over to one can lose leases that were acknowledged";
        let wanted = "0 (REPLICAOF NO ONE on each replica), or keep worker ids in etcd, ZooKeeper or a \
            database";
        found.push(weakness("the number of replicas", replicas, wanted, danger));
    }
    found
}

/// The answer to `INFO`: a line `name:value` each.
struct Info<'a>(&'a str);

impl Info<'_> {
    /// Empty if the server does not report it.
    fn get(&self, name: &str) -> &str {
        let pairs = self.0.lines().filter_map(|line| line.split_once(':'));
        let mut values = pairs.filter(|(key, _)| *key == name);
        values.next().map_or("", |(_, value)| value.trim_end())
    }

    fn product(&self) -> String {
        match self.get("valkey_version") {
            "" => format!("Redis {}", self.get("redis_version")),
            version => format!("Valkey {version}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(info: &str, settings: &[&str]) {
        let found = weaknesses_of(&Info(info));
        let found: Vec<_> = found
            .iter()
            .map(|weakness| weakness.setting.as_str())
            .collect();
        assert_eq!(found, settings, "{info}");
    }

    #[test]
    fn weak_settings_are_named() {
        check(
            "role:master\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\nconnected_slaves:0\r\n",
            &[],
        );
        check(
            "role:master\r\naof_enabled:1\r\nmaxmemory_policy:volatile-lru\r\n",
            &[],
        );
        check(
            "role:slave\r\naof_enabled:0\r\nmaxmemory_policy:allkeys-lru\r\nconnected_slaves:2\r\n",
            &[
                "role",
                "appendonly",
                "maxmemory-policy",
                "the number of replicas",
            ],
        );
        check("", &["role", "appendonly"]);
    }

    #[test]
    fn products_are_told_apart() {
        assert_eq!(Info("redis_version:7.0.15\r\n").product(), "Redis 7.0.15");
        assert_eq!(
            Info("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\n").product(),
            "Valkey 8.1.0"
        );
    }
}
