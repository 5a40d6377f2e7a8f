//! `Acceptor`: accepts the connections of all front ends, within the limits, and puts each on the
//! runtime of a core.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use crate::net::connection_counts::ConnectionCounts;
use crate::net::connection_limiter::ConnectionLimiter;
use crate::net::front_end::{ConnectionInfo, FrontEnd, Peer};
use crate::net::listeners::Listener;
use crate::net::runtimes::CoreRuntimes;
use crate::net::shutdown::Shutdown;
use crate::net::tls::Tls;
use crate::net::unread::Unread;

/// The pause after the system refused a connection, such as for want of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// The shared handling of connections, for all front ends.
pub(crate) struct Acceptor {
    pub(crate) runtimes: Arc<CoreRuntimes>,
    pub(crate) limiter: ConnectionLimiter,
    pub(crate) counts: Arc<ConnectionCounts>,
    pub(crate) unread: Arc<Unread>,
    pub(crate) shutdown: Shutdown,
    /// `None`: connections are plain.
    pub(crate) tls: Option<Arc<Tls>>,
}

impl Acceptor {
    /// Accepts the connections of a front end until the shutdown; none if it is disabled.
    pub(crate) async fn serve<F: FrontEnd>(&self, front_end: Arc<F>, listener: Option<Listener>) {
        let Some(Listener { socket, .. }) = listener else {
            return;
        };
        tokio::select! {
            () = self.accept(&front_end, &socket) => {}
            () = self.shutdown.asked() => {}
        }
    }

    async fn accept<F: FrontEnd>(&self, front_end: &Arc<F>, listener: &TcpListener) {
        let mut failures: u32 = 0;
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => self.spawn(front_end, stream, peer),
                Err(error) => {
                    failures = failures.saturating_add(1);
                    if failures.is_power_of_two() {
                        tracing::warn!(%error, failures, protocol = F::PROTOCOL.name(), "cannot accept a connection; raise the limit on open files if it says so");
                    }
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            }
        }
    }

    fn spawn<F: FrontEnd>(&self, front_end: &Arc<F>, stream: TcpStream, peer: SocketAddr) {
        let acquired = self
            .limiter
            .acquire(peer.ip(), F::SERVES_ADMINS, &self.shutdown);
        let Some(permit) = acquired else {
            return self.refuse::<F>(&stream);
        };
        let connection = ConnectionInfo {
            slot: permit.slot,
            peer: Peer(Some(peer)),
            shutdown: permit.shutdown.clone(),
            backlog: self.unread.connection(),
        };
        // `TCP_NODELAY`: without it an answer may wait 40 ms for the peer's acknowledgement of the
        // last one.
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let front_end = Arc::clone(front_end);
        let open = self.counts.connection(F::PROTOCOL);
        let Some(tls) = self.tls.clone() else {
            return self.runtimes.spawn(stream, |stream| async move {
                front_end.serve(stream, connection).await;
                drop((permit, open));
            });
        };
        // A future of its own, so that a plain connection does not need the memory of a TLS one.
        self.runtimes.spawn(stream, |stream| async move {
            tls.serve(front_end, stream, connection).await;
            drop((permit, open));
        });
    }

    /// Tells a connection beyond the limit to try again later, with as much as fits into the
    /// socket.
    fn refuse<F: FrontEnd>(&self, stream: &TcpStream) {
        self.counts.refuse(F::PROTOCOL);
        if self.tls.is_some() {
            // Plain text would look like a broken connection, just as closing it does.
            return;
        }
        let _sent = stream.try_write(F::TOO_MANY_CONNECTIONS);
    }
}
