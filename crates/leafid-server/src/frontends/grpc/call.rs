//! `Call`: one call, from its beginning until its reply was handed over or it was given up. It is
//! counted once in the metrics, by its status, and meanwhile in the [`Activity`] of its connection.
//!
//! A call has a pending reply until hyper has handed all of the reply over to be sent, which needs
//! a peer that reads. A stream whose caller asks for nothing has none, however long it stays open.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::Response;
use tonic::Code;
use tonic::body::Body;
use tonic::codegen::BoxFuture;

use super::Method;
use super::counts::GrpcCounts;

/// The answer of a method, on its way.
pub(super) type Answering = BoxFuture<Response<Body>, Infallible>;

/// What the calls of one connection are doing. Relaxed where nothing else is said.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Grows with each call that begins or ends, and with each part of a reply.
    events: AtomicU64,
    open_calls: AtomicU64,
    pending_replies: AtomicU64,
}

/// The same at one time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Snapshot {
    pub(super) events: u64,
    pub(super) open_calls: u64,
    pub(super) pending_replies: u64,
}

impl Activity {
    pub(super) fn snapshot(&self) -> Snapshot {
        // First, and acquire: a pending reply is not seen without the event that made it one.
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

/// A call that goes on. One that is dropped without a status was given up by its caller.
pub(super) struct Call {
    activity: Arc<Activity>,
    has_pending_reply: bool,
    /// What it is counted as in the metrics; `None` for what is no gRPC, and once it was counted.
    uncounted: Option<(Method, Arc<GrpcCounts>)>,
}

impl Call {
    /// It has a pending reply from its beginning.
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

    /// Has it counted in the metrics.
    pub(super) fn count_as(&mut self, method: Method, counts: &Arc<GrpcCounts>) {
        self.uncounted = Some((method, Arc::clone(counts)));
    }

    /// Counts it in the metrics, if that was not done before.
    pub(super) fn ended(&mut self, code: Code) {
        if let Some((method, counts)) = self.uncounted.take() {
            counts.count(method, code);
        }
    }

    /// A part of the reply was handed over. Until hyper asks for the next one, it is pending.
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

    /// All parts of the reply that there are were taken.
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
