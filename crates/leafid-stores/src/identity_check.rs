//! `IdentityCheck`: detects that the connections of a store lead to different databases, such as
//! two that a load balancer treats as copies of each other. Both would issue the same ids.
//!
//! The row `#identity` of `leafid_pool` distinguishes databases: a replica, another node of a
//! cluster and a restored dump have the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use leafid::store::StoreError;
use url::Url;

use crate::backend::refused;

/// More than a cluster has nodes.
const PLACES_MAX: usize = 64;

/// By URL: the store, its registry and the audit log are in one database.
static DATABASES: Mutex<BTreeMap<String, Weak<IdentityCheck>>> = Mutex::new(BTreeMap::new());

/// The databases that the connections of this process led to.
#[derive(Debug, Default)]
pub(crate) struct IdentityCheck(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    is_compared: bool,
    identity: Option<String>,
    /// Where it was found.
    places: BTreeSet<String>,
    /// Why the store may no longer be used.
    refusal: Option<String>,
}

impl IdentityCheck {
    /// The identity of the database behind these URLs, as far as this process knows.
    pub(crate) fn at(servers: &[Url]) -> Arc<Self> {
        let urls: Vec<&str> = servers.iter().map(Url::as_str).collect();
        let mut all = DATABASES.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, databases| databases.strong_count() > 0);
        let known = all.entry(urls.join(",")).or_default();
        known.upgrade().unwrap_or_else(|| {
            let databases = Arc::default();
            *known = Arc::downgrade(&databases);
            databases
        })
    }

    /// Compares the database of a new connection with those before. `place` is the database server
    /// and the name there. One without an identity passes as long as none had one, or if this place
    /// had one before: the registry was emptied.
    pub(crate) fn check_connection(
        &self,
        server: &str,
        place: String,
        identity: Option<String>,
    ) -> Result<(), StoreError> {
        let is_told = identity.is_some();
        self.check(server, identity)?;
        let mut seen = self.lock();
        match &seen.identity {
            Some(_) if is_told => {
                if seen.places.len() < PLACES_MAX {
                    seen.places.insert(place);
                }
                Ok(())
            }
            Some(known) if !seen.places.contains(&place) => Err(StoreError::unavailable(
                format!(
                    "{server} may lead to another database than before: the row #identity of \
                    leafid_pool is missing there, or the user may not read it, and {known} was \
                    in it before; put it back, or start this program again"
                ),
                "databases that are not one would give the same ids",
            )),
            _ => Ok(()),
        }
    }

    /// Compares the database of a call with those before. After a difference every call is refused:
    /// which of the two other servers use is unknown.
    pub(crate) fn check(&self, server: &str, identity: Option<String>) -> Result<(), StoreError> {
        let mut seen = self.lock();
        if let Some(found) = identity {
            let known = seen.identity.get_or_insert_with(|| found.clone());
            if *known != found {
                let message = format!(
                    "{server} leads to another database than before ({found} in the row #identity \
                    of leafid_pool, {known} before), and both would issue the same ids: make sure \
                    that its address leads to one database or cluster"
                );
                seen.refusal.get_or_insert(message);
            }
        }
        drop(seen);
        self.allow()
    }

    /// Whether all were the same so far.
    pub(crate) fn allow(&self) -> Result<(), StoreError> {
        self.refusal()
            .map_or(Ok(()), |reason| Err(refused(&reason)))
    }

    /// Whether two connections were compared, or are being compared; a caller that gets `false`
    /// compares two.
    pub(crate) fn is_compared(&self) -> bool {
        std::mem::replace(&mut self.lock().is_compared, true)
    }

    /// Records the comparison: where a connection could not be made, the next call tries again.
    pub(crate) fn compared(&self, is_compared: bool) {
        self.lock().is_compared = is_compared;
    }

    pub(crate) fn identity(&self) -> Option<String> {
        self.lock().identity.clone()
    }

    pub(crate) fn refusal(&self) -> Option<String> {
        self.lock().refusal.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_fine(databases: &IdentityCheck, identity: Option<&str>) -> bool {
        is_fine_at(databases, "a place", identity)
    }

    fn is_fine_at(databases: &IdentityCheck, place: &str, identity: Option<&str>) -> bool {
        let identity = identity.map(Into::into);
        let checked = databases.check_connection("here", place.into(), identity);
        checked.is_ok()
    }

    /// Guards that a place which never had the identity is not taken for one whose registry was
    /// emptied.
    #[test]
    fn a_lost_identity_is_known_by_its_place() {
        let databases = IdentityCheck::default();
        assert!(is_fine_at(&databases, "one", None));
        assert!(is_fine_at(&databases, "one", Some("a")));
        assert!(is_fine_at(&databases, "one", None));
        assert!(!is_fine_at(&databases, "two", None));
        assert!(is_fine_at(&databases, "one", None), "not final");
        assert!(is_fine_at(&databases, "two", Some("a")));
        assert!(is_fine_at(&databases, "two", None));
    }

    /// Guards that a difference is final, and that nothing else is one.
    #[test]
    fn a_second_identity_ends_the_use() {
        let databases = IdentityCheck::default();
        for identity in [None, Some("a"), None, Some("a")] {
            assert!(is_fine(&databases, identity), "{identity:?}");
        }
        for identity in [Some("b"), Some("a"), None] {
            assert!(!is_fine(&databases, identity), "{identity:?}");
        }
        let refusal = databases.refusal().unwrap();
        assert!(refusal.contains("b in the row"), "{refusal}");
        assert!(refusal.contains("a before"), "{refusal}");
    }
}
