//! A look at one row, over a session of its own that is kept for the next look: on the one of all
//! other calls it would come after everything that a slow server has not answered yet.

use leafid::WorkerId;
use leafid::store::{BoxFuture, LeaseRecord, StoreError};

use super::ZooKeeperLeases;
use super::session::{Session, Sessions};
use super::view::view;
use crate::kept_connection::Question;
use crate::options::Patience;

impl ZooKeeperLeases {
    pub(super) async fn look(&self, worker: WorkerId) -> Result<Option<LeaseRecord>, StoreError> {
        let what = format!("read the row of worker id {worker}");
        let question = RowQuestion {
            leases: self,
            worker,
        };
        let unanswered = Unanswered(Some(&self.sessions));
        let row = self.calls.ask(&what, &self.kept, &question).await;
        if !row.as_ref().is_err_and(StoreError::may_recover) {
            unanswered.end();
        }
        row
    }
}

/// The question for the row of a worker id.
struct RowQuestion<'a> {
    leases: &'a ZooKeeperLeases,
    worker: WorkerId,
}

impl Question for RowQuestion<'_> {
    type Connection = Session;
    type Answer = Option<LeaseRecord>;

    async fn again(&self, session: &mut Session) -> Result<Option<LeaseRecord>, StoreError> {
        let Self { leases, worker } = *self;
        session.sync(&leases.tree.rows()).await?;
        let row = leases.row(session, worker).await?.map(|(row, _)| row);
        let forever = leases.forever(session).await?;
        let owner = leases.owner(session, &forever, worker).await?;
        Ok(view(worker, row, &owner).map(|view| view.record))
    }

    async fn anew(&self, patience: Patience) -> Result<(Session, Option<LeaseRecord>), StoreError> {
        let sessions = &self.leases.sessions;
        let mut session = sessions.open(&self.leases.tree, patience).await?;
        let row = self.again(&mut session).await?;
        Ok((session, row))
    }

    fn renewal(
        &self,
        patience: Patience,
    ) -> Option<BoxFuture<'static, Result<Session, StoreError>>> {
        let (leases, worker) = (self.leases.this.upgrade()?, self.worker);
        Some(Box::pin(async move {
            let leases = &leases;
            let (session, _) = RowQuestion { leases, worker }.anew(patience).await?;
            Ok(session)
        }))
    }
}

/// A look that fails, or that the caller gives up on, because the server hangs. The next call of
/// another kind opens another session, with another server where there is one.
struct Unanswered<'a>(Option<&'a Sessions>);

impl Unanswered<'_> {
    fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(sessions) = self.0 {
            sessions.close();
        }
    }
}
