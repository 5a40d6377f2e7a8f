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
use leafid::{Clock as _, Segment, Tag};

use crate::executor::{Process, current_task, lock};
use crate::network::Network;
use crate::segment::bug::{Bug, Memory};
use crate::segment::cluster::{Call, Cluster, Node, Route};
use crate::segment::disk::{Disk, Opened};
use crate::segment::history::{Event, History, TagNumber};

/// The shared half.
pub(crate) struct StoreServer {
    pub(crate) disk: Disk,
    pub(crate) cluster: Cluster,
    /// The share of reservations that lose against another transaction.
    pub(crate) conflicts: f64,
    pub(crate) tags: Vec<Tag>,
    pub(crate) network: Arc<Network>,
    pub(crate) history: Arc<History>,
    pub(crate) bug: Option<Bug>,
}

impl StoreServer {
    /// What it holds now.
    pub(crate) fn rows(&self) -> Arc<MemoryStore> {
        self.disk.rows()
    }

    pub(crate) fn number(&self, tag: &Tag) -> TagNumber {
        self.tags
            .iter()
            .position(|known| known == tag)
            .unwrap_or(usize::MAX)
    }

    /// Draws a segment as Leaf does: no floor, no limit, and it knows of no failure.
    pub(crate) fn reserve_as_leaf(&self, tag: TagNumber) {
        let name = &self.tags[tag];
        let rows = self.now(self.rows().read(std::slice::from_ref(name)));
        let Some(row) = rows.ok().and_then(|mut rows| rows.pop()) else {
            return;
        };
        let end = row.max_id.saturating_add(u64::from(row.settings.step));
        if let Some(segment) = Segment::new(row.max_id, end) {
            let raised = self.rows().put_max_id(name, end);
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
    /// The file that it has opened, where there is one.
    opened: Arc<Opened>,
    /// The node that it is connected to, where there are several.
    route: Arc<Route>,
    /// What a faulty connection remembers.
    pub(crate) memory: Arc<Mutex<Memory>>,
}

impl SimStore {
    pub(crate) fn new(server: Arc<StoreServer>, process: Process) -> Self {
        Self {
            opened: Arc::new(server.disk.open()),
            route: Arc::default(),
            server,
            process,
            memory: Arc::default(),
        }
    }
}

impl StoreServer {
    /// Creates a tag, and notes where it starts and how far it may go.
    pub(crate) fn create(&self, spec: &TagSpec) -> Result<TagRecord, StoreError> {
        let record = self.now(self.rows().create(spec))?;
        let tag = self.number(&record.tag);
        let (max_id, largest) = (record.max_id, record.settings.limit.largest());
        self.history.push(Event::Created { tag, max_id });
        self.history.push(Event::LimitSet { tag, largest });
        Ok(record)
    }

    /// Reserves, and notes what became durable.
    fn reserve(&self, rows: &MemoryStore, reserve: &Reserve) -> Result<Reserved, StoreError> {
        let reserved = self.now(rows.reserve(reserve))?;
        self.history.push(Event::Reserved {
            tag: self.number(&reserve.tag),
            segment: reserved.segment,
            is_noticed: Some(reserved.previous) < reserve.floor,
        });
        Ok(reserved)
    }

    /// Whether another transaction is in the way.
    fn conflicts(&self) -> bool {
        self.conflicts > 0.0 && lock(&self.network.random).f64() < self.conflicts
    }
}

/// What a reservation came to.
enum Outcome {
    Reserved(Reserved),
    /// Another transaction was in the way.
    Conflict,
}

impl SimStore {
    /// Lets in a call that changes something: what it may change.
    fn enter(&self) -> Result<Arc<MemoryStore>, StoreError> {
        let server = &self.server;
        server
            .cluster
            .admit(&self.route, Call::Change, server.bug)?;
        server.disk.enter(&self.opened, server.bug)
    }

    /// Lets in a call that changes nothing: what it may read.
    fn look(&self) -> Result<Arc<MemoryStore>, StoreError> {
        let server = &self.server;
        server.cluster.admit(&self.route, Call::Read, server.bug)?;
        self.opened.rows()
    }

    /// What becomes of a reservation when it has arrived.
    async fn reserve_at_server(&self, reserve: &Reserve) -> Result<Outcome, StoreError> {
        let (server, bug) = (&self.server, self.server.bug);
        let rows = self.enter()?;
        let read = server.now(rows.read(std::slice::from_ref(&reserve.tag)))?;
        let max_id = read.first().map_or(0, |row| row.max_id);
        if server.conflicts() {
            return match bug {
                Some(Bug::ConflictIgnored) => reserve.reserved(max_id).map(Outcome::Reserved),
                _ => Ok(Outcome::Conflict),
            };
        }
        let fails = server.disk.fails(&self.opened, self.process, bug);
        server.disk.change(&self.opened, &reserve.tag, max_id);
        if !fails || lock(&server.network.random).bool() {
            let right = |reserve: &Reserve| server.reserve(&rows, reserve);
            let reserved = match bug {
                Some(bug) => bug.reserve(server, reserve, right).await?,
                None => right(reserve)?,
            };
            if !fails {
                return Ok(Outcome::Reserved(reserved));
            }
        }
        Err(StoreError::unavailable(
            "the file could not be flushed",
            "i/o error",
        ))
    }

    /// Takes note of a conflict, and says what it is.
    fn conflicted(&self, tag: TagNumber) -> StoreError {
        let (process, at) = (self.process, self.server.network.clock.now());
        let history = &self.server.history;
        history.push(Event::Conflicted {
            process,
            task: current_task(),
            tag,
            at,
        });
        let (message, source) = ("another transaction was in the way", "deadlock".into());
        match self.server.bug {
            Some(Bug::ConflictAsOutage) => StoreError::unavailable(message, "deadlock"),
            _ => StoreError::Conflict {
                message: message.to_owned(),
                source,
            },
        }
    }
}

impl SegmentStore for SimStore {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        let tag = self.server.number(&reserve.tag);
        let process = self.process;
        self.server.history.push(Event::Asked {
            process,
            task: current_task(),
            tag,
            floor: reserve.floor,
            at: self.server.network.clock.now(),
        });
        let bug = self.server.bug;
        let made_up = bug.and_then(|bug| bug.answer_without_asking(&self.memory, reserve));
        let (connection, request) = (self.clone(), reserve.clone());
        let call = self.server.network.call(async move {
            match made_up {
                Some(made_up) => Ok(Outcome::Reserved(made_up)),
                None => connection.reserve_at_server(&request).await,
            }
        });
        Box::pin(async move {
            let outcome = match call.await {
                Ok(Outcome::Reserved(reserved)) => Ok(reserved),
                Ok(Outcome::Conflict) => Err(self.conflicted(tag)),
                Err(error) => Err(error),
            };
            if let Ok(Reserved { previous, segment }) = outcome {
                self.server.history.push(Event::Acknowledged {
                    process,
                    tag,
                    floor: reserve.floor,
                    previous,
                    segment,
                });
            }
            lock(&self.memory).note(&reserve.tag, &outcome);
            outcome
        })
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        let (connection, tags) = (self.clone(), tags.to_vec());
        self.server
            .network
            .call(async move { connection.look()?.read(&tags).await })
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        let (connection, after) = (self.clone(), after.cloned());
        self.server
            .network
            .call(async move { connection.look()?.list(after.as_ref(), count).await })
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        let (connection, spec) = (self.clone(), spec.clone());
        self.server.network.call(async move {
            connection.enter()?;
            connection.server.create(&spec)
        })
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        let (connection, tag, patch) = (self.clone(), tag.clone(), patch.clone());
        self.server
            .network
            .call(async move { connection.enter()?.update(&tag, &patch).await })
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        let (connection, tag) = (self.clone(), tag.clone());
        self.server
            .network
            .call(async move { connection.enter()?.delete(&tag).await })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        let connection = self.clone();
        self.server
            .network
            .call(async move { connection.look()?.inspect().await })
    }

    fn probe(&self) -> StoreResult<'_, String> {
        let connection = self.clone();
        let call = self.server.network.call(async move {
            let server = &connection.server;
            let node = server
                .cluster
                .admit(&connection.route, Call::Probe, server.bug)?;
            let rows = server.disk.enter(&connection.opened, server.bug)?;
            Ok((rows.probe().await?, node))
        });
        Box::pin(async move {
            let (location, node) = call.await?;
            if node == Node::Primary {
                let process = self.process;
                self.server.history.push(Event::Probed { process });
            }
            Ok(location)
        })
    }
}
