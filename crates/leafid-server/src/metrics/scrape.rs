//! `Scrape`: one answer of `/metrics`, put together from the counters and the tags' standing.

mod access;
mod connections;
mod own;
mod tls;
mod worker;

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use leafid::Status;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;

use super::{Metrics, grpc};
use crate::service::Service;
use crate::watch::Call;

type Encoded = Result<(), fmt::Error>;
type NoLabels = [(&'static str, &'static str); 0];

/// The tag under which tags without series of their own are summed up.
const OTHER: &str = "(other)";

#[derive(Debug)]
pub(super) struct Scrape {
    pub(super) metrics: Arc<Metrics>,
    pub(super) service: Arc<Service>,
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Encoded {
        self.process(&mut encoder)?;
        connections::encode(&self.metrics, &self.service, &mut encoder)?;
        self.http(&mut encoder)?;
        self.grpc(&mut encoder)?;
        self.resp(&mut encoder)?;
        self.events(&mut encoder)?;
        self.store(&mut encoder)?;
        tls::encode(self.metrics.tls.as_deref(), &mut encoder)?;
        access::encode(&self.service, &mut encoder)?;
        worker::encode(&self.service, &self.metrics.events, &mut encoder)?;
        self.tags(&mut encoder)
    }
}

impl Scrape {
    fn process(&self, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
        let mut build = family(encoder, "build", "the program that runs", MetricType::Info)?;
        build.encode_info(&[("version", env!("CARGO_PKG_VERSION"))])?;
        let Metrics { clock, started, .. } = &*self.metrics;
        let uptime = clock.now().saturating_sub(*started).as_secs_f64();
        let now = crate::wall::now().as_duration().as_secs_f64();
        gauge(
            encoder,
            "process_start_time_seconds",
            "when the process started, in seconds since 1970",
            now - uptime,
        )?;
        gauge(
            encoder,
            "uptime_seconds",
            "for how long the server has run",
            uptime,
        )?;
        let is_ready = self.service.health().readiness().is_ready();
        gauge(
            encoder,
            "ready",
            "1 while requests should come here",
            f64::from(u8::from(is_ready)),
        )
    }

    fn http(&self, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
        let help = "requests by route and status";
        let mut requests = family(encoder, "http_requests", help, MetricType::Counter)?;
        for (route, status, count) in self.metrics.http.counted() {
            let status = if status == 0 {
                "other".into()
            } else {
                status.to_string()
            };
            let labels = [("route", route.path()), ("status", &status)];
            count_of(&mut requests, &labels, count)?;
        }
        Ok(())
    }

    fn resp(&self, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
        let help = "commands of the Redis protocol by name and outcome";
        let mut commands = family(encoder, "resp_commands", help, MetricType::Counter)?;
        for (command, is_failed, count) in self.metrics.resp.counted() {
            let outcome = if is_failed { "error" } else { "ok" };
            let labels = [("command", command), ("outcome", outcome)];
            count_of(&mut commands, &labels, count)?;
        }
        Ok(())
    }

    fn grpc(&self, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
        let help = "gRPC calls by method and status, counted when they end";
        let mut calls = family(encoder, "grpc_calls", help, MetricType::Counter)?;
        for (method, code, count) in self.metrics.grpc.counted() {
            let labels = [("method", method.path()), ("code", grpc::name(code))];
            count_of(&mut calls, &labels, count)?;
        }
        Ok(())
    }

    fn events(&self, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
        let events = &self.metrics.events;
        let counters = [
            (
                "store_regressions",
                "how often the store was found to have gone back in time",
                &events.regressions,
            ),
            (
                "weak_stores_refused",
                "how often a store or registry was reached and refused for settings that can lose a commit",
                &events.weak_stores,
            ),
            ("segments_reserved", "segments reserved", &events.segments),
            (
                "limits_reached",
                "how often a tag came to its limit",
                &events.limits_reached,
            ),
            (
                "refresh_failures",
                "how often the settings of tags in use could not be read again",
                &events.refresh_failures,
            ),
            (
                "store_conflicts",
                "calls to the store that met another transaction, changed nothing and were repeated",
                &events.store_conflicts,
            ),
        ];
        for (name, help, count) in counters {
            counter(encoder, name, help, count.load(Ordering::Relaxed))?;
        }
        Ok(())
    }

    fn store(&self, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
        let went_back = self.service.health().readiness().store_went_back();
        gauge(
            encoder,
            "store_went_back",
            "1 for a day after the store was found to have gone back in time",
            f64::from(u8::from(went_back)),
        )?;
        let watch = &self.metrics.watch;
        let answers = self.service.health().store().is_up();
        gauge(
            encoder,
            "store_up",
            "1 while reservations go through, which is found out every store-probe-interval",
            f64::from(u8::from(answers)),
        )?;
        let help = "calls to the store";
        let mut calls = family(encoder, "store_calls", help, MetricType::Counter)?;
        for call in Call::ALL {
            let count = watch.of(call).calls.load(Ordering::Relaxed);
            count_of(&mut calls, &[("call", call.name())], count)?;
        }
        let help = "calls to the store that failed";
        let mut failures = family(encoder, "store_failures", help, MetricType::Counter)?;
        for call in Call::ALL {
            let count = watch.of(call).failures.load(Ordering::Relaxed);
            count_of(&mut failures, &[("call", call.name())], count)?;
        }
        let help = "how long calls to the store took";
        let mut latency = family(encoder, "store_call_seconds", help, MetricType::Histogram)?;
        for call in Call::ALL {
            let seen = watch.of(call);
            if seen.calls.load(Ordering::Relaxed) > 0 {
                seen.latency
                    .encode(latency.encode_family(&[("call", call.name())])?)?;
            }
        }
        Ok(())
    }

    fn tags(&self, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
        let loaded = self.service.loaded_len();
        gauge(
            encoder,
            "tags_loaded",
            "tags in use",
            to_float(loaded as u64),
        )?;
        let (created, refused) = self.service.created_on_first_use();
        counter(
            encoder,
            "tags_created",
            "tags created on first use",
            created,
        )?;
        let help = "tags not created on first use, because there were too many";
        counter(encoder, "tag_creations_refused", help, refused)?;
        let tags = self.seen_tags();
        for series in TAG_SERIES {
            let mut metric = family(encoder, series.name, series.help, series.kind())?;
            for seen in &tags {
                series.encode(seen, &mut metric)?;
            }
        }
        Ok(())
    }

    /// The tags with series of their own, and the sum of the others.
    fn seen_tags(&self) -> Vec<SeenTag> {
        let mut own = self
            .metrics
            .tags
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        own::choose(&mut own, self.service.limits().metrics_tags_max, |told| {
            self.service.for_each_status(told);
        });
        let mut other = SeenTag::other();
        let mut tags = Vec::new();
        self.service.for_each_status(|status| {
            if own.contains(&status.tag) {
                tags.push(SeenTag::of(&status));
            } else {
                other.add(&status);
            }
        });
        tags.sort_by(|a, b| a.tag.cmp(&b.tag));
        if other.is_used {
            tags.push(other);
        }
        tags
    }
}

/// What the metrics say of a tag, or of many together.
struct SeenTag {
    tag: String,
    is_used: bool,
    issued: u64,
    skipped: u64,
    remaining: u64,
    rate: f64,
    failures: u64,
    regressions: u64,
    /// The rest has no sensible sum.
    single: Option<Single>,
}

struct Single {
    step: u64,
    cover_seconds: Option<f64>,
    headroom: u64,
}

impl SeenTag {
    fn other() -> Self {
        Self {
            tag: OTHER.into(),
            is_used: false,
            issued: 0,
            skipped: 0,
            remaining: 0,
            rate: 0.0,
            failures: 0,
            regressions: 0,
            single: None,
        }
    }

    fn of(status: &Status) -> Self {
        let mut seen = Self::other();
        seen.add(status);
        // The name itself, as the API has it: labels have escaping rules of their own.
        seen.tag = status.tag.as_str().to_owned();
        seen.single = Some(Single {
            step: status.step,
            cover_seconds: status.cover.map(|cover| cover.as_secs_f64()),
            headroom: status.limit.headroom(status.max_id.unwrap_or(1)),
        });
        seen
    }

    fn add(&mut self, status: &Status) {
        self.is_used = true;
        self.issued += status.issued;
        self.skipped += status.skipped;
        self.remaining += status.remaining;
        self.rate += status.rate;
        self.failures += status.failures;
        self.regressions += status.regressions;
    }
}

/// A metric that each tag has.
struct TagSeries {
    name: &'static str,
    help: &'static str,
    value: Value,
}

/// How a metric reads off a tag; a gauge that a tag does not have is left out.
enum Value {
    Counter(fn(&SeenTag) -> u64),
    Gauge(fn(&SeenTag) -> Option<f64>),
}

const TAG_SERIES: &[TagSeries] = &[
    TagSeries {
        name: "ids_issued",
        help: "ids issued by this process",
        value: Value::Counter(|tag| tag.issued),
    },
    TagSeries {
        name: "ids_skipped",
        help: "ids reserved and never to be issued",
        value: Value::Counter(|tag| tag.skipped),
    },
    TagSeries {
        name: "segment_remaining",
        help: "ids in memory",
        value: Value::Gauge(|tag| Some(to_float(tag.remaining))),
    },
    TagSeries {
        name: "segment_step",
        help: "length of the last segment",
        value: Value::Gauge(|tag| tag.single.as_ref().map(|single| to_float(single.step))),
    },
    TagSeries {
        name: "tag_rate",
        help: "measured rate, in ids per second",
        value: Value::Gauge(|tag| Some(tag.rate)),
    },
    TagSeries {
        name: "tag_cover_seconds",
        help: "how long the ids in memory last at the measured rate",
        value: Value::Gauge(|tag| tag.single.as_ref().and_then(|single| single.cover_seconds)),
    },
    TagSeries {
        name: "tag_headroom",
        help: "numbers left below the limit that are in no segment yet",
        value: Value::Gauge(|tag| tag.single.as_ref().map(|single| to_float(single.headroom))),
    },
    TagSeries {
        name: "tag_store_failures",
        help: "calls to the store for the tag that failed",
        value: Value::Counter(|tag| tag.failures),
    },
    TagSeries {
        name: "tag_regressions",
        help: "how often the store was found to have gone back for the tag",
        value: Value::Counter(|tag| tag.regressions),
    },
];

impl TagSeries {
    const fn kind(&self) -> MetricType {
        match self.value {
            Value::Counter(_) => MetricType::Counter,
            Value::Gauge(_) => MetricType::Gauge,
        }
    }

    fn encode(&self, seen: &SeenTag, metric: &mut MetricEncoder<'_>) -> Encoded {
        let labels = [("tag", seen.tag.as_str())];
        match self.value {
            Value::Counter(read) => count_of(metric, &labels, read(seen)),
            Value::Gauge(read) => match read(seen) {
                Some(value) => metric.encode_family(&labels)?.encode_gauge(&value),
                None => Ok(()),
            },
        }
    }
}

fn family<'a>(
    encoder: &'a mut DescriptorEncoder<'_>,
    name: &'a str,
    help: &str,
    kind: MetricType,
) -> Result<MetricEncoder<'a>, fmt::Error> {
    encoder.encode_descriptor(name, help, None, kind)
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> Encoded {
    family(encoder, name, help, MetricType::Gauge)?.encode_gauge(&value)
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, count: u64) -> Encoded {
    family(encoder, name, help, MetricType::Counter)?
        .encode_counter::<NoLabels, _, u64>(&count, None)
}

fn count_of(
    metric: &mut MetricEncoder<'_>,
    labels: &impl prometheus_client::encoding::EncodeLabelSet,
    count: u64,
) -> Encoded {
    metric
        .encode_family(labels)?
        .encode_counter::<NoLabels, _, u64>(&count, None)
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
fn to_float(number: u64) -> f64 {
    number as f64
}
