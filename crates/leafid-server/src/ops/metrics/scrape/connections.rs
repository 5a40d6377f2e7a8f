//! The metrics of connections and of waiting calls.

use prometheus_client::metrics::MetricType;

use crate::net::connection_counts::Protocol;
use crate::ops::metrics::Counters;
use crate::ops::metrics::families::{Encoded, Families};
use crate::service::Service;

pub(super) fn encode(all: &Counters, service: &Service, families: &mut Families<'_>) -> Encoded {
    let (counts, unread) = (&all.connections, &all.unread);
    let help = "connections open now, by protocol";
    let mut open = families.family("connections", help, MetricType::Gauge)?;
    for protocol in Protocol::ALL {
        open.encode_family(&[("protocol", protocol.name())])?
            .encode_gauge(&counts.open(protocol))?;
    }
    let max = u64::from(service.limits().connections_max);
    let help = "how many connections may be open at once (connections-max)";
    families.amount("connections_max", help, max)?;
    let help = "connections refused because too many were open, by protocol";
    let refused = Protocol::ALL.map(|protocol| (protocol.name(), counts.refused(protocol)));
    families.counters("connections_refused", help, "protocol", refused)?;
    let help =
        "connections cut for too many unread answers (unread-max) or a flood of HTTP/2 frames";
    let cut = [
        ("unread", unread.cut_count()),
        ("flood", unread.flood_count()),
    ];
    families.counters("connections_cut", help, "reason", cut)?;
    let help = "bytes held for clients: answers that they have not read yet, open requests, and \
                what their HTTP/2 header tables refer to";
    families.amount("unread_bytes", help, unread.bytes() as u64)?;
    families.amount("calls_waiting", "calls waiting for ids", service.waiting())
}
