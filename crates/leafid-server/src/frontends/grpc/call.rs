//! `Call`: one call, from its beginning until its reply is handed over or it is given up. It is
//! counted once in the metrics, by its status, and until then in the [`Activity`] of its
//! connection.
//!
//! A call has a pending reply until hyper has handed over all of the reply to be sent, which needs
//! a peer that reads. A stream whose caller requests nothing has none, however long it stays open.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::Response;
use tokio::time::Instant;
use tonic::Code;
use tonic::body::Body;
use tonic::codegen::BoxFuture;

use super::Method;
use super::counts::GrpcCounts;
use super::traced::Traced;

/// The answer of a method, as a future.
pub(super) type Answering = BoxFuture<Response<Body>, Infallible>;

/// What the calls of one connection are doing. Relaxed unless a comment says otherwise.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Incremented for each call that begins or ends, and for each part of a reply.
    events: AtomicU64,
    open_calls: AtomicU64,
    pending_replies: AtomicU64,
}

/// A consistent copy of these counters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Snapshot {
    pub(super) events: u64,
    pub(super) open_calls: u64,
    pub(super) pending_replies: u64,
}

impl Activity {
    pub(super) fn snapshot(&self) -> Snapshot {
        // Loaded first, with acquire: a pending reply is not seen without the event that made it
        // pending.
        let pending_replies = self.pending_replies.load(Ordering::Acquire);
        Snapshot {
            events: self.events.load(Ordering::Relaxed),
            open_calls: self.open_calls.load(Ordering::Relaxed),
            pending_replies,
        }
    }

    #[inline]
    fn event(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }
}

/// A call in progress. One that is dropped without a status was given up by its caller.
pub(super) struct Call {
    activity: Arc<Activity>,
    has_pending_reply: bool,
    /// How the metrics count it; `None` if it is not gRPC, and once it was counted.
    uncounted: Option<Uncounted>,
}

/// A call that the metrics do not count yet.
struct Uncounted {
    method: Method,
    counts: Arc<GrpcCounts>,
    begun: Instant,
    traced: Option<Traced>,
}

impl Call {
    /// Its reply is pending from its beginning.
    pub(super) fn begin(activity: &Arc<Activity>) -> Self {
        activity.open_calls.fetch_add(1, Ordering::Relaxed);
        let mut call = Self {
            activity: Arc::clone(activity),
            has_pending_reply: false,
            uncounted: None,
        };
        call.reply_pending();
        call
    }

    /// Sets how the metrics count it.
    pub(super) fn count_as(&mut self, method: Method, counts: &Arc<GrpcCounts>) {
        self.uncounted = Some(Uncounted {
            method,
            counts: Arc::clone(counts),
            begun: Instant::now(),
            traced: None,
        });
    }

    /// Ends its span when it is counted.
    pub(super) fn trace(&mut self, traced: Traced) {
        if let Some(call) = &mut self.uncounted {
            call.traced = Some(traced);
        }
    }

    /// Counts it in the metrics, unless that has been done.
    pub(super) fn ended(&mut self, code: Code) {
        let Some(call) = self.uncounted.take() else {
            return;
        };
        call.counts.count(call.method, code);
        if let Some(traced) = call.traced {
            traced.end(code);
        }
        // A stream takes as long as its caller wants.
        if !call.method.is_streaming() {
            call.counts.latency.record(call.begun.elapsed(), 1);
        }
    }

    /// A part of the reply was handed over. It is pending until hyper asks for the next one.
    #[inline]
    pub(super) fn reply_pending(&mut self) {
        self.activity.event();
        if !self.has_pending_reply {
            self.has_pending_reply = true;
            // Release pairs with the acquire in `Activity::snapshot`.
            let pending_replies = &self.activity.pending_replies;
            pending_replies.fetch_add(1, Ordering::Release);
        }
    }

    /// All available parts of the reply were taken.
    #[inline]
    pub(super) fn reply_taken(&mut self) {
        if self.has_pending_reply {
            self.has_pending_reply = false;
            let pending_replies = &self.activity.pending_replies;
            pending_replies.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.ended(Code::Cancelled);
        self.reply_taken();
        self.activity.event();
        self.activity.open_calls.fetch_sub(1, Ordering::Relaxed);
    }
}
