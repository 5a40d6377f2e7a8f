//! Listening: accepts the connections of a door, keeps their number bounded over all doors, and
//! puts each on a lane.

mod operators;
mod shares;

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Limits;
use crate::lanes::Lanes;
use crate::listeners::Listener;
use crate::metrics::{Connected, DoorName, Metrics};
use crate::shutdown::Shutdown;
use crate::tls::{Alpn, Tls};
use crate::unread::Backlog;

use operators::OperatorPlaces;
use shares::{Share, Shares};

/// How long to wait after the system refused a connection, such as for want of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// What a connection's bytes come and go through.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Io for T {}

/// A front end: what it does with a connection.
pub(crate) trait Door: Send + Sync + 'static {
    /// What it is called in logs.
    const NAME: DoorName;

    /// What it offers where TLS is on.
    const ALPN: Alpn;

    /// What a connection without TLS is told where TLS is asked for.
    const PLAIN_REFUSAL: &'static [u8];

    /// What a connection is told for which there is no place at all.
    const REFUSAL: &'static [u8];

    /// Whether there is something for operators to do, so that it may take their places.
    const SERVES_OPERATORS: bool = true;

    /// Serves a connection until its peer, silence or the shutdown ends it.
    fn serve<S: Io>(
        self: Arc<Self>,
        stream: S,
        admitted: Admitted,
    ) -> impl Future<Output = ()> + Send;
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Everything.
    Full,
    /// All places are taken: health and administration only, so that operators see what is going
    /// on, and can end it.
    Operators,
}

/// Where a connection comes from, by its socket. It goes along with requests that may change
/// something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) Option<SocketAddr>);

/// What a connection was let in with.
pub(crate) struct Admitted {
    pub(crate) place: Place,
    /// Where it comes from.
    pub(crate) peer: Peer,
    /// What it is told to finish by.
    pub(crate) shutdown: Shutdown,
    /// What its peer has not read.
    pub(crate) backlog: Arc<Backlog>,
}

#[cfg(test)]
impl Admitted {
    /// To everything, by itself.
    pub(crate) fn for_tests(shutdown: Shutdown) -> Self {
        Self {
            place: Place::Full,
            peer: Peer(None),
            shutdown,
            backlog: crate::unread::Unread::new(&Limits::default()).connection(),
        }
    }
}

/// A place that a connection has.
struct Taken {
    place: Place,
    permit: OwnedSemaphorePermit,
    /// Its part of what its address may have; those of operators have none.
    share: Option<Share>,
    /// What it is told to finish by.
    shutdown: Shutdown,
}

/// Places for connections, shared by all doors.
pub(crate) struct Places {
    all: Arc<Semaphore>,
    shares: Arc<Shares>,
    operators: OperatorPlaces,
    limits: Limits,
}

impl Places {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            all: Arc::new(Semaphore::new(limits.connections_max as usize)),
            shares: Shares::new(limits.address_connections_max()),
            operators: OperatorPlaces::new(limits.operator_connections_max as usize),
            limits: *limits,
        }
    }

    fn take(&self, address: IpAddr, serves_operators: bool, shutdown: &Shutdown) -> Option<Taken> {
        let share = self.shares.take(address);
        if share.is_some()
            && let Ok(permit) = Arc::clone(&self.all).try_acquire_owned()
        {
            return Some(Taken {
                place: Place::Full,
                permit,
                share,
                shutdown: shutdown.clone(),
            });
        }
        if !serves_operators {
            return None;
        }
        let (permit, shutdown) = self.operators.take(shutdown)?;
        Some(Taken {
            place: Place::Operators,
            permit,
            share: None,
            shutdown,
        })
    }

    /// Waits until all connections are gone, for `grace` at the most.
    pub(crate) async fn wait_until_empty(&self, grace: Duration) {
        let all = self.all.acquire_many(self.limits.connections_max);
        if crate::shutdown::within(grace, async { drop(all.await) }).await {
            return;
        }
        let open = self.limits.connections_max as usize - self.all.available_permits();
        tracing::warn!(
            open,
            "connections did not finish within the grace period; they are cut"
        );
    }
}

/// What all doors share.
pub(crate) struct Hall {
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) places: Places,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) shutdown: Shutdown,
    /// `None`: connections are plain.
    pub(crate) tls: Option<Arc<Tls>>,
}

impl Hall {
    /// Accepts connections of a door until the shutdown is asked for.
    pub(crate) async fn listen<D: Door>(&self, door: Arc<D>, listener: TcpListener) {
        tokio::select! {
            () = self.accept(&door, &listener) => {}
            () = self.shutdown.asked() => {}
        }
    }

    /// The same for a door that may be off.
    pub(crate) async fn listen_if<D: Door>(&self, door: Arc<D>, listener: Option<Listener>) {
        if let Some(listener) = listener {
            self.listen(door, listener.socket).await;
        }
    }

    async fn accept<D: Door>(&self, door: &Arc<D>, listener: &TcpListener) {
        let mut failures: u32 = 0;
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => self.admit(door, stream, peer),
                Err(error) => {
                    failures = failures.saturating_add(1);
                    if failures.is_power_of_two() {
                        tracing::warn!(%error, failures, door = D::NAME.name(), "cannot accept a connection; raise the limit on open files if it says so");
                    }
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            }
        }
    }

    fn admit<D: Door>(&self, door: &Arc<D>, stream: TcpStream, peer: SocketAddr) {
        let places = &self.places;
        let Some(taken) = places.take(peer.ip(), D::SERVES_OPERATORS, &self.shutdown) else {
            return self.refuse::<D>(&stream);
        };
        let Taken {
            place,
            permit,
            share,
            shutdown,
        } = taken;
        let permit = (permit, share);
        let admitted = Admitted {
            place,
            peer: Peer(Some(peer)),
            shutdown,
            backlog: self.metrics.unread.connection(),
        };
        // Without it an answer may wait 40 ms for the peer's acknowledgement of the last one.
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let (door, metrics) = (Arc::clone(door), Arc::clone(&self.metrics));
        let Some(tls) = self.tls.clone() else {
            return self.lanes.spawn(stream, |stream| async move {
                let _connected = Connected::new(metrics, D::NAME);
                door.serve(stream, admitted).await;
                drop(permit);
            });
        };
        // A future of its own: a plain connection shall not take the memory of TLS.
        self.lanes.spawn(stream, |stream| async move {
            let _connected = Connected::new(metrics, D::NAME);
            tls.serve(door, stream, admitted).await;
            drop(permit);
        });
    }

    /// Tells a connection too many to come back later. It gets what fits into the socket at once.
    fn refuse<D: Door>(&self, stream: &TcpStream) {
        self.metrics.connections.refuse(D::NAME);
        if self.tls.is_some() {
            // Words without TLS would be taken for a fault of the connection, as closing it is.
            return;
        }
        let _told = stream.try_write(D::REFUSAL);
    }
}
