//! `Families`: writes the families of a scrape: samples with and without labels.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder};
use prometheus_client::metrics::MetricType;

pub(super) type Encoded = Result<(), fmt::Error>;
pub(super) type NoLabels = [(&'static str, &'static str); 0];

/// Writes one family after the other.
pub(super) struct Families<'e>(pub(super) DescriptorEncoder<'e>);

impl Families<'_> {
    pub(super) fn family<'a>(
        &'a mut self,
        name: &'a str,
        help: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'a>, fmt::Error> {
        self.0.encode_descriptor(name, help, None, kind)
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: f64) -> Encoded {
        let mut metric = self.family(name, help, MetricType::Gauge)?;
        metric.encode_gauge(&value)
    }

    /// A gauge of how many there are.
    pub(super) fn amount(&mut self, name: &str, help: &str, amount: u64) -> Encoded {
        self.gauge(name, help, to_float(amount))
    }

    /// A gauge of what is so, 1, or not, 0.
    pub(super) fn switch(&mut self, name: &str, help: &str, is_on: bool) -> Encoded {
        self.gauge(name, help, f64::from(u8::from(is_on)))
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, count: u64) -> Encoded {
        let mut metric = self.family(name, help, MetricType::Counter)?;
        metric.encode_counter::<NoLabels, _, u64>(&count, None)
    }

    /// A counter of seconds.
    pub(super) fn counter_of_seconds(
        &mut self,
        name: &str,
        help: &str,
        milliseconds: u64,
    ) -> Encoded {
        let mut metric = self.family(name, help, MetricType::Counter)?;
        metric.encode_counter::<NoLabels, _, u64>(&(to_float(milliseconds) / 1000.0), None)
    }

    /// One counter with a label, of each of its values.
    pub(super) fn counters<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        counts: impl IntoIterator<Item = (&'a str, u64)>,
    ) -> Encoded {
        let mut metric = self.family(name, help, MetricType::Counter)?;
        let mut counts = counts.into_iter();
        counts.try_for_each(|(value, count)| count_of(&mut metric, &[(label, value)], count))
    }
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
