//! The rows about connections.

use crate::config::setting::{Field, Setting};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

pub(super) const CONNECTIONS_MAX: Setting = Setting {
    key: "connections-max",
    doc: "The maximum number of open connections, over all front ends. Beyond it a few more \
          are accepted for health checks and administration; clients that ask for ids are \
          told to retry later. An idle connection costs some kilobytes here and in the \
          kernel, and one open file: the server accepts as many as the hard limit allows \
          (ulimit -Hn), less those that stores, journal and log need, and says at start if \
          that is fewer.",
    field: Field::Count(1..=10_000_000, |config| Some(&mut config.connections_max)),
};

pub(super) const CONNECTIONS_PER_ADDRESS: Setting = Setting {
    key: "connections-per-address",
    doc: "The maximum number of connections from one client address; for IPv6, from one /64 \
          network. Beyond it an address is treated as if `connections-max` were reached. 0 \
          means three quarters of `connections-max`: one address never takes all \
          connections, and a proxy or gateway, which gives all its clients one address, \
          still works. Lower is safer if each client has an address of its own; behind a \
          proxy it limits all clients together.",
    field: Field::Count(0..=10_000_000, |config| {
        Some(&mut config.connections_per_address)
    }),
};

pub(super) const UNREAD_MAX: Setting = Setting {
    key: "unread-max",
    doc: "The maximum memory that clients keep the server from freeing, over all connections: \
          answers that they have not read yet, and buffers that their HTTP/2 header tables \
          refer to. Beyond it the connections that hold the most are cut. More tolerates more \
          slow readers of large answers; clients that read their answers need almost none.",
    field: Field::Bytes(MIB..=1024 * GIB, |config| Some(&mut config.unread_max)),
};

pub(super) const CONNECTION_UNREAD_MAX: Setting = Setting {
    key: "connection-unread-max",
    doc: "The maximum memory for answers of one connection that its client has not read yet. At \
          the limit it gets no more answers until its client has read some; a single answer \
          may be longer. More lets one HTTP/2 connection have more large answers in flight: a \
          batch of 10,000 ids takes 220,000 bytes.",
    field: Field::Bytes(64 * KIB..=GIB, |config| {
        Some(&mut config.connection_unread_max)
    }),
};
