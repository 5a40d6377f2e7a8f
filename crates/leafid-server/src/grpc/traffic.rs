//! `Traffic`: what goes on on one connection, and the watch that ends it when nothing does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;
use tokio::time::sleep;

use crate::limits::Limits;

/// Calls of one connection. Relaxed throughout: the watch only asks whether anything moved.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// Whether the peer speaks HTTP/2.
    is_open: AtomicBool,
    begun: AtomicU64,
    ended: AtomicU64,
    /// Told when a call was refused for want of a place.
    refused: Notify,
}

/// A call that goes on, until it is dropped.
pub(super) struct Ongoing(Arc<Traffic>);

impl Traffic {
    /// The peer has said that it speaks HTTP/2.
    pub(super) fn opened(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    pub(super) fn begin(self: &Arc<Self>) -> Ongoing {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Ongoing(Arc::clone(self))
    }

    /// Makes the connection give up its place.
    pub(super) fn refuse(&self) {
        self.refused.notify_one();
    }

    /// Is ready once a call was refused for want of a place.
    pub(super) async fn refused(&self) {
        self.refused.notified().await;
    }

    /// Is ready once the peer has been silent for too long: it does not speak HTTP/2, or no call
    /// has begun and none goes on.
    pub(super) async fn silent(&self, limits: &Limits) {
        sleep(limits.first_head_max).await;
        if !self.is_open() {
            return;
        }
        let mut before = self.begun.load(Ordering::Relaxed);
        loop {
            sleep(limits.idle_max).await;
            let begun = self.begun.load(Ordering::Relaxed);
            if begun == before && self.ended.load(Ordering::Relaxed) == begun {
                return;
            }
            before = begun;
        }
    }
}

impl Ongoing {
    /// The connection that it came over.
    pub(super) fn traffic(&self) -> &Traffic {
        &self.0
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}
