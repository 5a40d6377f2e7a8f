//! `Caller`: the caller of a request, as far as a front end knows it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crossbeam_utils::CachePadded;

use super::grants::Grants;

/// The caller of a request. A front end makes one from the secret of a request or a connection, by
/// [`Service::authenticate`](crate::Service::authenticate); without a secret it is anonymous.
///
/// # Example
///
/// ```
/// assert!(leafid_server::Caller::anonymous().token().is_none());
/// ```
#[derive(Clone, Default)]
pub struct Caller {
    pub(super) pass: Option<Pass>,
    /// The address of the peer, if the front end knows it.
    address: Option<SocketAddr>,
    /// The shard of its snowflake ids, if the request names one.
    shard: Option<u32>,
}

/// A token in a caller's hand. Each thread that authenticates callers has one, with a counter on a
/// cache line of its own: requests with one token do not contend for it.
pub(super) type Pass = Arc<CachePadded<Arc<Token>>>;

/// A token, as the server has it: without its secret.
pub(super) struct Token {
    pub(super) name: String,
    /// Its permissions. With other ones it is another token.
    pub(super) grants: Grants,
    /// Whether its permissions are limited.
    pub(super) is_limited: bool,
    /// Its [`Standing`], as one number: a single read sees all of it.
    standing: AtomicU8,
}

/// The rights of a token at the moment of one read. Two reads may differ, so no decision may
/// combine two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// None: the token was removed. Connections that authenticated with it may still hold it.
    Gone,
    /// Take ids and read.
    Taker,
    /// Change tags, quotas and worker ids, too.
    Admin,
}

impl Standing {
    const ALL: [Self; 3] = [Self::Gone, Self::Taker, Self::Admin];

    const fn of(is_admin: bool) -> Self {
        match is_admin {
            true => Self::Admin,
            false => Self::Taker,
        }
    }
}

impl Token {
    pub(super) fn new(name: String, is_admin: bool, grants: Grants) -> Self {
        Self {
            name,
            is_limited: grants.are_limited(),
            grants,
            standing: AtomicU8::new(Standing::of(is_admin) as u8),
        }
    }

    // Relaxed, here and below: the number is read on its own, and orders nothing.

    #[inline]
    pub(super) fn standing(&self) -> Standing {
        let number = usize::from(self.standing.load(Ordering::Relaxed));
        Standing::ALL.get(number).copied().unwrap_or(Standing::Gone)
    }

    /// For a token that was not removed; one change at a time.
    pub(super) fn set_admin(&self, is_admin: bool) {
        self.standing
            .store(Standing::of(is_admin) as u8, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_gone(&self) -> bool {
        self.standing() == Standing::Gone
    }

    /// Revokes it for good, even for connections that hold it.
    pub(super) fn revoke(&self) {
        self.standing.store(Standing::Gone as u8, Ordering::Relaxed);
    }
}

impl Caller {
    /// A caller without a secret.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self {
            pass: None,
            address: None,
            shard: None,
        }
    }

    /// The holder of a pass.
    pub(super) const fn with_pass(pass: Pass) -> Self {
        Self {
            pass: Some(pass),
            address: None,
            shard: None,
        }
    }

    /// The same caller, with the address of its peer.
    ///
    /// # Example
    ///
    /// ```
    /// let peer = "192.0.2.1:4242".parse()?;
    /// let caller = leafid_server::Caller::anonymous().at(Some(peer));
    /// assert_eq!(caller.address(), Some(peer));
    /// # Ok::<(), std::net::AddrParseError>(())
    /// ```
    #[must_use]
    pub fn at(self, address: Option<SocketAddr>) -> Self {
        Self { address, ..self }
    }

    /// The same caller, for snowflake ids of a shard that the layout has.
    pub(super) fn with_shard(self, shard: u32) -> Self {
        let shard = Some(shard);
        Self { shard, ..self }
    }

    /// The shard of its snowflake ids; `None`: the server's own.
    #[inline]
    pub(super) const fn shard(&self) -> Option<u32> {
        self.shard
    }

    /// The address of the peer; `None` if unknown.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The name of the token that was shown, even if it was removed since; empty if none was.
    pub(super) fn shown_name(&self) -> &str {
        self.pass.as_ref().map_or("", |pass| &pass.name)
    }

    /// The name of the caller's token; `None` once the token was removed, so that its connection
    /// must authenticate again.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        let pass = self.pass.as_ref().filter(|pass| !pass.is_gone());
        pass.map(|pass| pass.name.as_str())
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Caller").field(&self.token()).finish()
    }
}
