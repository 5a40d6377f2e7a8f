//! `Scrape`: one answer of `/metrics`, computed from the counters and the state of the tags.

mod access;
mod connections;
mod tags;
mod tls;
mod worker;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leafid::Tag;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;

use super::call_counts::CallMetric;
use super::counters::Counters;
use crate::service::Service;
use crate::service::reloads::ReloadedFile;
use crate::trace::SpanCounts;

use super::families::{Encoded, Families, NoLabels, count_of};
use super::latency::LatencySum;
use crate::ops::instrumented_store::Call;

pub(super) struct Scrape {
    pub(super) counters: Arc<Counters>,
    /// The time since the server started.
    pub(super) uptime: Duration,
    /// The tags with series of their own.
    pub(super) tags: Arc<Mutex<BTreeSet<Tag>>>,
    pub(super) service: Arc<Service>,
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Encoded {
        let families = &mut Families(encoder);
        self.process(families)?;
        connections::encode(&self.counters, &self.service, families)?;
        self.calls(families)?;
        self.latencies(families)?;
        self.events(families)?;
        self.store(families)?;
        self.traces(families)?;
        tls::encode(self.counters.tls.as_deref(), families)?;
        access::encode(&self.service, families)?;
        worker::encode(&self.service, &self.counters.events, families)?;
        tags::encode(&self.service, &self.tags, families)
    }
}

impl Scrape {
    fn process(&self, families: &mut Families<'_>) -> Encoded {
        let help = "version of the running program";
        let mut build = families.family("build", help, MetricType::Info)?;
        build.encode_info(&[("version", env!("CARGO_PKG_VERSION"))])?;
        let uptime = self.uptime.as_secs_f64();
        families.gauge("uptime_seconds", "time since the server started", uptime)?;
        let is_ready = self.service.health().readiness().is_ready();
        self.reloads(families)?;
        families.switch(
            "ready",
            "1 while the server is ready for requests",
            is_ready,
        )
    }

    fn reloads(&self, families: &mut Families<'_>) -> Encoded {
        let files = ReloadedFile::ALL.map(|file| (file, self.service.reloads().last(file)));
        let read = || {
            files
                .iter()
                .filter_map(|(file, last)| Some((file, (*last)?)))
        };
        let help = "1 if the last reading of a file, at start or at SIGHUP, succeeded";
        let name = "config_last_reload_successful";
        let mut metric = families.family(name, help, MetricType::Gauge)?;
        for (file, last) in read() {
            let value = f64::from(u8::from(last.succeeded));
            metric
                .encode_family(&[("file", file.name())])?
                .encode_gauge(&value)?;
        }
        let help = "when a file was last read successfully, in seconds since 1970";
        let name = "config_last_reload_success_timestamp_seconds";
        let mut metric = families.family(name, help, MetricType::Gauge)?;
        for (file, last) in read() {
            metric
                .encode_family(&[("file", file.name())])?
                .encode_gauge(&last.success_at)?;
        }
        Ok(())
    }

    fn calls(&self, families: &mut Families<'_>) -> Encoded {
        for calls in &self.counters.calls {
            let CallMetric { name, help, labels } = calls.metric();
            let mut metric = families.family(name, help, MetricType::Counter)?;
            let [first, second] = labels;
            let mut encoded = Ok(());
            calls.for_each(&mut |[one, other], count| {
                if encoded.is_ok() {
                    encoded = count_of(&mut metric, &[(first, one), (second, other)], count);
                }
            });
            encoded?;
        }
        Ok(())
    }

    fn latencies(&self, families: &mut Families<'_>) -> Encoded {
        let help = "how long requests took, from their arrival to their answer, by protocol; \
                    streams of gRPC are left out";
        let name = "request_duration_seconds";
        let mut metric = families.family(name, help, MetricType::Histogram)?;
        for calls in &self.counters.calls {
            let LatencySum {
                seconds,
                count,
                buckets,
            } = calls.latency().sum();
            metric
                .encode_family(&[("protocol", calls.protocol().name())])?
                .encode_histogram::<NoLabels>(seconds, count, &buckets, None)?;
        }
        Ok(())
    }

    fn events(&self, families: &mut Families<'_>) -> Encoded {
        let events = &self.counters.events;
        let help = "how often the store was found to have gone back in time";
        families.counter("store_regressions", help, events.regressions.get())?;
        let help = "how often a store or registry was refused because a setting can lose a commit";
        families.counter("weak_stores_refused", help, events.weak_stores.get())?;
        let segments = events.segments.get();
        families.counter("segments_reserved", "segments reserved", segments)?;
        let help = "how often a tag reached its limit";
        families.counter("limits_reached", help, events.limits_reached.get())?;
        let help = "how often the settings of tags in use could not be reread";
        families.counter("refresh_failures", help, events.refresh_failures.get())?;
        let help = "calls to the store that lost against another transaction and were repeated";
        families.counter("store_conflicts", help, events.store_conflicts.get())
    }

    fn traces(&self, families: &mut Families<'_>) -> Encoded {
        let Some(tracer) = &self.counters.tracer else {
            return Ok(());
        };
        let SpanCounts { exported, dropped } = tracer.counts();
        families.counter("spans_exported", "spans sent to the collector", exported)?;
        let help = "spans dropped because the collector is away or too slow";
        families.counter("spans_dropped", help, dropped)
    }

    fn store(&self, families: &mut Families<'_>) -> Encoded {
        let went_back = self.service.health().readiness().store_went_back();
        let help = "1 for a day after the store was found to have gone back in time";
        families.switch("store_went_back", help, went_back)?;
        let is_up = self.service.health().store().is_up();
        let help = "1 while the store accepts reservations; probed every store-probe-interval";
        families.switch("store_up", help, is_up)?;
        let stats = Call::ALL.map(|call| (call.name(), self.counters.store.of(call)));
        let calls = stats.map(|(call, stats)| (call, stats.calls.get()));
        families.counters("store_calls", "calls to the store", "call", calls)?;
        let failures = stats.map(|(call, stats)| (call, stats.failures.get()));
        let help = "calls to the store that failed";
        families.counters("store_failures", help, "call", failures)?;
        let help = "how long calls to the store took";
        let mut latency = families.family("store_call_seconds", help, MetricType::Histogram)?;
        for (call, stats) in stats {
            if stats.calls.get() > 0 {
                let labels = [("call", call)];
                stats.latency.encode(latency.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Scrape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scrape").finish_non_exhaustive()
    }
}
