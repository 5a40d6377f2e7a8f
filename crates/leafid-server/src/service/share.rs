//! The share of a tag: how many of the ids that are left below its limit one call may take.

use leafid::{Limit, Tag};

use super::{Caller, Service, ServiceError};

/// One call may take this part of the ids that are left below a tag's limit, so that a caller
/// cannot exhaust a tag before an operator notices.
const SHARE: u64 = 1000;
/// One call may always take this many.
const SHARE_MIN: u64 = 1000;

fn fits(
    field: &'static str,
    count: u64,
    limit: Limit,
    max_id: Option<u64>,
) -> Result<(), ServiceError> {
    let headroom = limit.headroom(max_id.unwrap_or(0));
    ServiceError::check_max(field, count, (headroom / SHARE).max(SHARE_MIN))
}

impl Service {
    /// Whether a call takes no more than its share of what is left of a tag that is in use here.
    /// Single ids are not limited: exhausting a tag with them takes its time.
    pub(super) fn check_share(
        &self,
        caller: &Caller,
        field: &'static str,
        tag: &str,
        count: u64,
    ) -> Result<(), ServiceError> {
        if count <= SHARE_MIN || !self.access.is_shared_out(caller) {
            return Ok(());
        }
        match self.generators.status(tag) {
            Some(status) => fits(field, count, status.limit, status.max_id),
            None => Ok(()),
        }
    }

    /// The same for a tag of which this server may know nothing yet.
    pub(super) async fn check_unseen_share(
        &self,
        caller: &Caller,
        field: &'static str,
        tag: &str,
        count: u64,
    ) -> Result<(), ServiceError> {
        if count <= SHARE_MIN || !self.access.is_shared_out(caller) {
            return Ok(());
        }
        let known = self.generators.status(tag);
        if known.is_some_and(|status| status.max_id.is_some()) {
            return self.check_share(caller, field, tag, count);
        }
        // An invalid or missing tag gets its error from the code that takes the ids.
        let Ok(tag) = Tag::new(tag) else {
            return Ok(());
        };
        match self.read_for_ids(&tag).await? {
            Some(record) => fits(field, count, record.settings.limit, Some(record.max_id)),
            None => Ok(()),
        }
    }
}
