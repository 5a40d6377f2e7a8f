//! Encodes metrics: families, and samples with and without labels.

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

/// One counter with a label, of each of its values.
pub(super) fn counters<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &str,
    counts: impl IntoIterator<Item = (&'a str, u64)>,
) -> Encoded {
    let mut metric = family(encoder, name, help, MetricType::Counter)?;
    let mut counts = counts.into_iter();
    counts.try_for_each(|(value, count)| count_of(&mut metric, &[(label, value)], count))
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

/// A gauge of what is so, 1, or not, 0.
pub(super) fn switch(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    is_on: bool,
) -> Encoded {
    gauge(encoder, name, help, f64::from(u8::from(is_on)))
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
pub(super) fn to_float(number: u64) -> f64 {
    number as f64
}
