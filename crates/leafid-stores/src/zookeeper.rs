//! `ZooKeeperLeases`: worker ids in ZooKeeper, on the tree of Java Leaf and beside its servers.
//! `zookeeper/tree.rs` has the paths, `zookeeper/view.rs` the rules about numbers.
//!
//! A Java server takes the next number of the sequence below `forever` and keeps it for good,
//! without asking. So a number is ours only if Java Leaf can no longer assign it: it was assigned
//! already and its child is gone, or we took it out of the sequence through a child of our own.
//!
//! All nodes are persistent. A row is written only with the version that was read in the same call,
//! so that a read from a lagging server ends in `false` and not in a lost change. What counts of a
//! stale `forever` stays true: assigned numbers stay assigned.

mod session;

mod client;

mod record;

mod tree;

mod view;

mod look;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Weak};

use futures_util::future::try_join_all;
use leafid::WorkerId;
use leafid::store::{
    LeaseRecord, LeaseStore, LeaseSwap, StoreError, StoreReport, StoreResult, new_identity,
};

use crate::call::Calls;
use crate::kept_connection::KeptConnection;
use crate::lease_options::place_of;
use crate::transport::transport_of;
use crate::url::StoreUrl;
use crate::url::ensemble::Ensemble;
use crate::{StoreOptions, lease_row};
use record::Stat;
use session::{Session, Sessions};
use tree::{Forever, Tree};
use view::{FIRST_START_MS, Former, Owner, View, free_row, view};

const ZERO: WorkerId = WorkerId::new(0);

/// What to do about a connection that can be intercepted.
const REMEDY: &str = "ZooKeeper is used without TLS: keep it in a private network, or use a \
    tunnel that ends on this machine";

pub(crate) struct ZooKeeperLeases {
    sessions: Sessions,
    tree: Tree,
    /// This server's address, to find the number it had under Java Leaf.
    address: Option<String>,
    calls: Calls,
    location: String,
    /// The session of looks at one row.
    kept: Arc<KeptConnection<Session>>,
    /// Itself, for what goes on in the background.
    this: Weak<Self>,
}

/// Our row of a worker id, and its version.
type Row = (LeaseRecord, i32);

impl ZooKeeperLeases {
    pub(crate) fn new(
        ensemble: &Ensemble,
        url: &StoreUrl,
        pool: &str,
        address: Option<&str>,
        options: &StoreOptions,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            sessions: Sessions::new(ensemble, options),
            tree: Tree::new(&ensemble.chroot, pool),
            address: address.map(str::to_owned),
            calls: Calls::new(url, options),
            location: place_of(url, pool),
            kept: KeptConnection::new(options, ensemble.servers.len()),
            this: this.clone(),
        })
    }

    async fn bounded<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let answer = self.calls.bounded(what, work).await;
        if answer.as_ref().is_err_and(StoreError::may_recover) {
            self.sessions.close();
        }
        answer
    }

    async fn session(&self) -> Result<Session, StoreError> {
        self.sessions.session(&self.tree).await
    }

    async fn forever(&self, session: &Session) -> Result<Forever, StoreError> {
        let (names, stat) = session.children(&self.tree.forever()).await?;
        Ok(Forever::new(&names, &stat))
    }

    async fn row(&self, session: &Session, worker: WorkerId) -> Result<Option<Row>, StoreError> {
        let Some((content, stat)) = session.read(&self.tree.row(worker)).await? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&content);
        Ok(Some((
            lease_row::read(&worker.to_string(), &text)?,
            stat.version,
        )))
    }

    async fn rows(&self, session: &Session) -> Result<Vec<LeaseRecord>, StoreError> {
        let (names, _) = session.children(&self.tree.rows()).await?;
        let workers = names.iter().filter_map(|name| name.parse().ok());
        let rows = try_join_all(workers.map(|worker| self.row(session, worker))).await?;
        Ok(rows.into_iter().flatten().map(|(row, _)| row).collect())
    }

    /// The other party that may use this worker id.
    async fn owner(
        &self,
        session: &Session,
        forever: &Forever,
        worker: WorkerId,
    ) -> Result<Owner, StoreError> {
        match forever.owners.get(&worker) {
            Some(Some(address)) if Some(address) == self.address.as_ref() => {
                self.former(session, address, worker).await
            }
            Some(Some(address)) => Ok(Owner::Java {
                address: address.clone(),
            }),
            Some(None) if worker == ZERO => self.owner_of_zero(session, forever).await,
            _ if forever.has_given(worker) => Ok(Owner::NoJava { from_ms: 0 }),
            _ => Ok(Owner::NextJava),
        }
    }

    /// A Java server that found no `forever` at its start uses 0 without asking, whatever the
    /// number of its child. So a 0 that we took has to wait until such a server must have created
    /// its child, and is not ours if one was created.
    async fn owner_of_zero(
        &self,
        session: &Session,
        forever: &Forever,
    ) -> Result<Owner, StoreError> {
        let from_ms = forever.created_ms.saturating_add(FIRST_START_MS);
        if let Some((worker, address)) = forever.first_java() {
            let name = tree::java_child(address, worker);
            let child = session.stat(&self.tree.child(&name)).await?;
            if child.is_some_and(|child| ms(child.ctime) < from_ms) {
                let address = address.to_owned();
                return Ok(Owner::Java { address });
            }
        }
        Ok(Owner::NoJava { from_ms })
    }

    /// The Java server that ran at our own address.
    async fn former(
        &self,
        session: &Session,
        address: &str,
        worker: WorkerId,
    ) -> Result<Owner, StoreError> {
        let name = tree::java_child(address, worker);
        let Some((report, stat)) = session.read(&self.tree.child(&name)).await? else {
            return Ok(Owner::NoJava { from_ms: 0 });
        };
        Ok(Owner::Own(Former {
            address: address.to_owned(),
            reported_ms: tree::reported_ms(&report),
            is_own_report: tree::is_own_report(&report),
            written_ms: ms(stat.mtime),
            now_ms: self.now_ms(session).await?,
        }))
    }

    /// ZooKeeper's clock.
    async fn now_ms(&self, session: &Session) -> Result<u64, StoreError> {
        let clock = self.tree.clock();
        let mut written = session.write(&clock, b"", None).await?;
        if written.is_none() {
            session.create(&clock, b"").await?;
            written = session.write(&clock, b"", None).await?;
        }
        let removed = || StoreError::unavailable("its clock is being removed", "no node");
        written.map(|stat| ms(stat.mtime)).ok_or_else(removed)
    }

    /// The value of this node; stores `text`, if there is none yet.
    async fn keep(&self, path: &str, text: &str) -> Result<String, StoreError> {
        let session = self.session().await?;
        if session.create(path, text.as_bytes()).await? {
            return Ok(text.to_owned());
        }
        // A refused caller has seen why it is refused.
        let removed = || StoreError::unavailable("the node is being removed", path.to_owned());
        let (kept, _) = session.read(path).await?.ok_or_else(removed)?;
        String::from_utf8(kept).map_err(|_| StoreError::BadRow {
            message: format!("{path} is not UTF-8 text: repair it by hand"),
        })
    }

    async fn list(&self) -> Result<Vec<LeaseRecord>, StoreError> {
        let session = self.session().await?;
        session.sync(&self.tree.rows()).await?;
        let mut workers: BTreeMap<WorkerId, Option<LeaseRecord>> = BTreeMap::new();
        for row in self.rows(&session).await? {
            workers.insert(row.worker, Some(row));
        }
        // Read after the rows, so that the number of each row is known to be assigned.
        let forever = self.forever(&session).await?;
        for worker in forever.owners.keys() {
            workers.entry(*worker).or_default();
        }
        let mut records = Vec::new();
        for (worker, row) in workers {
            let owner = self.owner(&session, &forever, worker).await?;
            records.extend(view(worker, row, &owner).map(|view| view.record));
        }
        Ok(records)
    }

    async fn try_swap(&self, swap: &LeaseSwap) -> Result<bool, StoreError> {
        let worker = swap.record.worker;
        let session = self.session().await?;
        let row = self.row(&session, worker).await?;
        let forever = self.forever(&session).await?;
        let owner = self.owner(&session, &forever, worker).await?;
        let (row, version) = row.unzip();
        match (view(worker, row, &owner), swap.expected) {
            (None, None) => self.first_claim(&session, &swap.record, &owner).await,
            (Some(View { record, is_ours }), Some(key)) if is_ours && record.key() == key => {
                self.put(&session, &swap.record, version).await
            }
            _ => Ok(false),
        }
    }

    /// Writes the row of this version, or creates it.
    async fn put(
        &self,
        session: &Session,
        record: &LeaseRecord,
        version: Option<i32>,
    ) -> Result<bool, StoreError> {
        let path = self.tree.row(record.worker);
        let content = lease_row::write(record)?;
        match version {
            None => session.create(&path, content.as_bytes()).await,
            Some(_) => {
                let written = session.write(&path, content.as_bytes(), version).await?;
                Ok(written.is_some())
            }
        }
    }

    /// Claims a number that has no row. One that Java Leaf could still assign is taken out of its
    /// sequence first; if that gives another number, this one gets a free row for the caller to
    /// find. A call takes at most one number.
    async fn first_claim(
        &self,
        session: &Session,
        record: &LeaseRecord,
        owner: &Owner,
    ) -> Result<bool, StoreError> {
        if matches!(owner, Owner::NoJava { from_ms: 0 }) {
            return self.put(session, record, None).await;
        }
        let number = match owner {
            Owner::NextJava => self.take_next(session, record).await?,
            _ => record.worker,
        };
        // A 0 may have to wait, and its row says for how long.
        if number == record.worker && number != ZERO {
            return self.put(session, record, None).await;
        }
        self.put(session, &free_row(number), None).await?;
        Ok(false)
    }

    /// Takes a number out of Java Leaf's sequence.
    async fn take_next(
        &self,
        session: &Session,
        record: &LeaseRecord,
    ) -> Result<WorkerId, StoreError> {
        let report = report(&record.address, 0)?;
        let path = self.tree.next_own_child();
        session.create_next(&path, &report).await.map(WorkerId::new)
    }

    async fn try_report(&self, record: &LeaseRecord, now_ms: u64) -> Result<(), StoreError> {
        let session = self.session().await?;
        let report = report(&record.address, now_ms)?;
        let write = async |name: String| -> Result<Option<Stat>, StoreError> {
            session.write(&self.tree.child(&name), &report, None).await
        };
        if write(tree::own_child(record.worker)).await?.is_none()
            && let Some(address) = &self.address
        {
            // The number that we had under Java Leaf. If that child is gone too, no one reads it.
            write(tree::java_child(address, record.worker)).await?;
        }
        Ok(())
    }
}

fn report(address: &str, now_ms: u64) -> Result<Vec<u8>, StoreError> {
    tree::report(address, now_ms)
        .map_err(|error| StoreError::unavailable("the report cannot be written as JSON", error))
}

fn ms(time: i64) -> u64 {
    u64::try_from(time).unwrap_or(0)
}

impl LeaseStore for ZooKeeperLeases {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        let path = self.tree.layout();
        Box::pin(self.bounded(
            "keep the layout",
            async move { self.keep(&path, layout).await },
        ))
    }

    fn identity(&self) -> StoreResult<'_, String> {
        let path = self.tree.identity();
        let new = new_identity();
        Box::pin(self.bounded(
            "keep the identity",
            async move { self.keep(&path, &new).await },
        ))
    }

    fn location(&self) -> String {
        self.location.clone()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        Box::pin(self.bounded("list worker ids", self.list()))
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        Box::pin(self.look(worker))
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        Box::pin(async move {
            let what = format!("write worker id {}", swap.record.worker);
            self.bounded(&what, self.try_swap(swap)).await
        })
    }

    fn report<'a>(&'a self, record: &'a LeaseRecord, now_ms: u64) -> StoreResult<'a, ()> {
        Box::pin(async move {
            let what = format!("report worker id {}", record.worker);
            self.bounded(&what, self.try_report(record, now_ms)).await
        })
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        Box::pin(self.bounded("read the clock", async {
            let session = self.session().await?;
            self.now_ms(&session).await.map(Some)
        }))
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(self.bounded("inspect the registry", async {
            let session = self.session().await?;
            let (_, stat) = session.children(&self.tree.forever()).await?;
            Ok(StoreReport {
                product: "ZooKeeper".to_owned(),
                location: self.calls.location.clone(),
                // A tree that was lost and created again has another one.
                identity: format!("tree made by transaction {:#x}", stat.czxid),
                has_own_table: true,
                missing: Vec::new(),
                transport: transport_of(self.sessions.hosts(), false, REMEDY),
                weaknesses: Vec::new(),
            })
        }))
    }
}
