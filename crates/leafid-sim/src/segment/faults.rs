//! The faults that are injected into a simulation: crashes, pauses and outages, operators who change, delete
//! and create tags, a store that goes back in time, another writer.

use leafid::store::{SegmentStore, TagPatch, TagRecord};
use leafid::{Clock as _, Limit};

use crate::executor::lock;
use crate::network::NetworkFaults;
use crate::segment::cluster::Node;
use crate::segment::history::{Event, TagNumber};
use crate::segment::plan::Fault;
use crate::segment::simulation::Simulation;

/// How far an older copy is raised at most when it is restored.
const RESTORE_MARGIN_MAX: u64 = 1_000;

impl Simulation {
    pub(crate) fn inject(&mut self, fault: Fault) {
        let server = self.random.usize(..self.servers.len());
        let tag = self.random.usize(..self.field.plan.tags.len());
        let injected = match fault {
            Fault::Crash => {
                self.restart(server);
                true
            }
            Fault::Pause => self.pause(server),
            Fault::Outage => {
                *lock(&self.store.network.faults) = NetworkFaults::OUTAGE;
                true
            }
            Fault::Repair => {
                *lock(&self.store.network.faults) = self.field.plan.network_faults;
                true
            }
            Fault::Step => self.change_step(tag),
            Fault::DeleteOrCreate => self.delete_or_create(server, tag),
            Fault::PutBack => self.put_back(tag),
            Fault::Replicate => self.replicate(),
            Fault::Promote => self.promote(),
            Fault::RaiseLimit => self.raise_limit(tag),
            Fault::Leaf => {
                let is_leaf = self.field.plan.tags[tag].has_leaf;
                if is_leaf {
                    self.store.reserve_as_leaf(tag);
                }
                is_leaf
            }
            Fault::CopyFile => {
                self.store.disk.copy();
                true
            }
            Fault::ReplaceFile => self.store.disk.replace(),
            Fault::RestoreFile => self.restore_file(),
            Fault::FailFlush => {
                self.store.disk.fail(self.servers[server].0);
                true
            }
            Fault::PowerCut => {
                self.store.disk.cut();
                (0..self.servers.len()).for_each(|at| self.restart(at));
                true
            }
            Fault::Leave => {
                self.leave(server);
                true
            }
            Fault::Join => {
                (0..2).for_each(|at| self.store.cluster.set(at, Node::Primary));
                true
            }
        };
        *self.faults.entry(fault.name()).or_default() += u64::from(injected);
    }

    /// Another process replaces one that is killed.
    pub(crate) fn restart(&mut self, server: usize) {
        self.end_server(server);
        self.servers[server] = self.start_server();
    }

    fn pause(&mut self, server: usize) -> bool {
        let time = self.field.plan.options.call_max * 2;
        let time = time.mul_f64(self.random.f64());
        let (process, until) = (self.servers[server].0, self.executor.clock.now() + time);
        self.executor.pause(process, time);
        self.field.history.push(Event::Paused { process, until });
        true
    }

    /// Raises every tag of an older copy, by a margin that a server can use up in one range.
    pub(crate) fn restore_file(&mut self) -> bool {
        let margin = self.random.u64(1..=RESTORE_MARGIN_MAX);
        let raised = self.store.disk.restore(margin);
        for (tag, max_id) in &raised {
            let tag = self.store.number(tag);
            let max_id = *max_id;
            self.field.history.push(Event::Created { tag, max_id });
        }
        !raised.is_empty()
    }

    /// A node loses its cluster, in one of two ways.
    pub(crate) fn leave(&mut self, at: usize) {
        let is_silent = self.random.bool();
        let node = [Node::ReadsOnly, Node::Refuses][usize::from(is_silent)];
        self.store.cluster.set(at, node);
    }

    fn change_step(&mut self, tag: TagNumber) -> bool {
        let patch = TagPatch {
            step: Some(1 << self.random.u32(..=12)),
            ..TagPatch::default()
        };
        self.patch(tag, &patch)
    }

    /// Doubles the room of a tag that has a limit.
    fn raise_limit(&mut self, tag: TagNumber) -> bool {
        let row = self.row(tag);
        let Some(row) = row.filter(|row| row.settings.limit != Limit::INT64) else {
            return false;
        };
        let raised = row.settings.limit.largest().saturating_add(1_000);
        self.set_limit(tag, Limit::new(raised).unwrap_or_default())
    }

    pub(crate) fn set_limit(&self, tag: TagNumber, limit: Limit) -> bool {
        let largest = limit.largest();
        self.field.history.push(Event::LimitSet { tag, largest });
        let patch = TagPatch {
            limit: Some(limit),
            ..TagPatch::default()
        };
        self.patch(tag, &patch)
    }

    /// Changes the row past the servers, as another server or an operator would.
    fn patch(&self, tag: TagNumber, patch: &TagPatch) -> bool {
        let name = &self.store.tags[tag];
        self.store
            .now(self.store.rows().update(name, patch))
            .is_ok()
    }

    pub(crate) fn row(&self, tag: TagNumber) -> Option<TagRecord> {
        let name = std::slice::from_ref(&self.store.tags[tag]);
        let rows = self.store.now(self.store.rows().read(name));
        rows.ok().and_then(|mut rows| rows.pop())
    }

    fn put_back(&mut self, tag: TagNumber) -> bool {
        let is_put_back = self.field.plan.tags[tag].is_put_back;
        let Some(row) = self.row(tag).filter(|_| is_put_back) else {
            return false;
        };
        let start = self.field.plan.tags[tag].spec.start;
        let back = self.random.u64(start..=row.max_id.max(start));
        let name = &self.store.tags[tag];
        self.field.history.push(Event::PutBack { tag });
        self.store.rows().put_max_id(name, back).is_ok()
    }

    /// The replica catches up with all that is durable.
    fn replicate(&mut self) -> bool {
        let tags = 0..self.field.plan.tags.len();
        self.replica = tags
            .map(|tag| self.row(tag).map(|row| row.max_id))
            .collect();
        true
    }

    /// The store fails, and its replica takes over: the reservations since it last caught up are
    /// lost, of all tags at once.
    fn promote(&mut self) -> bool {
        let mut is_struck = false;
        for (tag, max_id) in self.replica.clone().into_iter().enumerate() {
            let now = self.row(tag).map(|row| row.max_id);
            let Some(max_id) = max_id.filter(|max_id| Some(*max_id) < now) else {
                continue;
            };
            self.field.history.push(Event::Promoted { tag });
            let name = &self.store.tags[tag];
            is_struck |= self.store.rows().put_max_id(name, max_id).is_ok();
        }
        is_struck
    }

    /// An operator deletes or creates a tag, through a server or past it.
    fn delete_or_create(&mut self, server: usize, tag: TagNumber) -> bool {
        if !self.field.plan.tags[tag].comes_and_goes {
            return false;
        }
        let spec = self.field.plan.tags[tag].spec.clone();
        let is_there = self.row(tag).is_some();
        let (process, generators) = self.servers[server].clone();
        match (self.random.bool(), is_there) {
            (true, true) => self.executor.spawner.spawn(process, async move {
                let _outcome = generators.delete_tag(&spec.tag).await;
            }),
            (true, false) => self.executor.spawner.spawn(process, async move {
                let _outcome = generators.create_tag(&spec).await;
            }),
            (false, true) => {
                let _outcome = self.store.now(self.store.rows().delete(&spec.tag));
            }
            (false, false) => self.create(tag),
        }
        true
    }

    pub(crate) fn create(&self, tag: TagNumber) {
        let _outcome = self.store.create(&self.field.plan.tags[tag].spec);
    }
}

impl Fault {
    const fn name(self) -> &'static str {
        match self {
            Self::Crash => "crashes",
            Self::Pause => "pauses",
            Self::Outage => "outages",
            Self::Repair => "repairs",
            Self::Step => "step changes",
            Self::DeleteOrCreate => "deletions and creations",
            Self::PutBack => "stores put back",
            Self::Replicate => "replications",
            Self::Promote => "promotions",
            Self::RaiseLimit => "raised limits",
            Self::Leaf => "draws by Leaf",
            Self::CopyFile => "copies of the file",
            Self::ReplaceFile => "files replaced",
            Self::RestoreFile => "files restored",
            Self::FailFlush => "flushes about to fail",
            Self::PowerCut => "power cuts",
            Self::Leave => "nodes that lost their cluster",
            Self::Join => "nodes that found it again",
        }
    }
}
