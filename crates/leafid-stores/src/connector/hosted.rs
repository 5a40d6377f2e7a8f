//! `Hosted`: a store that brings the runtime which its connections need, so that any thread and
//! any executor can call it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use leafid::Tag;
use leafid::store::{
    BoxFuture, Reserve, Reserved, SegmentStore, StoreReport, StoreResult, TagPatch, TagRecord,
    TagSpec,
};
use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime with one thread, which waits for the sockets and timers of a store.
pub(super) struct Host(Option<Runtime>, Handle);

impl Host {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("leafid-driver")
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        Ok(Self(Some(runtime), handle))
    }

    pub(super) fn handle(&self) -> Handle {
        self.1.clone()
    }

    /// Runs a future on whichever thread polls it, with this runtime's sockets and timers.
    pub(super) fn run<'a, T: 'a>(&self, future: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
        Box::pin(Within {
            future,
            handle: self.handle(),
        })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The last one to go may be the driver, on a thread of this runtime, which must not wait.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A future that finds the runtime whenever it is polled.
struct Within<'a, T> {
    future: BoxFuture<'a, T>,
    handle: Handle,
}

impl<T> Future for Within<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Self { future, handle } = &mut *self;
        let _entered = handle.enter();
        future.as_mut().poll(context)
    }
}

/// A store with its runtime. The store goes first: its connections are closed while there is one.
pub(super) struct Hosted {
    store: Arc<dyn SegmentStore>,
    host: Host,
}

impl Hosted {
    pub(super) fn new(store: Arc<dyn SegmentStore>, host: Host) -> Self {
        Self { store, host }
    }
}

impl SegmentStore for Hosted {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        self.host.run(self.store.reserve(reserve))
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        self.host.run(self.store.read(tags))
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        self.host.run(self.store.list(after, count))
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        self.host.run(self.store.create(spec))
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        self.host.run(self.store.update(tag, patch))
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        self.host.run(self.store.delete(tag))
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        self.host.run(self.store.inspect())
    }

    fn probe(&self) -> StoreResult<'_, String> {
        self.host.run(self.store.probe())
    }
}
