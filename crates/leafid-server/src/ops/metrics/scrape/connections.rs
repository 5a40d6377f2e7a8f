//! The metrics of connections and of waiting calls.

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::encode::{Encoded, counters, family, gauge, to_float};
use crate::net::connection_counts::Protocol;
use crate::ops::metrics::Counters;
use crate::service::Service;

pub(super) fn encode(
    all: &Counters,
    service: &Service,
    encoder: &mut DescriptorEncoder<'_>,
) -> Encoded {
    let counts = &all.connections;
    let help = "connections open now, by protocol";
    let mut open = family(encoder, "connections", help, MetricType::Gauge)?;
    for protocol in Protocol::ALL {
        open.encode_family(&[("protocol", protocol.name())])?
            .encode_gauge(&counts.open(protocol))?;
    }
    let help = "connections refused because too many were open, by protocol";
    let refused = Protocol::ALL.map(|protocol| (protocol.name(), counts.refused(protocol)));
    counters(encoder, "connections_refused", help, "protocol", refused)?;
    let help =
        "connections cut for too many unread answers (unread-max) or a flood of HTTP/2 frames";
    let unread = &all.unread;
    let cut = [
        ("unread", unread.cut_count()),
        ("flood", unread.flood_count()),
    ];
    counters(encoder, "connections_cut", help, "reason", cut)?;
    let help = "bytes held for clients: answers that they have not read yet, open requests, and \
                what their HTTP/2 header tables refer to";
    let bytes = to_float(unread.bytes() as u64);
    gauge(encoder, "unread_bytes", help, bytes)?;
    let waiting = to_float(service.waiting());
    gauge(encoder, "calls_waiting", "calls waiting for ids", waiting)
}
