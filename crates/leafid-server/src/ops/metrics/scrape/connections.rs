//! The metrics of connections and of calls that wait.

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::encode::{Encoded, count_of, family, gauge, to_float};
use crate::net::connection_counts::Protocol;
use crate::ops::metrics::Counters;
use crate::service::Service;

pub(super) fn encode(
    counters: &Counters,
    service: &Service,
    encoder: &mut DescriptorEncoder<'_>,
) -> Encoded {
    let counts = &counters.connections;
    let help = "connections open now, by protocol";
    let mut open = family(encoder, "connections", help, MetricType::Gauge)?;
    for protocol in Protocol::ALL {
        open.encode_family(&[("protocol", protocol.name())])?
            .encode_gauge(&counts.open(protocol))?;
    }
    let help = "connections refused because too many were open, by protocol";
    let mut refused = family(encoder, "connections_refused", help, MetricType::Counter)?;
    for protocol in Protocol::ALL {
        count_of(
            &mut refused,
            &[("protocol", protocol.name())],
            counts.refused(protocol),
        )?;
    }
    let help =
        "connections cut, because unread answers were beyond unread-max or for a flood of frames";
    let mut cut = family(encoder, "connections_cut", help, MetricType::Counter)?;
    count_of(
        &mut cut,
        &[("reason", "unread")],
        counters.unread.cut_count(),
    )?;
    count_of(
        &mut cut,
        &[("reason", "flood")],
        counters.unread.flood_count(),
    )?;
    gauge(
        encoder,
        "unread_bytes",
        "bytes of answers that callers have not read yet",
        to_float(counters.unread.bytes() as u64),
    )?;
    let waiting = to_float(service.waiting());
    gauge(encoder, "calls_waiting", "calls waiting for ids", waiting)
}
