//! `InstrumentedStore`: counts and times the calls to a store, and changes nothing else about them.

use std::future::Future;
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use leafid::store::{
    Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagPatch, TagRecord,
    TagSpec,
};
use leafid::{Clock, Tag};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use crate::named::named;
use crate::trace::{Outcome, Tracer};

/// Buckets of the store's latency, in seconds: from an embedded store's 0.2 ms to time-outs.
const LATENCY_BUCKETS: [f64; 13] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0,
];

named! {
    /// A call of [`SegmentStore`], for metrics.
    pub(crate) enum Call, by name {
        Reserve "reserve"
        Read "read"
        List "list"
        Create "create"
        Update "update"
        Delete "delete"
        Inspect "inspect"
        Probe "probe"
    }
}

/// The measurements of a store's calls.
#[derive(Debug)]
pub(crate) struct StoreCalls {
    calls: [CallStats; Call::ALL.len()],
}

/// The measurements of one kind of call.
#[derive(Debug)]
pub(crate) struct CallStats {
    pub(crate) latency: Histogram,
    pub(crate) calls: Counter,
    pub(crate) failures: Counter,
}

impl StoreCalls {
    pub(crate) fn new() -> Self {
        Self {
            calls: std::array::from_fn(|_| CallStats {
                latency: Histogram::new(LATENCY_BUCKETS),
                calls: Counter::default(),
                failures: Counter::default(),
            }),
        }
    }

    pub(crate) fn of(&self, call: Call) -> &CallStats {
        &self.calls[call as usize]
    }
}

/// A store whose calls are counted and timed.
pub(crate) struct InstrumentedStore {
    store: Arc<dyn SegmentStore>,
    watch: Arc<StoreCalls>,
    clock: Arc<dyn Clock>,
    /// `None`: no call is traced.
    tracer: Option<Arc<Tracer>>,
}

impl InstrumentedStore {
    pub(crate) fn new(
        store: Arc<dyn SegmentStore>,
        watch: Arc<StoreCalls>,
        clock: Arc<dyn Clock>,
        tracer: Option<Arc<Tracer>>,
    ) -> Self {
        Self {
            store,
            watch,
            clock,
            tracer,
        }
    }

    async fn timed<T>(
        &self,
        call: Call,
        tags: &[Tag],
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let tracer = self.tracer.as_ref();
        let span = tracer.and_then(|tracer| tracer.store_call(call.name(), tags));
        let mut timer = Timer {
            watched: self,
            call,
            started: self.clock.now(),
            is_answered: false,
        };
        let answer = answer.await;
        timer.is_answered = true;
        if let Some(span) = span {
            span.end(outcome(&answer));
        }
        if matches!(&answer, Err(StoreError::Unavailable { .. })) {
            self.watch.of(call).failures.inc();
        }
        answer
    }
}

fn outcome<T>(answer: &Result<T, StoreError>) -> Outcome {
    match answer {
        Ok(_) => Outcome::Ok,
        Err(StoreError::Unavailable { .. }) => Outcome::Failed("unavailable".into()),
        // Such as a tag that does not exist.
        Err(_) => Outcome::Refused,
    }
}

/// Records the duration of a call, even if its caller has given up.
struct Timer<'a> {
    watched: &'a InstrumentedStore,
    call: Call,
    started: Duration,
    is_answered: bool,
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        let InstrumentedStore { watch, clock, .. } = self.watched;
        let took = clock.now().saturating_sub(self.started);
        let seen = watch.of(self.call);
        seen.latency.observe(took.as_secs_f64());
        seen.calls.inc();
        if !self.is_answered {
            seen.failures.inc();
        }
    }
}

impl SegmentStore for InstrumentedStore {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        Box::pin(self.timed(
            Call::Reserve,
            from_ref(&reserve.tag),
            self.store.reserve(reserve),
        ))
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        Box::pin(self.timed(Call::Read, tags, self.store.read(tags)))
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        Box::pin(self.timed(Call::List, &[], self.store.list(after, count)))
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        Box::pin(self.timed(Call::Create, from_ref(&spec.tag), self.store.create(spec)))
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        Box::pin(self.timed(Call::Update, from_ref(tag), self.store.update(tag, patch)))
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        Box::pin(self.timed(Call::Delete, from_ref(tag), self.store.delete(tag)))
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(self.timed(Call::Inspect, &[], self.store.inspect()))
    }

    fn probe(&self) -> StoreResult<'_, String> {
        Box::pin(self.timed(Call::Probe, &[], self.store.probe()))
    }
}
