//! The rows about connections.

use crate::config::setting::{Field, Setting};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

pub(super) const CONNECTIONS_MAX: Setting = Setting {
    key: "connections-max",
    doc: "The most connections open at once, through all front ends. Beyond it a few more are let \
          in for health and administration; callers for ids are told to come back later. An \
          idle connection costs some kilobytes here and in the kernel, and one open file: \
          the server takes as many as the hard limit allows (ulimit -Hn), less those that \
          stores, journal and log need, and says at start if that is fewer.",
    field: Field::Count(1..=10_000_000, |config| Some(&mut config.connections_max)),
};

pub(super) const CONNECTIONS_PER_ADDRESS: Setting = Setting {
    key: "connections-per-address",
    doc: "The most connections of one peer address; of IPv6, of one /64 network. Beyond it an \
          address is treated as if `connections-max` were reached. 0 is three quarters of \
          `connections-max`: one address never takes all places, and a proxy or a gateway, \
          behind which all callers have one address, is not in the way. Fewer is safer where \
          callers come each with an address of their own; behind a proxy it is how many that \
          may have.",
    field: Field::Count(0..=10_000_000, |config| {
        Some(&mut config.connections_per_address)
    }),
};

pub(super) const UNREAD_MAX: Setting = Setting {
    key: "unread-max",
    doc: "The most memory for answers that were made and that callers have not read yet, over all \
          connections. Beyond it those connections are cut that hold the most. More bears more \
          slow readers of large answers; callers who read hold next to nothing.",
    field: Field::Bytes(MIB..=1024 * GIB, |config| Some(&mut config.unread_max)),
};

pub(super) const CONNECTION_UNREAD_MAX: Setting = Setting {
    key: "connection-unread-max",
    doc: "The same for one connection. At the bound it is answered no more until its caller has \
          read; its only answer may be longer. More lets one connection of HTTP/2 have more \
          large answers under way at once: a batch of 10,000 ids takes 220,000 bytes.",
    field: Field::Bytes(64 * KIB..=GIB, |config| {
        Some(&mut config.connection_unread_max)
    }),
};
