//! The metrics of connections and of calls that wait.

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::{Encoded, count_of, family, gauge, to_float};
use crate::metrics::{DoorName, Metrics};
use crate::service::Service;

pub(super) fn encode(
    metrics: &Metrics,
    service: &Service,
    encoder: &mut DescriptorEncoder<'_>,
) -> Encoded {
    let counts = &metrics.connections;
    let help = "connections open now, by door";
    let mut open = family(encoder, "connections", help, MetricType::Gauge)?;
    for door in DoorName::ALL {
        open.encode_family(&[("door", door.name())])?
            .encode_gauge(&counts.open(door))?;
    }
    let help = "connections refused because too many were open, by door";
    let mut refused = family(encoder, "connections_refused", help, MetricType::Counter)?;
    for door in DoorName::ALL {
        count_of(&mut refused, &[("door", door.name())], counts.refused(door))?;
    }
    let help =
        "connections cut, because unread answers were beyond unread-max or for a flood of frames";
    let mut cut = family(encoder, "connections_cut", help, MetricType::Counter)?;
    count_of(
        &mut cut,
        &[("reason", "unread")],
        metrics.unread.cut_count(),
    )?;
    count_of(
        &mut cut,
        &[("reason", "flood")],
        metrics.unread.flood_count(),
    )?;
    gauge(
        encoder,
        "unread_bytes",
        "bytes of answers that were made and not read yet",
        to_float(metrics.unread.bytes() as u64),
    )?;
    let waiting = to_float(service.waiting());
    gauge(
        encoder,
        "calls_waiting",
        "calls that wait for ids now",
        waiting,
    )
}
