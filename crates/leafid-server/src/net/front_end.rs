//! `FrontEnd`: a protocol, as the acceptor sees it, and a connection, as the protocol sees it.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::net::connection_counts::Protocol;
use crate::net::shutdown::Shutdown;
use crate::net::unread::Backlog;

/// A front end: serves the connections of one protocol.
pub(crate) trait FrontEnd: Send + Sync + 'static {
    /// Its name in logs and metrics.
    const PROTOCOL: Protocol;

    /// The answer to a connection without TLS where TLS is required.
    const TLS_REQUIRED: &'static [u8];

    /// The answer to a connection beyond the limit.
    const TOO_MANY_CONNECTIONS: &'static [u8];

    /// Whether it serves health checks or administration, and so may use the admin slots.
    const SERVES_ADMINS: bool = true;

    /// Serves a connection until its peer, a time-out or the shutdown ends it.
    fn serve<S: Io>(
        self: Arc<Self>,
        stream: S,
        connection: ConnectionInfo,
    ) -> impl Future<Output = ()> + Send;
}

/// A byte stream of a connection, plain or TLS.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Io for T {}

/// What a connection may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Everything.
    Normal,
    /// Health checks and administration only: all normal slots are taken, and operators must still
    /// be able to see why and to act.
    Admin,
}

/// The address of a connection's peer, from the socket. It is attached to each request that may
/// change something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) Option<SocketAddr>);

/// A connection, as a front end sees it.
pub(crate) struct ConnectionInfo {
    pub(crate) slot: Slot,
    pub(crate) peer: Peer,
    /// Asks this connection to finish.
    pub(crate) shutdown: Shutdown,
    /// Answers that the peer has not read yet.
    pub(crate) backlog: Arc<Backlog>,
}

#[cfg(test)]
impl ConnectionInfo {
    /// A connection in a normal slot, with limits of its own.
    pub(crate) fn for_tests(shutdown: Shutdown) -> Self {
        use crate::config::Limits;
        use crate::net::unread::Unread;
        Self {
            slot: Slot::Normal,
            peer: Peer(None),
            shutdown,
            backlog: Unread::new(&Limits::default()).connection(),
        }
    }
}
