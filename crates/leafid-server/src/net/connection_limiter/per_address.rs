//! `PerAddressLimiter`: limits the connections of each peer address, so that none takes all.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The connections of each address.
#[derive(Debug)]
pub(super) struct PerAddressLimiter {
    max: u32,
    open: Mutex<HashMap<IpAddr, u32>>,
}

/// A connection of an address, until it is dropped.
#[derive(Debug)]
pub(super) struct AddressPermit {
    limiter: Arc<PerAddressLimiter>,
    address: IpAddr,
}

impl PerAddressLimiter {
    pub(super) fn new(max: u32) -> Arc<Self> {
        Arc::new(Self {
            max,
            open: Mutex::default(),
        })
    }

    /// One more connection of an address; `None`: it is at its limit.
    pub(super) fn acquire(self: &Arc<Self>, address: IpAddr) -> Option<AddressPermit> {
        let address = network(address);
        let mut open = self.lock();
        let count = open.entry(address).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(AddressPermit {
            limiter: Arc::clone(self),
            address,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, u32>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let mut open = self.limiter.lock();
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

/// What counts as one address: for IPv6 the /64 network, as a single machine has all of its
/// addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that each address has its own limit, that closing connections frees slots, and that
    /// no memory is kept for addresses without connections.
    #[test]
    fn each_address_has_its_share() {
        let limiter = PerAddressLimiter::new(2);
        let acquire = |address: &str| limiter.acquire(address.parse().unwrap());
        let first = acquire("192.0.2.1").unwrap();
        let _second = acquire("::ffff:192.0.2.1").unwrap();
        assert!(acquire("192.0.2.1").is_none());
        let _other = acquire("192.0.2.2").unwrap();
        drop(first);
        let _third = acquire("192.0.2.1").unwrap();
        assert!(acquire("192.0.2.1").is_none());
        let six = [
            acquire("2001:db8::1"),
            acquire("2001:db8::2"),
            acquire("2001:db8:0:1::3"),
        ];
        assert!(six.iter().all(Option::is_some));
        assert!(acquire("2001:db8::4").is_none());
        drop(six);
        assert_eq!(limiter.lock().len(), 2);
    }
}
