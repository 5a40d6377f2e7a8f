//! `Scrape`: one answer of `/metrics`, computed from the counters and the state of the tags.

mod access;
mod connections;
mod encode;
mod tags;
mod tls;
mod worker;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leafid::Tag;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;

use super::counters::Counters;
use crate::service::Service;

use crate::ops::instrumented_store::{Call, CallStats};
use encode::{Encoded, count_of, counter, counters, family, gauge, switch};

pub(super) struct Scrape {
    pub(super) counters: Arc<Counters>,
    /// The time since the server started.
    pub(super) uptime: Duration,
    /// The tags with series of their own.
    pub(super) tags: Arc<Mutex<BTreeSet<Tag>>>,
    pub(super) service: Arc<Service>,
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Encoded {
        self.process(&mut encoder)?;
        connections::encode(&self.counters, &self.service, &mut encoder)?;
        self.calls(&mut encoder)?;
        self.events(&mut encoder)?;
        self.store(&mut encoder)?;
        tls::encode(self.counters.tls.as_deref(), &mut encoder)?;
        access::encode(&self.service, &mut encoder)?;
        worker::encode(&self.service, &self.counters.events, &mut encoder)?;
        tags::encode(&self.service, &self.tags, &mut encoder)
    }
}

impl Scrape {
    fn process(&self, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
        let mut build = family(
            encoder,
            "build",
            "version of the running program",
            MetricType::Info,
        )?;
        build.encode_info(&[("version", env!("CARGO_PKG_VERSION"))])?;
        let uptime = self.uptime.as_secs_f64();
        let now = crate::wall_clock::now().as_duration().as_secs_f64();
        let help = "when the process started, in seconds since 1970";
        gauge(encoder, "process_start_time_seconds", help, now - uptime)?;
        let help = "time since the server started";
        gauge(encoder, "uptime_seconds", help, uptime)?;
        let is_ready = self.service.health().readiness().is_ready();
        switch(
            encoder,
            "ready",
            "1 while the server is ready for requests",
            is_ready,
        )
    }

    fn calls(&self, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
        for calls in &self.counters.calls {
            let mut metric = family(encoder, calls.name(), calls.help(), MetricType::Counter)?;
            let [first, second] = calls.labels();
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

    fn events(&self, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
        let events = &self.counters.events;
        let counters = [
            (
                "store_regressions",
                "how often the store was found to have gone back in time",
                &events.regressions,
            ),
            (
                "weak_stores_refused",
                "how often a store or registry was refused because a setting can lose a commit",
                &events.weak_stores,
            ),
            ("segments_reserved", "segments reserved", &events.segments),
            (
                "limits_reached",
                "how often a tag reached its limit",
                &events.limits_reached,
            ),
            (
                "refresh_failures",
                "how often the settings of tags in use could not be reread",
                &events.refresh_failures,
            ),
            (
                "store_conflicts",
                "calls to the store that lost against another transaction and were repeated",
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
        let help = "1 for a day after the store was found to have gone back in time";
        switch(encoder, "store_went_back", help, went_back)?;
        let store_calls = &self.counters.store;
        let is_up = self.service.health().store().is_up();
        let help = "1 while the store accepts reservations; probed every store-probe-interval";
        switch(encoder, "store_up", help, is_up)?;
        let count_of = |count: fn(&CallStats) -> &AtomicU64| {
            let load = move |call| count(store_calls.of(call)).load(Ordering::Relaxed);
            Call::ALL.map(|call| (call.name(), load(call)))
        };
        let help = "calls to the store";
        let calls = count_of(|stats| &stats.calls);
        counters(encoder, "store_calls", help, "call", calls)?;
        let help = "calls to the store that failed";
        let failures = count_of(|stats| &stats.failures);
        counters(encoder, "store_failures", help, "call", failures)?;
        let help = "how long calls to the store took";
        let mut latency = family(encoder, "store_call_seconds", help, MetricType::Histogram)?;
        for call in Call::ALL {
            let seen = store_calls.of(call);
            if seen.calls.load(Ordering::Relaxed) > 0 {
                seen.latency
                    .encode(latency.encode_family(&[("call", call.name())])?)?;
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
