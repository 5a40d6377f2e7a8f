//! A shared store is a store: `Arc<dyn SegmentStore>`, as `leafid_stores::open` returns it, can be
//! used wherever a store of your own can. So can a shared registry and a shared journal.

use std::sync::Arc;

use super::{
    Journal, JournalRecord, LeaseRecord, LeaseStore, LeaseSwap, Reserve, Reserved, SegmentStore,
    StoreReport, StoreResult, TagPatch, TagRecord, TagSpec,
};
use crate::tag::Tag;
use crate::worker_id::WorkerId;

impl<S: SegmentStore + ?Sized> SegmentStore for Arc<S> {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        (**self).reserve(reserve)
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        (**self).read(tags)
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        (**self).list(after, count)
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        (**self).create(spec)
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        (**self).update(tag, patch)
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        (**self).delete(tag)
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        (**self).inspect()
    }

    fn probe(&self) -> StoreResult<'_, String> {
        (**self).probe()
    }
}

impl<S: LeaseStore + ?Sized> LeaseStore for Arc<S> {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        (**self).bind(layout)
    }

    fn identity(&self) -> StoreResult<'_, String> {
        (**self).identity()
    }

    fn location(&self) -> String {
        (**self).location()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        (**self).leases()
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        (**self).lease(worker)
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        (**self).swap(swap)
    }

    fn report<'a>(&'a self, record: &'a LeaseRecord, now_ms: u64) -> StoreResult<'a, ()> {
        (**self).report(record, now_ms)
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        (**self).clock_ms()
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        (**self).inspect()
    }
}

impl<J: Journal + ?Sized> Journal for Arc<J> {
    fn read(&self) -> StoreResult<'_, Option<JournalRecord>> {
        (**self).read()
    }

    fn write<'a>(&'a self, record: &'a JournalRecord) -> StoreResult<'a, ()> {
        (**self).write(record)
    }
}
