//! `RequestSpan` and `StoreSpan`: one request, and one store call. Each is sent once: when it ends,
//! or when it is dropped because its caller has given up.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use leafid::Tag;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use super::Outcome;
use super::place::Place;
use super::queue::Queue;
use super::waiting::Waiting;

tokio::task_local! {
    /// The request that this task answers.
    static CURRENT: Arc<Request>;
}

/// What its own task and that of the driver see of a request.
struct Request {
    waiting: Arc<Waiting>,
    place: Place,
    tag: OnceLock<Tag>,
}

impl Request {
    fn note_tag(&self, tag: Tag) {
        self.waiting.add(&tag, &self.place);
        let _first_counts = self.tag.set(tag);
    }
}

/// Notes the tag of the request that this task answers, if it is traced.
pub(crate) fn note_tag(name: &str) {
    let _is_traced = CURRENT.try_with(|request| {
        if let Ok(tag) = Tag::new(name) {
            request.note_tag(tag);
        }
    });
}

/// The request that this task answers.
pub(super) fn current() -> Option<Place> {
    CURRENT.try_with(|request| request.place.clone()).ok()
}

/// A request that is traced.
pub(crate) struct RequestSpan {
    request: Arc<Request>,
    /// `None` once it was sent.
    span: Option<Span>,
}

impl RequestSpan {
    pub(super) fn new(
        queue: &Queue,
        waiting: &Arc<Waiting>,
        place: Place,
        parent: Option<SpanId>,
    ) -> Self {
        let mut span = Span::new(queue, &place, SpanKind::Server);
        if let Some(parent) = parent {
            span.data.parent_span_id = parent;
            span.data.parent_span_is_remote = true;
        }
        let request = Request {
            waiting: Arc::clone(waiting),
            place,
            tag: OnceLock::new(),
        };
        Self {
            request: Arc::new(request),
            span: Some(span),
        }
    }

    pub(crate) fn name(&mut self, name: String) {
        if let Some(span) = &mut self.span {
            span.data.name = name.into();
        }
    }

    pub(crate) fn text(&mut self, key: &'static str, value: impl Into<String>) {
        if let Some(span) = &mut self.span {
            span.data.attributes.push(KeyValue::new(key, value.into()));
        }
    }

    pub(crate) fn number(&mut self, key: &'static str, value: i64) {
        if let Some(span) = &mut self.span {
            span.data.attributes.push(KeyValue::new(key, value));
        }
    }

    /// Notes its tag; store calls for the tag belong to it from then on.
    pub(crate) fn tag(&self, name: &str) {
        if let Ok(tag) = Tag::new(name) {
            self.request.note_tag(tag);
        }
    }

    /// Answers it; store calls in the task of `answering` belong to it.
    pub(crate) fn scope<F: Future>(
        &self,
        answering: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(Arc::clone(&self.request), answering)
    }

    pub(crate) fn end(mut self, outcome: Outcome) {
        self.send(outcome);
    }

    fn send(&mut self, outcome: Outcome) {
        let Some(mut span) = self.span.take() else {
            return;
        };
        if let Some(tag) = self.request.tag.get() {
            self.request.waiting.remove(&self.request.place);
            let tag = KeyValue::new("leafid.tag", tag.as_str().to_owned());
            span.data.attributes.push(tag);
        }
        span.send(outcome);
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        self.send(Outcome::Failed("cancelled".into()));
    }
}

/// A store call that belongs to a trace.
pub(crate) struct StoreSpan(Option<Span>);

impl StoreSpan {
    pub(super) fn new(
        queue: &Queue,
        parent: &Place,
        store: &'static str,
        operation: &'static str,
    ) -> Self {
        let place = Place::new(parent.trace_id, parent.state.clone());
        let mut span = Span::new(queue, &place, SpanKind::Client);
        span.data.parent_span_id = parent.span_id;
        span.data.name = operation.into();
        span.data.attributes = vec![
            KeyValue::new("db.system.name", store),
            KeyValue::new("db.operation.name", operation),
        ];
        Self(Some(span))
    }

    pub(super) fn with_tag(mut self, tag: Option<&Tag>) -> Self {
        if let (Some(span), Some(tag)) = (&mut self.0, tag) {
            let tag = KeyValue::new("leafid.tag", tag.as_str().to_owned());
            span.data.attributes.push(tag);
        }
        self
    }

    pub(crate) fn end(mut self, outcome: Outcome) {
        if let Some(span) = self.0.take() {
            span.send(outcome);
        }
    }
}

impl Drop for StoreSpan {
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            span.send(Outcome::Failed("cancelled".into()));
        }
    }
}

/// A span that has begun.
struct Span {
    queue: Queue,
    data: Box<SpanData>,
}

impl Span {
    fn new(queue: &Queue, place: &Place, span_kind: SpanKind) -> Self {
        let Place {
            trace_id,
            span_id,
            state,
        } = place.clone();
        let now = queue.now();
        let data = SpanData {
            span_context: SpanContext::new(trace_id, span_id, TraceFlags::SAMPLED, false, state),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind,
            name: "".into(),
            start_time: now,
            end_time: now,
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: scope(),
        };
        Self {
            queue: queue.clone(),
            data: Box::new(data),
        }
    }

    fn send(mut self, outcome: Outcome) {
        let began: SystemTime = self.data.start_time;
        // The wall clock may have been set back meanwhile.
        self.data.end_time = self.queue.now().max(began);
        if let Outcome::Failed(kind) = outcome {
            self.data.status = Status::error("");
            self.data.attributes.push(KeyValue::new("error.type", kind));
        }
        self.queue.send(*self.data);
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("leafid")
        .with_version(env!("CARGO_PKG_VERSION"))
        .build()
}
