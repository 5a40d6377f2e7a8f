//! What the console asks besides what everyone may ask: rights before a call is made, one tag in
//! memory, and the proofs between servers.

use leafid::{Stage, Status};

use super::{Caller, Service, ServiceError};
use crate::config::QuotaScope;

impl Service {
    /// The state of one tag here; `None` if it is not in use.
    pub(crate) fn status_of(&self, tag: &str) -> Option<Status> {
        let status = self.generators.status(tag);
        status.filter(|status| status.stage != Stage::OtherKind)
    }

    /// Whether a caller may read what belongs to no tag.
    pub(crate) fn check_look(&self, caller: &Caller) -> Result<(), ServiceError> {
        self.access.check_look(caller, None)
    }

    /// Whether a caller that lists tags is shown this one.
    pub(crate) fn shows(&self, caller: &Caller, tag: &str) -> bool {
        self.access.shows(caller, tag)
    }

    /// Whether a caller may change things.
    pub(crate) fn is_admin(&self, caller: &Caller) -> bool {
        self.access.is_admin(caller)
    }

    /// Whether segment ids are served.
    pub(crate) const fn serves_segments(&self) -> bool {
        self.segment
    }

    /// A quota in ids per second, if there is one.
    pub(crate) fn quota_of(&self, scope: &QuotaScope) -> Option<u64> {
        self.access.quotas.get(scope)
    }

    /// What shows another server that a caller of this one may look; `None`: no token is needed.
    pub(crate) fn peer_proof(&self, caller: &Caller, address: &str) -> Option<String> {
        self.access.tokens.peer_proof(caller, address)
    }

    /// The caller for whom another server asks, if it proves that.
    ///
    /// # Errors
    ///
    /// [`ServiceError::BadToken`].
    pub(crate) fn proven(&self, proof: &str, address: &str) -> Result<Caller, ServiceError> {
        self.access.proven(proof, address)
    }
}
