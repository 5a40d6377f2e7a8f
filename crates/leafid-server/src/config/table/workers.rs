//! The rows about snowflake ids and worker ids.

use std::time::Duration;

use leafid::ClockPolicy;

use super::bounds::{DAY, HOUR, MINUTE, SECOND, TENTH};
use crate::config::setting::{Field, Setting};

pub(super) const SNOWFLAKE: Setting = Setting {
    key: "snowflake",
    doc: "Whether snowflake ids are served. They need a worker id, which `registry` \
          provides, and a journal in `data-dir`, which only one server at a time can have \
          open. When off, neither is used, and every request for one is refused with an \
          error that says so (Leaf returns 0).",
    field: Field::Switch(|config| &mut config.snowflake),
};

pub(super) const REGISTRY: Setting = Setting {
    key: "registry",
    doc: "Where worker ids are leased, so that no two servers have the same one. Any URL \
          that `store` accepts, and zookeeper://zk1:2181,zk2:2181 (beside Java Leaf), \
          etcd://host:2379 or redis://host:6379; several are a fail-over list of *one* \
          replicated system. All servers whose ids must not collide share one registry and \
          `worker-pool`. Empty: the same place as the store, which with the embedded store \
          is this machine only. none: there is no registry, `worker-id` must be set, and two \
          servers with the same worker id go unnoticed.",
    field: Field::Urls(|config| &mut config.workers.registry),
};

pub(super) const REGISTRY_PASSWORD: Setting = Setting {
    key: "registry-password",
    doc: "The password for every URL in `registry` that has none. There is no flag for it, \
          as for `store-password`; if `registry` is empty, that one is used.",
    field: Field::Password,
};

pub(super) const REGISTRY_PASSWORD_FILE: Setting = Setting {
    key: "registry-password-file",
    doc: "A file whose first line is the password of `registry`. Read once, at start. Do not \
          set `registry-password` as well.",
    field: Field::PasswordFile,
};

pub(super) const WORKER_POOL: Setting = Setting {
    key: "worker-pool",
    doc: "The name of the group of servers that share worker ids (Leaf's `leaf.name`). \
          Servers of different pools may have the same worker id, and then their ids can be \
          equal. All servers of a pool must have the same `layout`.",
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
    doc: "The worker id of this server. auto: any that is free in the registry, and the same \
          one after a restart. A number, or ordinal for the number of a pod in a Kubernetes \
          StatefulSet (after the last hyphen of HOSTNAME): exactly that one. It is still \
          claimed in the registry, which detects two servers with the same number; but a \
          server that was killed and lost its `data-dir` then waits until its old lease \
          (`worker-lease`) has expired. worker-node: a new one at each start from the table \
          WORKER_NODE of Baidu's uid-generator, in the MySQL database that `registry` names; \
          each start uses one up, and a server whose row is gone (see `registry-check`) stops \
          issuing snowflake ids. Where the database has the tables of `leafid store init`, the \
          number is leased too, so that servers with other kinds of worker-id can share it; \
          without them they must not, and the server stops issuing snowflake ids once the \
          tables come.",
    field: Field::Text {
        value: "ID",
        allowed: "auto, ordinal, worker-node, or a number that fits the layout",
        get: |config| config.workers.id.to_string(),
        set: |config, text| {
            config.workers.id = text.parse()?;
            Ok(())
        },
    },
};

pub(super) const WORKER_ADDRESS: Setting = Setting {
    key: "worker-address",
    doc: "Where other servers and people reach this server's HTTP, written into the \
          registry. Other servers ask it for its clock, so behind NAT set an address that \
          they can reach. Empty: the address that `http` listens on; for 0.0.0.0 that of the \
          interface of the default route; none if it listens on loopback only. In ZooKeeper, \
          an address that is set also takes over the number of the Java Leaf server that ran \
          at this address; its port also finds the file in which Java Leaf kept its number \
          (docs/from-leaf.md).",
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
    doc: "How a snowflake id divides its bits. More bits of time last longer, more of worker \
          id allow more servers, more of sequence allow more ids at once. leaf is the \
          division of Leaf and Twitter with Leaf's epoch, until 2080. Ids of two layouts can \
          be equal: choose one and keep it. An epoch of your own: leaf@2020-01-01T00:00:00Z; \
          a division of your own: time41x1ms/worker10/sequence12@2020-01-01T00:00:00Z.",
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

pub(super) const SHARD: Setting = Setting {
    key: "shard",
    doc: "The shard of snowflake ids whose caller names none, in a `layout` with shards, such as \
          time41x1ms/worker10/sequence8/shard4@2020-01-01T00:00:00Z. A server beside each shard \
          of a database has its number; callers can name a shard or a key in each call.",
    field: Field::Count(0..=65_535, |config| Some(&mut config.workers.shard)),
};

pub(super) const CLOCK_POLICY: Setting = Setting {
    key: "clock-policy",
    doc: "What happens when the clock is behind the last id. borrow: ids continue, their \
          time stands still until the clock has caught up, and clients notice nothing. wait: \
          as in Leaf, requests wait if the clock is up to 5 ms behind, and are refused if it \
          is further behind. refuse: requests are refused at once. No policy issues an id \
          twice.",
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
    doc: "How far ids may run ahead of the clock under the policy `borrow`. Longer allows \
          longer bursts at once, 4.1 million ids for each second in Leaf's layout; shorter \
          keeps the time in an id closer to the real time.",
    field: Field::Time(Duration::ZERO..=MINUTE, |config| {
        Some(&mut config.workers.ahead_max)
    }),
};

pub(super) const WORKER_LEASE: Setting = Setting {
    key: "worker-lease",
    doc: "How long a worker id is leased ahead. At least half of it is left at any time, and \
          ids continue for that long while the registry is down, even over a restart. Longer \
          survives a longer outage; shorter frees the worker id of a killed server sooner (a \
          server that stops normally gives it back at once).",
    field: Field::Time(
        Duration::from_secs(10)..=Duration::from_secs(30 * 86_400),
        |config| Some(&mut config.workers.lease),
    ),
};

pub(super) const REGISTRY_CHECK: Setting = Setting {
    key: "registry-check",
    doc: "How recently the server must have read its own row in the registry. It reads the \
          row again after half of this time, and the registry counts as down if it has not \
          answered for all of it. A registry that was emptied, or restored from an older \
          copy, can go unnoticed for this long, counted from when it answers again, or for \
          twice as long as a read takes, if that is longer; where the connection is lost too, a \
          read includes a new one, which takes up to nine times as long as an answer. Ids can \
          repeat during that time, and not after it, except that ids issued ahead of the clock \
          (`ahead-max`) can be repeated until their time has come. Up to eight late reads are \
          waited for beside the next ones, each for up to five times `store-statement-timeout`; \
          where some are never answered, each of those can add the time of a read. A registry \
          whose answers always take longer counts as down, which can go unnoticed until the lease \
          ends; so does one that needs more than three times `store-statement-timeout` for a new connection, of which \
          each server of a list gets an equal part, one after the other. Shorter notices sooner; \
          longer asks the registry less often.",
    field: Field::Time(TENTH..=MINUTE, |config| {
        Some(&mut config.workers.check_interval)
    }),
};

pub(super) const CLOCK_OFFSET_MAX: Setting = Setting {
    key: "clock-offset-max",
    doc: "How far this machine's clock may be off when a worker id is claimed: from the \
          registry's clock, from the mean of the running peers' clocks, and behind its own \
          last report. Smaller detects a wrong clock before it makes ids with a wrong time; \
          larger lets servers start whose clocks are badly synchronized.",
    field: Field::Time(SECOND..=DAY, |config| {
        Some(&mut config.workers.clock_offset_max)
    }),
};

pub(super) const WORKER_STEP: Setting = Setting {
    key: "worker-step",
    doc: "How often the clocks are compared and the journal is written. Shorter notices a \
          step of the clock sooner; longer writes to the disk less often.",
    field: Field::Time(TENTH..=MINUTE, |config| {
        Some(&mut config.workers.step_interval)
    }),
};

pub(super) const JOURNAL_AHEAD: Setting = Setting {
    key: "journal-ahead",
    doc: "How far ahead of the clock the journal allows ids, so that it need not be written \
          for each one. Make it at least twice `worker-step`: if the disk stalls for longer, \
          snowflake ids stop. After a crash, ids start that far ahead of the clock.",
    field: Field::Time(TENTH..=HOUR, |config| {
        Some(&mut config.workers.journal_ahead)
    }),
};
