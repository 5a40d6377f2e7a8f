//! `Server`: a machine with its wall clock and its disk, and the process that runs on it, if one
//! does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leafid::WorkerRegistry;

use super::clock::Wall;
use super::disk::Disk;
use crate::executor::Process;

/// One machine.
pub(crate) struct Server {
    pub(crate) wall: Arc<Wall>,
    pub(crate) disk: Arc<Disk>,
    pub(crate) life: Option<Life>,
    /// When the next process starts, while none runs.
    pub(crate) starts_at: Duration,
}

/// One process.
#[derive(Clone)]
pub(crate) struct Life {
    pub(crate) process: Process,
    pub(crate) registry: WorkerRegistry,
    /// A write to its journal has failed; only another process can write again.
    pub(crate) is_broken: Arc<AtomicBool>,
    /// Its driver has ended.
    pub(crate) has_ended: Arc<AtomicBool>,
    /// A call has succeeded since the faults ended.
    pub(crate) is_served: Arc<AtomicBool>,
}

impl Life {
    /// Whether it can continue by itself.
    pub(crate) fn is_whole(&self) -> bool {
        // Relaxed: there is one thread.
        !self.is_broken.load(Ordering::Relaxed) && !self.has_ended.load(Ordering::Relaxed)
    }
}
