//! `SETTINGS`: the one table of settings. A new setting is a field of `Config` and a row here.

mod access;
mod bounds;
mod connections;
mod tls;
mod traces;
mod workers;

use std::fmt;
use std::time::Duration;

use leafid::StepPolicy;
use leafid::store::TagSettings;

use bounds::{CENTURY, DAY, HOUR, MINUTE, SECOND, TEN_MINUTES, TENTH};

use super::setting::{Field, Setting};
use super::values::{Config, LogFormat};

/// Every setting, in the order of the documentation.
///
/// # Example
///
/// ```
/// let keys: Vec<_> = leafid_server::SETTINGS.iter().map(|setting| setting.key).collect();
/// assert!(keys.contains(&"http") && keys.contains(&"store"));
/// ```
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "http",
        doc: "Where HTTP listens. Port 0 picks a free port, which is printed at start. The \
              default can be reached from this machine only; 0.0.0.0:8080 opens it to the \
              network, which requires `access-file` with tokens, `tls-client-ca`, or \
              `insecure`.",
        field: Field::Address(|config| &mut config.http),
    },
    Setting {
        key: "resp",
        doc: "Where the Redis protocol listens, for any Redis client: INCR order. off \
              disables it and frees the port. An address that other machines can reach has \
              the same requirements as for `http`.",
        field: Field::AddressOrOff(|config| &mut config.resp),
    },
    Setting {
        key: "grpc",
        doc: "Where gRPC listens. off disables it and frees the port. An address that other \
              machines can reach has the same requirements as for `http`.",
        field: Field::AddressOrOff(|config| &mut config.grpc),
    },
    tls::CERT,
    tls::KEY,
    tls::CLIENT_CA,
    tls::PLAIN,
    connections::CONNECTIONS_MAX,
    connections::CONNECTIONS_PER_ADDRESS,
    connections::UNREAD_MAX,
    connections::CONNECTION_UNREAD_MAX,
    Setting {
        key: "data-dir",
        doc: "The directory of the embedded store (SQLite), which is used if `store` is \
              empty, and of the journal of snowflake ids. Created if it does not exist. Keep \
              it on a local disk, and never put an old copy of it back, because ids would \
              repeat: `leafid store restore` brings a backup back safely.",
        field: Field::Path(|config| &mut config.data_dir),
    },
    Setting {
        key: "store",
        doc: "The store that ids are reserved from, such as mysql://leaf@db:3306/leaf, \
              postgres://leafid@db/leafid or sqlite:ids.db. Several URLs are a fail-over \
              list of *one* replicated database, tried in order: two databases that do not \
              replicate each other issue the same ids twice. Empty: SQLite in `data-dir`.",
        field: Field::Urls(|config| &mut config.store),
    },
    Setting {
        key: "store-password",
        doc: "The password for every URL in `store` that has none. There is no flag for it, \
              because other users of the machine can see command lines; \
              `store-password-file` keeps it out of the environment too.",
        field: Field::Password,
    },
    Setting {
        key: "store-password-file",
        doc: "A file whose first line is the password, such as a mounted secret. Read once, \
              at start. Do not set `store-password` as well.",
        field: Field::PasswordFile,
    },
    Setting {
        key: "allow-weak-store",
        doc: "Use a store although one of its settings can lose an acknowledged reservation. \
              Such a store issues ids twice after a power failure or a fail-over; `leafid \
              store check` names the setting to change instead. Every connection to a \
              database is checked, so this allows the weaknesses of every server in `store` \
              and `registry`, including those that take over later.",
        field: Field::Switch(|config| &mut config.allow_weak_store),
    },
    Setting {
        key: "store-connections",
        doc: "The maximum number of connections to the store. Reserving a segment needs one \
              connection for one statement, so a few serve thousands of tags; more help only \
              while many tags are used for the first time at once, and each costs the \
              database memory. The registry of worker ids has two more, and the audit log one; \
              a registry that answers slowly has up to ten besides.",
        field: Field::Count(1..=1000, |config| Some(&mut config.store_connections)),
    },
    Setting {
        key: "store-connect-timeout",
        doc: "How long connecting to the store may take. A shorter time reaches the next URL \
              of a fail-over list sooner; a longer one tolerates a slow network.",
        field: Field::Time(TENTH..=MINUTE, |config| {
            Some(&mut config.store_connect_timeout)
        }),
    },
    Setting {
        key: "store-statement-timeout",
        doc: "How long a call to the store may take in total, connecting included. After \
              that its outcome is unknown and the segment counts as lost: a shorter time \
              detects a hanging store sooner; one that is too short wastes segments on a \
              slow store.",
        field: Field::Time(TENTH..=MINUTE, |config| {
            Some(&mut config.store_statement_timeout)
        }),
    },
    Setting {
        key: "store-probe-interval",
        doc: "How often the store is probed while no reservation shows that it works, and \
              how long the answer may take. An outage and its end are noticed within twice \
              that time. Shorter probes an idle store more often; longer tolerates a store \
              that answers slowly.",
        field: Field::Time(TENTH..=MINUTE, |config| {
            Some(&mut config.store_probe_interval)
        }),
    },
    Setting {
        key: "segment",
        doc: "Whether segment ids are served. When off, every request for one is refused \
              with an error that says so (Leaf returns 0).",
        field: Field::Switch(|config| &mut config.segment),
    },
    Setting {
        key: "create-tags",
        doc: "Whether a tag is created on first use, by a request for an id of it. \
              Convenient on one machine; on a shared database a typo creates a tag. auto: \
              yes with SQLite, no with a database server. If `access-file` has tokens, only \
              admin tokens create tags, on first use or otherwise.",
        field: Field::AutoSwitch(|config| &mut config.create_tags),
    },
    access::CREATE_TAGS_PER_MINUTE,
    Setting {
        key: "periods-kept",
        doc: "How long the tags of past periods of calendar counters are kept, such as \
              order@20261122 of a tag order that restarts each day. When a period begins, older \
              ones are deleted, 100 at most. A period that begins again, because a clock went \
              back, continues after its last number all the same.",
        field: Field::Time(DAY..=CENTURY, |config| Some(&mut config.periods_kept)),
    },
    Setting {
        key: "step",
        doc: "The smallest segment of a tag that is created without a step of its own. \
              Larger means fewer statements while a tag is new; a crash loses up to two \
              segments of each tag in use. Existing tags keep their step.",
        field: Field::Count(1..=TagSettings::STEP_MAX as u64, |config| {
            Some(&mut config.step)
        }),
    },
    Setting {
        key: "policy",
        doc: "How segments grow, for tags without a policy of their own. cover: a segment \
              lasts for `cover` at the measured rate. leaf: Leaf's rule, doubled when used \
              up within 15 minutes, halved after 30. fixed: always the tag's own step, which \
              loses the fewest ids in a crash and puts the most load on the store.",
        field: Field::Choice {
            value: "NAME",
            names: &["cover", "leaf", "fixed"],
            get: |config| config.policy.name().to_owned(),
            set: |config, name| {
                config.policy = StepPolicy::from_name(name).unwrap_or(config.policy);
            },
        },
    },
    Setting {
        key: "cover",
        doc: "How long one segment should last under the policy `cover`. With two segments \
              in memory the store can be down for `cover` to twice `cover` before clients \
              notice; a crash loses up to 2 * rate * `cover` ids of a tag.",
        field: Field::Time(SECOND..=DAY, |config| match &mut config.policy {
            StepPolicy::Cover { cover, .. } => Some(cover),
            _ => None,
        }),
    },
    Setting {
        key: "step-max",
        doc: "The longest segment under the policies `cover` and `leaf`. It bounds what a \
              crash can lose: at most 2 * `step-max` ids of a tag. Default: 10000000 with \
              `cover`, 1000000 with `leaf`, as in Leaf.",
        field: Field::Count(1..=1_000_000_000_000, |config| match &mut config.policy {
            StepPolicy::Cover { step_max, .. } | StepPolicy::Leaf { step_max } => Some(step_max),
            StepPolicy::Fixed => None,
        }),
    },
    Setting {
        key: "wait-max",
        doc: "How long a request waits for a segment that is being reserved. Longer hides \
              longer failures of the store from clients, but keeps more requests waiting; \
              after it, clients are told when to retry.",
        field: Field::Time(Duration::ZERO..=MINUTE, |config| Some(&mut config.wait_max)),
    },
    Setting {
        key: "refresh-interval",
        doc: "How often the rows of tags in use are read again, 500 tags per statement. \
              Shorter notices a changed or deleted tag sooner. New tags are noticed at once, \
              whatever the interval.",
        field: Field::Time(SECOND..=HOUR, |config| Some(&mut config.refresh_interval)),
    },
    Setting {
        key: "regression-margin",
        doc: "How many ids of a tag are skipped when its store went back in time, such as \
              after restoring a backup or promoting a replica that lagged. Other servers may \
              have issued ids beyond those of this one, which must not be issued again: more \
              is safer, but uses up a tag near its limit. auto: the largest of sixteen times \
              the longest segment that any server recorded for the tag, sixteen times the \
              longest that the policy here allows, and twice what other servers drew between \
              two segments of this one. In a database without the column `segment_max` of \
              `leafid_tag`, which `leafid store init` creates, no server records it, and all \
              servers should have the same `step-max`.",
        field: Field::Text {
            value: "COUNT",
            allowed: "auto, or a number of ids",
            get: |config| {
                let margin = config.regression_margin;
                margin.map_or_else(|| "auto".to_owned(), |margin| margin.to_string())
            },
            set: |config, text| {
                config.regression_margin = match text {
                    "auto" => None,
                    text => Some(text.parse().map_err(|_| {
                        format!("{text} is neither auto nor a number from 0 to {}", u64::MAX)
                    })?),
                };
                Ok(())
            },
        },
    },
    workers::SNOWFLAKE,
    workers::REGISTRY,
    workers::REGISTRY_PASSWORD,
    workers::REGISTRY_PASSWORD_FILE,
    workers::WORKER_POOL,
    workers::WORKER_ID,
    workers::WORKER_ADDRESS,
    workers::LAYOUT,
    workers::SHARD,
    workers::CLOCK_POLICY,
    workers::AHEAD_MAX,
    workers::WORKER_LEASE,
    workers::REGISTRY_CHECK,
    workers::CLOCK_OFFSET_MAX,
    workers::WORKER_STEP,
    workers::JOURNAL_AHEAD,
    Setting {
        key: "tags-max",
        doc: "How many tags may be in use at once, at about 1.3 kB each. Names that were \
              requested but never issued an id make room, oldest first; tags that issued ids \
              stay as long as their rows do, and a new tag beyond the limit is refused, so that \
              clients that invent tags cannot fill the memory. An idle tag is found to be \
              deleted, as a period of a calendar counter is in time, within two hours.",
        field: Field::Count(1..=100_000_000, |config| Some(&mut config.tags_max)),
    },
    Setting {
        key: "threads",
        doc: "How many threads serve requests; 0 means one per core. More serve more \
              requests at once and cost some memory each; 1 leaves the other cores to other \
              programs.",
        field: Field::Count(0..=1024, |config| Some(&mut config.threads)),
    },
    access::ACCESS_FILE,
    access::FORMAT_KEYS,
    access::FORMAT_KEY_LINES,
    access::INSECURE,
    access::ALLOWED_HOSTS,
    Setting {
        key: "shutdown-delay",
        doc: "How long the server keeps serving after SIGTERM or SIGINT while it reports \
              that it is not ready. Behind a load balancer it should be longer than the \
              balancer takes to notice, such as 5s in Kubernetes: connections that arrive \
              meanwhile are served, and each answer asks the client to connect elsewhere. 0s \
              stops at once, which is right without a load balancer.",
        field: Field::Time(Duration::ZERO..=TEN_MINUTES, |config| {
            Some(&mut config.shutdown_delay)
        }),
    },
    Setting {
        key: "shutdown-grace",
        doc: "How long a stop may take after SIGTERM or SIGINT and after `shutdown-delay`. \
              Requests in flight are finished; a quarter of it, at most 2 s, is kept for \
              writing the audit log and giving the worker id back. When it is over, or at a \
              second signal, connections are cut. \
              Keep the sum of both below the time after which the process is killed (30 s in \
              Kubernetes).",
        field: Field::Time(Duration::ZERO..=TEN_MINUTES, |config| {
            Some(&mut config.shutdown_grace)
        }),
    },
    Setting {
        key: "log",
        doc: "How much is logged to standard error. warn leaves alarms and failures of the \
              store; debug adds a line for each segment. No level logs single ids.",
        field: Field::Choice {
            value: "LEVEL",
            names: &["off", "error", "warn", "info", "debug", "trace"],
            get: |config| config.log.to_string(),
            set: |config, name| config.log = name.parse().unwrap_or(config.log),
        },
    },
    Setting {
        key: "log-format",
        doc: "The format of log lines. text is for people, json for programs that collect \
              logs.",
        field: Field::Choice {
            value: "FORMAT",
            names: &["text", "json"],
            get: |config| match config.log_format {
                LogFormat::Text => "text".to_owned(),
                LogFormat::Json => "json".to_owned(),
            },
            set: |config, name| {
                config.log_format = match name {
                    "json" => LogFormat::Json,
                    _ => LogFormat::Text,
                };
            },
        },
    },
    traces::OTLP_ENDPOINT,
    traces::OTLP_SAMPLE,
    traces::OTLP_SERVICE,
];

impl Setting {
    /// The setting of that key.
    #[must_use]
    pub fn find(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }
}

/// Shows every setting, without passwords.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = SETTINGS.iter().map(|row| (row.key, row.shown(self)));
        f.debug_map().entries(rows).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::workers::WorkerConfig;

    /// Guards that every row reads back what it shows, and that defaults are within the limits.
    #[test]
    fn every_default_can_be_written_down() {
        for setting in SETTINGS {
            let text = setting.default();
            if text.is_empty() {
                continue;
            }
            let mut config = Config::default();
            let applied = setting.apply(&mut config, &[text]);
            assert_eq!(applied, Ok(()), "{}", setting.key);
            assert_eq!(config, Config::default(), "{}", setting.key);
        }
    }

    /// Kubernetes sets `LEAFID_PORT` and `LEAFID_SERVICE_HOST` in every pod beside a service named
    /// `leafid`; they are ignored, so no setting may have such a name.
    #[test]
    fn no_setting_is_named_like_a_variable_of_kubernetes() {
        for setting in SETTINGS {
            assert!(!setting.key.starts_with("port"), "{}", setting.key);
            assert!(!setting.key.starts_with("service"), "{}", setting.key);
        }
    }

    #[test]
    fn every_doc_says_more_than_the_name() {
        for setting in SETTINGS {
            assert!(setting.doc.ends_with('.'), "{}", setting.key);
            assert!(setting.doc.contains(". "), "{}: no trade-off", setting.key);
        }
    }

    /// Guards the promise that no password is ever printed.
    #[test]
    fn debug_output_shows_no_password() {
        let config = Config {
            store: vec!["mysql://leaf:hunter2@db:3306/leaf".to_owned()],
            workers: WorkerConfig {
                registry: vec!["postgres://leaf:hunter2@db/leaf".to_owned()],
                ..WorkerConfig::default()
            },
            ..Config::default()
        };
        let text = format!("{config:?}");
        assert!(text.contains("mysql://leaf:***@db:3306/leaf"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
