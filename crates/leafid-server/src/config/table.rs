//! `SETTINGS`: the one table of settings. A new setting is a field of `Config` and a row here.

mod access;
mod bounds;
mod connections;
mod tls;
mod workers;

use std::fmt;
use std::time::Duration;

use leafid::StepPolicy;
use leafid::store::TagSettings;

use bounds::{DAY, HOUR, MINUTE, SECOND, TEN_MINUTES, TENTH};

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
        doc: "Where HTTP listens. Port 0 takes a free port, which is printed at start. The \
              default is reached from this machine only; 0.0.0.0:8080 opens it to the network, \
              which takes `access-file` with tokens, `tls-client-ca`, or `insecure`.",
        field: Field::Address(|config| &mut config.http),
    },
    Setting {
        key: "resp",
        doc: "Where the Redis protocol listens, for any Redis client: INCR order. off leaves it \
              out, which saves the port. On an address that other machines reach it takes what \
              `http` takes.",
        field: Field::AddressOrOff(|config| &mut config.resp),
    },
    Setting {
        key: "grpc",
        doc: "Where gRPC listens. off leaves it out, which saves the port. On an address \
              that other machines reach it takes what `http` takes.",
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
        doc: "The folder of the embedded store (SQLite), made if it does not exist. Used when \
              `store` is empty. Keep it on a local disk, and never put an old copy of it back: \
              ids would come again.",
        field: Field::Path(|config| &mut config.data_dir),
    },
    Setting {
        key: "store",
        doc: "The store that ids are reserved from, such as mysql://leaf@db:3306/leaf, \
              postgres://leafid@db/leafid or sqlite:ids.db. Several are a fail-over list of \
              *one* replicated database, tried in order: two databases that do not replicate \
              each other give the same ids twice. Empty: SQLite in `data-dir`.",
        field: Field::Urls(|config| &mut config.store),
    },
    Setting {
        key: "store-password",
        doc: "The password of every URL in `store` that has none. There is no flag for it, \
              because other users of the machine see command lines; `store-password-file` keeps \
              it out of the environment too.",
        field: Field::Password,
    },
    Setting {
        key: "store-password-file",
        doc: "A file whose first line is the password, such as a mounted secret. Read once, at \
              start. Do not set `store-password` as well.",
        field: Field::PasswordFile,
    },
    Setting {
        key: "allow-weak-store",
        doc: "Use a store although one of its settings can lose an acknowledged reservation. Such a \
              store gives ids twice after a power cut or a fail-over; `leafid store check` names \
              the setting to change instead. Each connection to a database is judged, so that \
              this allows the weaknesses of every server in `store` and `registry`, also of those \
              that take over later.",
        field: Field::Switch(|config| &mut config.allow_weak_store),
    },
    Setting {
        key: "store-connections",
        doc: "The most connections to the store. A segment takes one connection for one \
              statement, so a few serve thousands of tags; more help only while many tags are \
              used for the first time at once, and each costs the database memory. The \
              registry of worker ids and the record of changes have one more each.",
        field: Field::Count(1..=1000, |config| Some(&mut config.store_connections)),
    },
    Setting {
        key: "store-connect-timeout",
        doc: "How long connecting to the store may take. Shorter reaches the next URL of a \
              fail-over list sooner; longer bears a slow network.",
        field: Field::Time(TENTH..=MINUTE, |config| {
            Some(&mut config.store_connect_timeout)
        }),
    },
    Setting {
        key: "store-statement-timeout",
        doc: "How long a call may take in all, connecting included. After that its outcome is \
              unknown and the segment counts as lost: shorter finds a hanging store sooner, too short wastes segments on \
              a slow one.",
        field: Field::Time(TENTH..=MINUTE, |config| {
            Some(&mut config.store_statement_timeout)
        }),
    },
    Setting {
        key: "store-probe-interval",
        doc: "How often the store is asked whether a reservation could go through, while none \
              does that shows it, and how long the answer may take. An outage and its end are \
              noticed within twice that time. Shorter asks an idle store more often; longer \
              bears one that is slow to answer.",
        field: Field::Time(TENTH..=MINUTE, |config| {
            Some(&mut config.store_probe_interval)
        }),
    },
    Setting {
        key: "segment",
        doc: "Whether segment ids are served. Off, every request for one is refused with an \
              error that says so (Leaf answers 0 then).",
        field: Field::Switch(|config| &mut config.segment),
    },
    Setting {
        key: "create-tags",
        doc: "Whether a tag is created when an id of it is first asked for. Convenient on one \
              machine; on a shared database a typing error makes a tag. auto: yes with \
              SQLite, no with a database server. Where `access-file` has tokens, only an admin's \
              token creates tags, also on first use.",
        field: Field::AutoSwitch(|config| &mut config.create_tags),
    },
    access::CREATE_TAGS_PER_MINUTE,
    Setting {
        key: "step",
        doc: "The smallest segment of a tag created without one. Larger means fewer statements \
              while a tag is new; a crash loses up to two segments of each tag in use. Tags that \
              exist keep the step they have.",
        field: Field::Count(1..=TagSettings::STEP_MAX as u64, |config| {
            Some(&mut config.step)
        }),
    },
    Setting {
        key: "policy",
        doc: "How segments grow, for tags that name no policy of their own. cover: so long that \
              one lasts `cover` at the measured rate. leaf: Leaf's rule, doubled when used up \
              within 15 minutes, halved after 30. fixed: always the tag's own step, which loses \
              the least in a crash and leans on the store the most.",
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
        doc: "How long one segment should last under the policy `cover`. With two segments in \
              memory the store can be away for `cover` to twice `cover` before a caller notices; \
              a crash loses up to 2 * rate * `cover` ids of a tag.",
        field: Field::Time(SECOND..=DAY, |config| match &mut config.policy {
            StepPolicy::Cover { cover, .. } => Some(cover),
            _ => None,
        }),
    },
    Setting {
        key: "step-max",
        doc: "The longest segment under the policies `cover` and `leaf`. It bounds what a crash \
              can lose, at most 2 * `step-max` ids of a tag. Default: 10000000 with `cover`, \
              1000000 with `leaf`, as in Leaf.",
        field: Field::Count(1..=1_000_000_000_000, |config| match &mut config.policy {
            StepPolicy::Cover { step_max, .. } | StepPolicy::Leaf { step_max } => Some(step_max),
            StepPolicy::Fixed => None,
        }),
    },
    Setting {
        key: "wait-max",
        doc: "How long a request waits for a segment that is being reserved. Longer hides longer \
              failures of the store from callers, and holds more of them; after it they are told \
              when to come back.",
        field: Field::Time(Duration::ZERO..=MINUTE, |config| Some(&mut config.wait_max)),
    },
    Setting {
        key: "refresh-interval",
        doc: "How often the rows of tags in use are read again, 500 tags a statement. Shorter \
              sees a changed or deleted tag sooner. New tags are seen at once, whatever this is.",
        field: Field::Time(SECOND..=HOUR, |config| Some(&mut config.refresh_interval)),
    },
    Setting {
        key: "regression-margin",
        doc: "How many ids of a tag are left out when its store went back in time, as after a \
              restored backup or the promotion of a replica that lagged. Other servers had come \
              further than this one, and their ids must not come again: more is safer, and uses \
              up a tag whose limit is near. auto: sixteen times the longest segment that any \
              server said it had reserved of the tag, or that the policy here allows, or twice \
              what the others drew between two segments of this one, whichever is most. On a \
              database without the column `segment_max` of `leafid_tag`, which `leafid store \
              init` makes, no server says so, and all should have the same `step-max`.",
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
    workers::CLOCK_POLICY,
    workers::AHEAD_MAX,
    workers::WORKER_LEASE,
    workers::REGISTRY_CHECK,
    workers::CLOCK_OFFSET_MAX,
    workers::WORKER_STEP,
    workers::JOURNAL_AHEAD,
    Setting {
        key: "tags-max",
        doc: "How many tags may be in use at once, at some 1.3 kB each. Names that were only asked \
              for make room, the oldest first; tags that gave ids stay until the server is \
              started again, and a new one beyond the bound is refused, so that callers who \
              invent tags cannot fill the memory.",
        field: Field::Count(1..=100_000_000, |config| Some(&mut config.tags_max)),
    },
    Setting {
        key: "threads",
        doc: "How many threads serve requests, 0 for one per core. More serve more requests at \
              once and cost some memory each; 1 leaves the other cores to other programs.",
        field: Field::Count(0..=1024, |config| Some(&mut config.threads)),
    },
    access::ACCESS_FILE,
    access::INSECURE,
    access::ALLOWED_HOSTS,
    Setting {
        key: "shutdown-delay",
        doc: "How long the server still serves after SIGTERM or SIGINT although it is no longer \
              ready. Behind a balancer it should be longer than that takes to notice, such as \
              5s in Kubernetes: connections that come meanwhile are served, and each is told \
              with its answer to go elsewhere. 0s stops at once, which is right where nothing \
              stands in front.",
        field: Field::Time(Duration::ZERO..=TEN_MINUTES, |config| {
            Some(&mut config.shutdown_delay)
        }),
    },
    Setting {
        key: "shutdown-grace",
        doc: "How long requests in flight may take after SIGTERM or SIGINT, and after \
              `shutdown-delay`. When it is over, or \
              at a second signal, connections are cut. Keep both together below the patience of whoever \
              sends the signal (30 s in Kubernetes).",
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
        doc: "How log lines look. text is for people, json for programs that collect logs.",
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

    /// Kubernetes sets `LEAFID_PORT` and `LEAFID_SERVICE_HOST` in every pod beside a service
    /// named `leafid`; they are passed over, so no setting may be called so.
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
