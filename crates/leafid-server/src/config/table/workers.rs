//! The rows about snowflake ids and worker ids.

use std::time::Duration;

use leafid::ClockPolicy;

use super::bounds::{DAY, HOUR, MINUTE, SECOND, TENTH};
use crate::config::setting::{Field, Setting};

pub(super) const SNOWFLAKE: Setting = Setting {
    key: "snowflake",
    doc: "Whether snowflake ids are served. They need a worker id, which `registry` gives, and a \
          journal in `data-dir`, which only one server at a time can have open. Off, neither is \
          touched, and every request for one is refused with an error that says so (Leaf answers \
          0 then).",
    field: Field::Switch(|config| &mut config.snowflake),
};

pub(super) const REGISTRY: Setting = Setting {
    key: "registry",
    doc: "Where worker ids are leased, so that no two servers have the same one. Any URL that \
          `store` takes, and zookeeper://zk1:2181,zk2:2181 (beside Java Leaf), etcd://host:2379 \
          or redis://host:6379; several are a fail-over list of *one* replicated system. All servers \
          whose ids must not collide share one registry and `worker-pool`. Empty: where the store \
          is, which with the embedded one is this machine only. none: there is no registry, \
          `worker-id` has to be set, and nobody notices when two servers are set alike.",
    field: Field::Urls(|config| &mut config.workers.registry),
};

pub(super) const REGISTRY_PASSWORD: Setting = Setting {
    key: "registry-password",
    doc: "The password of every URL in `registry` that has none. There is no flag for it, as for \
          `store-password`; where `registry` is empty, that one is used.",
    field: Field::Password,
};

pub(super) const REGISTRY_PASSWORD_FILE: Setting = Setting {
    key: "registry-password-file",
    doc: "A file whose first line is the password of `registry`. Read once, at start. Do not set \
          `registry-password` as well.",
    field: Field::PasswordFile,
};

pub(super) const WORKER_POOL: Setting = Setting {
    key: "worker-pool",
    doc: "The name of those who share worker ids (Leaf's `leaf.name`). Servers of two pools may \
          have the same worker id, and then their ids can be equal. All servers of a pool must \
          have one `layout`.",
    field: Field::Text {
        value: "NAME",
        allowed: "a name of ASCII letters, digits, -, _ and .",
        get: |config| config.workers.pool.clone(),
        set: |config, text| {
            if text.is_empty() {
                return Err("a name must not be empty".to_owned());
            }
            text.clone_into(&mut config.workers.pool);
            Ok(())
        },
    },
};

pub(super) const WORKER_ID: Setting = Setting {
    key: "worker-id",
    doc: "The worker id of this server. auto: any that is free in the registry, after a restart \
          the same one. A number, or ordinal for that of a pod in a Kubernetes StatefulSet \
          (behind the last hyphen of HOSTNAME): that one and no other. It is still claimed in the \
          registry, which finds two servers that are set alike; but a server that was killed and \
          lost its `data-dir` then waits until its old reservation (`worker-lease`) is over. \
          worker-node: a new one at each start from the table WORKER_NODE of Baidu's \
          uid-generator, in the MySQL database that `registry` names; each start uses one up.",
    field: Field::Text {
        value: "ID",
        allowed: "auto, ordinal, worker-node, or a number that the layout has",
        get: |config| config.workers.id.to_string(),
        set: |config, text| {
            config.workers.id = text.parse()?;
            Ok(())
        },
    },
};

pub(super) const WORKER_ADDRESS: Setting = Setting {
    key: "worker-address",
    doc: "Where other servers and people reach this server's HTTP, written into the registry. \
          Others ask it for its clock, so behind a translated address set what they can reach. \
          Empty: the address that `http` listens on; for 0.0.0.0 that of the interface of the \
          default route; none when it listens on loopback only. In ZooKeeper, one that is set \
          also takes over the number of a server of Java Leaf that ran at this address; \
          its port also finds the note that Java Leaf made of its number (docs/from-leaf.md).",
    field: Field::Text {
        value: "ADDR",
        allowed: "HOST:PORT of at most 255 characters",
        get: |config| config.workers.address.clone(),
        set: |config, text| {
            let is_place = text.rsplit_once(':').is_some_and(|(host, port)| {
                !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
            });
            let is_plain = text.len() <= 255 && text.bytes().all(|byte| byte.is_ascii_graphic());
            let fits = text.is_empty() || (is_place && is_plain);
            if !fits {
                return Err("not a host and a port".to_owned());
            }
            text.clone_into(&mut config.workers.address);
            Ok(())
        },
    },
};

pub(super) const LAYOUT: Setting = Setting {
    key: "layout",
    doc: "How a snowflake id divides its bits. More bits of time last longer, more of worker id \
          allow more servers, more of sequence more ids at once. leaf is Leaf's and Twitter's \
          division with Leaf's epoch, until 2080. Ids of two layouts can be equal: choose one for \
          good. An epoch of your own: leaf@2020-01-01T00:00:00Z; a division of your own: \
          time41x1ms/worker10/sequence12@2020-01-01T00:00:00Z.",
    field: Field::Text {
        value: "LAYOUT",
        allowed: "a preset such as leaf or wide, or widths and an epoch",
        get: |config| config.workers.layout.to_string(),
        set: |config, text| {
            let layout = text.parse();
            config.workers.layout =
                layout.map_err(|error: leafid::ParseLayoutError| error.to_string())?;
            Ok(())
        },
    },
};

pub(super) const CLOCK_POLICY: Setting = Setting {
    key: "clock-policy",
    doc: "What happens when the clock is behind the last id. borrow: ids go on, their time stands \
          still until the clock has caught up, and no caller notices. wait: as Leaf, up to 5 ms \
          behind callers wait, further behind they are refused. refuse: they are refused at once. \
          Under each of them no id comes twice.",
    field: Field::Choice {
        value: "NAME",
        names: &["borrow", "wait", "refuse"],
        get: |config| config.workers.clock_policy.to_string(),
        set: |config, name| {
            config.workers.clock_policy = name.parse().unwrap_or(ClockPolicy::Borrow);
        },
    },
};

pub(super) const AHEAD_MAX: Setting = Setting {
    key: "ahead-max",
    doc: "How far ids may run ahead of the clock under the policy `borrow`. Longer lets longer \
          bursts through at once, each second 4.1 million ids in Leaf's layout; shorter keeps the \
          time in an id closer to the truth.",
    field: Field::Time(Duration::ZERO..=MINUTE, |config| {
        Some(&mut config.workers.ahead_max)
    }),
};

pub(super) const WORKER_LEASE: Setting = Setting {
    key: "worker-lease",
    doc: "How long a worker id is reserved ahead. Half of it at least is left at any time, and so \
          long ids go on while the registry is down, also over a restart. Longer bears a longer \
          outage; shorter frees the worker id of a killed server sooner (one that is stopped \
          gives it back at once).",
    field: Field::Time(
        Duration::from_secs(10)..=Duration::from_secs(30 * 86_400),
        |config| Some(&mut config.workers.lease),
    ),
};

pub(super) const REGISTRY_CHECK: Setting = Setting {
    key: "registry-check",
    doc: "How old the last look at this server's own row in the registry may become. The row is \
          read anew after half of this time, and the registry counts as down once it has given no \
          answer for all of it. A registry that was emptied, or in which an older copy was put \
          back, can go unnoticed for so long; ids can come twice meanwhile, and not after. Shorter \
          notices sooner; longer asks the registry less often.",
    field: Field::Time(TENTH..=MINUTE, |config| {
        Some(&mut config.workers.check_interval)
    }),
};

pub(super) const CLOCK_OFFSET_MAX: Setting = Setting {
    key: "clock-offset-max",
    doc: "How far this machine's clock may be away from the registry's, from the mean of the \
          running peers' and behind its own last report when a worker id is claimed. Smaller \
          finds a wrong clock before it makes ids with a wrong time; larger starts where clocks \
          are kept badly.",
    field: Field::Time(SECOND..=DAY, |config| {
        Some(&mut config.workers.clock_offset_max)
    }),
};

pub(super) const WORKER_STEP: Setting = Setting {
    key: "worker-step",
    doc: "How often the clocks are compared and the journal is written. Shorter notices a step of \
          the clock sooner; longer writes to the disk less often.",
    field: Field::Time(TENTH..=MINUTE, |config| {
        Some(&mut config.workers.step_interval)
    }),
};

pub(super) const JOURNAL_AHEAD: Setting = Setting {
    key: "journal-ahead",
    doc: "How far ahead of the clock the journal allows ids, so that it need not be written for \
          each. At least twice `worker-step` is wise: a disk that stands still for longer stops \
          snowflake ids. After a crash ids start that far ahead of the clock.",
    field: Field::Time(TENTH..=HOUR, |config| {
        Some(&mut config.workers.journal_ahead)
    }),
};
