//! `Tracer`: decides which requests are traced.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyper::HeaderMap;
use leafid::{Clock, Tag};
use opentelemetry::trace::{SpanId, TraceId, TraceState};

use super::exporter::Exporter;
use super::place::Place;
use super::queue::Queue;
use super::span::{RequestSpan, StoreSpan, current};
use super::traceparent::TraceParent;
use super::waiting::Waiting;
use super::{SpanCounts, TracedServer};

/// A longer `tracestate` may be left out, as the standard says.
const STATE_LEN_MAX: usize = 512;

pub(crate) struct Tracer {
    server: TracedServer,
    queue: Queue,
    waiting: Arc<Waiting>,
}

impl Tracer {
    /// With what sends its spans, once that runs.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "without the feature there is none"
    )]
    pub(crate) fn open(
        server: TracedServer,
        clock: Arc<dyn Clock>,
    ) -> Option<(Arc<Self>, Exporter)> {
        let (queue, spans) = Queue::new(clock);
        let exporter = Exporter::new(&server, spans, Arc::clone(&queue.counts));
        let tracer = Self {
            server,
            queue,
            waiting: Arc::default(),
        };
        Some((Arc::new(tracer), exporter))
    }

    /// The span of a request with these headers; `None`: it is not traced. The caller decides for
    /// its own trace; a request without one begins one now and then.
    pub(crate) fn request(&self, headers: &HeaderMap) -> Option<RequestSpan> {
        let (place, parent) = match parent(headers) {
            None => (self.sampled()?, None),
            Some(parent) if !parent.is_sampled => return None,
            Some(parent) => {
                let trace_id = TraceId::from(parent.trace_id);
                let place = Place::new(trace_id, state(headers));
                (place, Some(SpanId::from(parent.span_id)))
            }
        };
        Some(RequestSpan::new(&self.queue, &self.waiting, place, parent))
    }

    /// The span of a store call for these tags, in the trace of the request that makes it or waits
    /// for it; `None`: there is none.
    pub(crate) fn store_call(&self, operation: &'static str, tags: &[Tag]) -> Option<StoreSpan> {
        let parent = current().or_else(|| self.waiting.find(tags))?;
        let tag = match tags {
            [tag] => Some(tag),
            _ => None,
        };
        let span = StoreSpan::new(&self.queue, &parent, self.server.store, operation);
        Some(span.with_tag(tag))
    }

    /// A trace of our own, for as many requests as `otlp-sample` says.
    fn sampled(&self) -> Option<Place> {
        if self.server.sample <= 0.0 {
            return None;
        }
        let place = Place::root();
        // The part of the id that the standard wants to be random.
        let random = &place.trace_id.to_bytes()[9..];
        let random = random
            .iter()
            .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        #[expect(clippy::cast_precision_loss, reason = "53 bits of 56 are enough")]
        let part = random as f64 / (1_u64 << 56) as f64;
        (part < self.server.sample).then_some(place)
    }

    pub(crate) fn counts(&self) -> SpanCounts {
        let counts = &self.queue.counts;
        SpanCounts {
            exported: counts.exported.load(Ordering::Relaxed),
            dropped: counts.dropped.load(Ordering::Relaxed),
        }
    }
}

/// The caller's trace. Two headers are none, as the standard says.
fn parent(headers: &HeaderMap) -> Option<TraceParent> {
    let mut values = headers.get_all("traceparent").iter();
    let (first, second) = (values.next()?, values.next());
    match second {
        Some(_) => None,
        None => TraceParent::parse(first.as_bytes()),
    }
}

fn state(headers: &HeaderMap) -> TraceState {
    let values = headers.get_all("tracestate").iter();
    let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    let text = texts.join(",");
    match text.len() {
        1..=STATE_LEN_MAX => text.parse().unwrap_or(TraceState::NONE),
        _ => TraceState::NONE,
    }
}

#[cfg(test)]
mod tests {
    use allocation_counter::measure;
    use leafid::SystemClock;

    use super::*;
    use crate::trace::Outcome;

    fn tracer(sample: f64) -> (Arc<Tracer>, Exporter) {
        let server = TracedServer {
            endpoint: "http://127.0.0.1:4317".into(),
            sample,
            service: "leafid".into(),
            store: "sqlite",
        };
        Tracer::open(server, Arc::new(SystemClock::new())).unwrap()
    }

    fn headers(values: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("traceparent", value.parse().unwrap());
        }
        headers
    }

    const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const UNSAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

    #[test]
    fn the_caller_decides_for_its_own_trace() {
        let is_traced = |sample: f64, values: &[&'static str]| {
            let (tracer, _exporter) = tracer(sample);
            tracer.request(&headers(values)).is_some()
        };
        for sample in [0.0, 1.0] {
            assert!(is_traced(sample, &[SAMPLED]));
            assert!(!is_traced(sample, &[UNSAMPLED]));
            // Each of these counts as none.
            for values in [&[][..], &["00-x"], &[SAMPLED, SAMPLED]] {
                assert_eq!(is_traced(sample, values), sample > 0.0, "{values:?}");
            }
        }
    }

    /// Guards that about as many requests begin a trace as `otlp-sample` says.
    #[test]
    fn a_part_of_the_requests_begins_a_trace() {
        let (tracer, _exporter) = tracer(0.25);
        let none = HeaderMap::new();
        let traced = (0..10_000).filter(|_| tracer.request(&none).is_some());
        let traced = traced.count();
        assert!((2000..3000).contains(&traced), "{traced}");
    }

    /// Guards that a server with traces on pays for those that are traced only.
    #[test]
    fn a_request_that_is_not_traced_costs_no_allocation() {
        let (tracer, _exporter) = tracer(0.0);
        let requests = [headers(&[]), headers(&[UNSAMPLED])];
        let counted = measure(|| {
            for headers in &requests {
                assert!(tracer.request(headers).is_none());
            }
        });
        assert_eq!(counted.count_total, 0);
    }

    /// Guards that spans beyond the queue are dropped and counted, and nobody waits.
    #[test]
    fn spans_beyond_the_queue_are_dropped() {
        let (tracer, _exporter) = tracer(0.0);
        for _ in 0..3000 {
            let span = tracer.request(&headers(&[SAMPLED])).unwrap();
            span.end(Outcome::Ok);
        }
        assert_eq!(tracer.counts().dropped, 3000 - 2048);
    }

    /// Guards that a store call is in the trace of a request that waits for its tag, while it waits.
    #[test]
    fn a_store_call_belongs_to_a_request_that_waits_for_its_tag() {
        let (tracer, _exporter) = tracer(0.0);
        let tags = ["order", "invoice"].map(|name| Tag::new(name).unwrap());
        let span = tracer.request(&headers(&[SAMPLED])).unwrap();
        assert!(tracer.store_call("reserve", &tags).is_none());
        span.tag("order");
        assert!(tracer.store_call("reserve", &tags[..1]).is_some());
        assert!(tracer.store_call("read", &tags).is_some());
        assert!(tracer.store_call("reserve", &tags[1..]).is_none());
        assert!(tracer.store_call("probe", &[]).is_none());
        drop(span);
        assert!(tracer.store_call("reserve", &tags).is_none());
    }
}
