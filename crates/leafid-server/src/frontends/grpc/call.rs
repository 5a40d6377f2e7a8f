//! `Call`: one call, counted once, when its status is known.

use std::sync::Arc;

use hyper::Response;
use tonic::Code;

use super::counts::GrpcCounts;
use super::{Method, code_of};

/// A call that was not counted yet. One that is dropped was given up by its caller.
pub(super) struct Call {
    method: Method,
    counts: Arc<GrpcCounts>,
    is_counted: bool,
}

impl Call {
    pub(super) const fn new(method: Method, counts: Arc<GrpcCounts>) -> Self {
        Self {
            method,
            counts,
            is_counted: false,
        }
    }

    /// Counts it by an answer that says how it ended.
    pub(super) fn answered<B>(mut self, answer: &Response<B>) {
        self.ended(code_of(answer.headers()));
    }

    /// Counts it.
    pub(super) fn ended(&mut self, code: Code) {
        if !self.is_counted {
            self.is_counted = true;
            self.counts.count(self.method, code);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.ended(Code::Cancelled);
    }
}
