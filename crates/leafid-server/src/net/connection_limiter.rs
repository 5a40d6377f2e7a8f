//! `ConnectionLimiter`: limits the connections over all front ends and from one address, and
//! reserves slots for admins.

mod admin_slots;
mod per_address;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Limits;
use crate::net::front_end::Slot;
use crate::net::shutdown::{Shutdown, within};

use admin_slots::AdminSlots;
use per_address::{AddressPermit, PerAddressLimiter};

/// The limits on connections, shared by all front ends.
pub(crate) struct ConnectionLimiter {
    normal: Arc<Semaphore>,
    per_address: Arc<PerAddressLimiter>,
    admin: AdminSlots,
    limits: Limits,
}

/// The right to a connection, until it is dropped.
pub(crate) struct ConnectionPermit {
    pub(crate) slot: Slot,
    /// Asks this connection to finish.
    pub(crate) shutdown: Shutdown,
    _slot: OwnedSemaphorePermit,
    /// Counts toward the limit of its address; `None` in an admin slot.
    _address: Option<AddressPermit>,
}

impl ConnectionLimiter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            normal: Arc::new(Semaphore::new(limits.connections_max as usize)),
            per_address: PerAddressLimiter::new(limits.address_connections_max()),
            admin: AdminSlots::new(limits.operator_connections_max as usize),
            limits: *limits,
        }
    }

    /// Acquires a slot for a connection from this address; `None` if there is none.
    pub(crate) fn acquire(
        &self,
        address: IpAddr,
        serves_admins: bool,
        shutdown: &Shutdown,
    ) -> Option<ConnectionPermit> {
        if let Some(address) = self.per_address.acquire(address)
            && let Ok(slot) = Arc::clone(&self.normal).try_acquire_owned()
        {
            return Some(ConnectionPermit {
                slot: Slot::Normal,
                shutdown: shutdown.clone(),
                _slot: slot,
                _address: Some(address),
            });
        }
        if !serves_admins {
            return None;
        }
        let (slot, shutdown) = self.admin.acquire(shutdown)?;
        Some(ConnectionPermit {
            slot: Slot::Admin,
            shutdown,
            _slot: slot,
            _address: None,
        })
    }

    /// Waits until all normal connections have ended, for at most `grace`.
    pub(crate) async fn wait_until_idle(&self, grace: Duration) {
        let all = self.normal.acquire_many(self.limits.connections_max);
        if within(grace, async { drop(all.await) }).await {
            return;
        }
        let open = self.limits.connections_max as usize - self.normal.available_permits();
        tracing::warn!(
            open,
            "connections did not finish within the grace period; they are cut"
        );
    }
}
