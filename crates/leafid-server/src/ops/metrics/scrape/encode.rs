//! Writing metrics: families, and samples with and without labels.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder};
use prometheus_client::metrics::MetricType;

pub(super) type Encoded = Result<(), fmt::Error>;
type NoLabels = [(&'static str, &'static str); 0];

pub(super) fn family<'a>(
    encoder: &'a mut DescriptorEncoder<'_>,
    name: &'a str,
    help: &str,
    kind: MetricType,
) -> Result<MetricEncoder<'a>, fmt::Error> {
    encoder.encode_descriptor(name, help, None, kind)
}

pub(super) fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: f64,
) -> Encoded {
    family(encoder, name, help, MetricType::Gauge)?.encode_gauge(&value)
}

pub(super) fn counter(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    count: u64,
) -> Encoded {
    family(encoder, name, help, MetricType::Counter)?
        .encode_counter::<NoLabels, _, u64>(&count, None)
}

pub(super) fn count_of(
    metric: &mut MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    count: u64,
) -> Encoded {
    metric
        .encode_family(labels)?
        .encode_counter::<NoLabels, _, u64>(&count, None)
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
pub(super) fn to_float(number: u64) -> f64 {
    number as f64
}
