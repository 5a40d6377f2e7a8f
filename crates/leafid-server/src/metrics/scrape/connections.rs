//! The metrics of connections and of calls that wait.

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::{Encoded, count_of, family, gauge, to_float};
use crate::metrics::connections::{ConnectionCounts, DoorName};
use crate::service::Service;

pub(super) fn encode(
    counts: &ConnectionCounts,
    service: &Service,
    encoder: &mut DescriptorEncoder<'_>,
) -> Encoded {
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
    let waiting = to_float(service.waiting());
    gauge(
        encoder,
        "calls_waiting",
        "calls that wait for ids now",
        waiting,
    )
}
