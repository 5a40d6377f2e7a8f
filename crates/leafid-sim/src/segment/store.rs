//! `SimStore`: the one store that all simulated servers share, with the faults of a real one.
//!
//! What it holds is leafid's own `MemoryStore`; each server process has a connection of its own,
//! which notes what it came to know. The faults are those of `network.rs`.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use leafid::store::{
    MemoryStore, Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagPatch,
    TagRecord, TagSpec,
};
use leafid::{Segment, Tag};

use crate::executor::{Process, lock};
use crate::network::Network;
use crate::segment::bug::{Bug, Memory};
use crate::segment::history::{Event, History, TagNumber};

/// The shared half.
pub(crate) struct StoreServer {
    pub(crate) rows: MemoryStore,
    pub(crate) tags: Vec<Tag>,
    pub(crate) network: Arc<Network>,
    pub(crate) history: Arc<History>,
    pub(crate) bug: Option<Bug>,
}

impl StoreServer {
    pub(crate) fn number(&self, tag: &Tag) -> TagNumber {
        self.tags
            .iter()
            .position(|known| known == tag)
            .unwrap_or(usize::MAX)
    }

    /// Draws a segment as Leaf does: no floor, no limit, and it knows of no failure.
    pub(crate) fn reserve_as_leaf(&self, tag: TagNumber) {
        let name = &self.tags[tag];
        let rows = self.now(self.rows.read(std::slice::from_ref(name)));
        let Some(row) = rows.ok().and_then(|mut rows| rows.pop()) else {
            return;
        };
        let end = row.max_id.saturating_add(u64::from(row.settings.step));
        if let Some(segment) = Segment::new(row.max_id, end) {
            let raised = self.rows.put_max_id(name, end);
            if raised.is_ok() {
                self.history.push(Event::LeafReserved { tag, segment });
            }
        }
    }

    /// Does at once what the store does after a delay.
    pub(crate) fn now<T>(&self, call: impl Future<Output = T>) -> T {
        call.now_or_never()
            .expect("a store in memory answers at once")
    }
}

/// A server process's connection to the store.
#[derive(Clone)]
pub(crate) struct SimStore {
    pub(crate) server: Arc<StoreServer>,
    pub(crate) process: Process,
    /// What a faulty connection remembers.
    pub(crate) memory: Arc<Mutex<Memory>>,
}

impl SimStore {
    pub(crate) fn new(server: Arc<StoreServer>, process: Process) -> Self {
        Self {
            server,
            process,
            memory: Arc::default(),
        }
    }
}

impl StoreServer {
    /// Creates a tag, and notes where it starts and how far it may go.
    pub(crate) fn create(&self, spec: &TagSpec) -> Result<TagRecord, StoreError> {
        let record = self.now(self.rows.create(spec))?;
        let tag = self.number(&record.tag);
        let (max_id, largest) = (record.max_id, record.settings.limit.largest());
        self.history.push(Event::Created { tag, max_id });
        self.history.push(Event::LimitSet { tag, largest });
        Ok(record)
    }

    /// Reserves, and notes what became durable.
    fn reserve(&self, reserve: &Reserve) -> Result<Reserved, StoreError> {
        let reserved = self.now(self.rows.reserve(reserve))?;
        self.history.push(Event::Reserved {
            tag: self.number(&reserve.tag),
            segment: reserved.segment,
            is_noticed: Some(reserved.previous) < reserve.floor,
        });
        Ok(reserved)
    }
}

impl SegmentStore for SimStore {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        let tag = self.server.number(&reserve.tag);
        let process = self.process;
        self.server.history.push(Event::Asked {
            process,
            tag,
            floor: reserve.floor,
        });
        let (server, wish) = (Arc::clone(&self.server), reserve.clone());
        let memory = Arc::clone(&self.memory);
        let call = match self.server.bug {
            None => self
                .server
                .network
                .call(async move { server.reserve(&wish) }),
            Some(bug) => match bug.answer_without_asking(&memory, &wish) {
                Some(made_up) => self.server.network.call(std::future::ready(Ok(made_up))),
                None => self.server.network.call(async move {
                    bug.reserve(&server, &wish, |wish| server.reserve(wish))
                        .await
                }),
            },
        };
        Box::pin(async move {
            let outcome = call.await;
            if let Ok(Reserved { previous, segment }) = outcome {
                self.server.history.push(Event::Acknowledged {
                    process,
                    tag,
                    previous,
                    segment,
                });
            }
            lock(&self.memory).note(&reserve.tag, &outcome);
            outcome
        })
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        let (server, tags) = (Arc::clone(&self.server), tags.to_vec());
        self.server
            .network
            .call(async move { server.rows.read(&tags).await })
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        let (server, after) = (Arc::clone(&self.server), after.cloned());
        self.server
            .network
            .call(async move { server.rows.list(after.as_ref(), count).await })
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        let (server, spec) = (Arc::clone(&self.server), spec.clone());
        self.server
            .network
            .call(async move { server.create(&spec) })
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        let (server, tag, patch) = (Arc::clone(&self.server), tag.clone(), patch.clone());
        self.server
            .network
            .call(async move { server.rows.update(&tag, &patch).await })
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        let (server, tag) = (Arc::clone(&self.server), tag.clone());
        self.server
            .network
            .call(async move { server.rows.delete(&tag).await })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        let server = Arc::clone(&self.server);
        self.server
            .network
            .call(async move { server.rows.inspect().await })
    }

    fn probe(&self) -> StoreResult<'_, String> {
        let server = Arc::clone(&self.server);
        self.server
            .network
            .call(async move { server.rows.probe().await })
    }
}
