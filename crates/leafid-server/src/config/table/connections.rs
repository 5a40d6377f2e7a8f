//! The rows about connections.

use crate::config::setting::{Field, Setting};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

pub(super) const CONNECTIONS_MAX: Setting = Setting {
    key: "connections-max",
    value: "COUNT",
    doc: "The most connections open at once, through all doors. Beyond it a few more are let \
          in for health and administration; callers for ids are told to come back later. An \
          idle connection costs some kilobytes here and in the kernel, and one open file: \
          the server takes as many as the hard limit allows (ulimit -Hn), less those that \
          stores, journal and log need, and says at start if that is fewer.",
    field: Field::Count {
        min: 1,
        max: 10_000_000,
        get: |config| Some(config.connections_max.into()),
        set: |config, count| {
            config.connections_max = u32::try_from(count).unwrap_or(u32::MAX);
        },
    },
};

pub(super) const CONNECTIONS_PER_ADDRESS: Setting = Setting {
    key: "connections-per-address",
    value: "COUNT",
    doc: "The most connections of one peer address; of IPv6, of one /64 network. Beyond it an \
          address is treated as if `connections-max` were reached. 0 is three quarters of \
          `connections-max`: one address never takes all places, and a proxy or a gateway, \
          behind which all callers have one address, is not in the way. Fewer is safer where \
          callers come each with an address of their own; behind a proxy it is how many that \
          may have.",
    field: Field::Count {
        min: 0,
        max: 10_000_000,
        get: |config| Some(config.connections_per_address.into()),
        set: |config, count| {
            config.connections_per_address = u32::try_from(count).unwrap_or(u32::MAX);
        },
    },
};

pub(super) const UNREAD_MAX: Setting = Setting {
    key: "unread-max",
    value: "BYTES",
    doc: "The most memory for answers that were made and that callers have not read yet, over all \
          connections. Beyond it those connections are cut that hold the most. More bears more \
          slow readers of large answers; callers who read hold next to nothing.",
    field: Field::Count {
        min: MIB,
        max: 1024 * GIB,
        get: |config| Some(config.unread_max),
        set: |config, count| config.unread_max = count,
    },
};

pub(super) const CONNECTION_UNREAD_MAX: Setting = Setting {
    key: "connection-unread-max",
    value: "BYTES",
    doc: "The same for one connection. At the bound it is answered no more until its caller has \
          read; its only answer may be longer. More lets one connection of HTTP/2 have more \
          large answers under way at once: a batch of 10,000 ids takes 220,000 bytes.",
    field: Field::Count {
        min: 64 * KIB,
        max: GIB,
        get: |config| Some(config.connection_unread_max),
        set: |config, count| config.connection_unread_max = count,
    },
};
