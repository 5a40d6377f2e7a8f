//! `Listeners`: the sockets of the front ends, bound before anything else starts, or passed by the
//! service manager (socket activation).

use std::io;
use std::net::SocketAddr;
use std::net::TcpListener as StdTcpListener;
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::config::Addresses;
use crate::error::ServeError;
use crate::net::tls::Tls;

/// The listening sockets. They are bound first, so that an address in use is reported at once.
///
/// # Example
///
/// See [`Server`](crate::Server).
#[derive(Debug)]
pub struct Listeners {
    pub(crate) http: Listener,
    pub(crate) resp: Option<Listener>,
    pub(crate) grpc: Option<Listener>,
    /// `None`: connections are plain.
    pub(crate) tls: Option<Arc<Tls>>,
}

/// Sockets that listen already, such as those that systemd passes to a service.
///
/// # Example
///
/// ```
/// use std::net::{SocketAddr, TcpListener};
/// use leafid_server::{Listeners, PassedSockets};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let passed = TcpListener::bind("127.0.0.1:0")?;
/// let address = passed.local_addr()?;
/// let passed = PassedSockets { http: Some(passed), ..PassedSockets::default() };
/// assert_eq!(passed.addresses()?, [("http", address)]);
///
/// let unused: SocketAddr = "127.0.0.1:8080".parse()?;
/// let listeners = Listeners::bind_others(unused, passed).await?;
/// assert_eq!(listeners.http_addr(), address);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct PassedSockets {
    /// The socket of HTTP.
    pub http: Option<StdTcpListener>,
    /// The socket of the Redis protocol.
    pub resp: Option<StdTcpListener>,
    /// The socket of gRPC.
    pub grpc: Option<StdTcpListener>,
}

/// One socket.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    address: SocketAddr,
}

impl Listeners {
    /// Binds the address of HTTP; port 0 picks a free port.
    ///
    /// # Errors
    ///
    /// [`ServeError::Bind`].
    pub async fn bind(addresses: impl Into<Addresses>) -> Result<Self, ServeError> {
        Self::bind_others(addresses, PassedSockets::default()).await
    }

    /// The same with sockets that listen already, each in place of the address of its protocol. A
    /// protocol that is off is on if its socket is passed.
    ///
    /// # Errors
    ///
    /// [`ServeError::Bind`].
    ///
    /// # Example
    ///
    /// See [`PassedSockets`].
    pub async fn bind_others(
        addresses: impl Into<Addresses>,
        passed: PassedSockets,
    ) -> Result<Self, ServeError> {
        let addresses = addresses.into();
        Ok(Self {
            http: match passed.http {
                Some(socket) => Listener::passed("http", socket)?,
                None => Listener::bind("http", addresses.http).await?,
            },
            resp: Listener::passed_or_bound("resp", passed.resp, addresses.resp).await?,
            grpc: Listener::passed_or_bound("grpc", passed.grpc, addresses.grpc).await?,
            tls: None,
        })
    }

    /// The same with TLS on all front ends.
    #[must_use]
    pub fn with_tls(self, tls: Option<Arc<Tls>>) -> Self {
        Self { tls, ..self }
    }

    /// The address of HTTP, with the port that was picked.
    #[must_use]
    pub fn http_addr(&self) -> SocketAddr {
        self.http.address
    }

    /// The addresses of the front ends, with the ports that were picked.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        let address = |listener: &Listener| listener.address;
        Addresses {
            http: self.http.address,
            resp: self.resp.as_ref().map(address),
            grpc: self.grpc.as_ref().map(address),
        }
    }
}

impl Listener {
    async fn bind(setting: &'static str, address: SocketAddr) -> Result<Self, ServeError> {
        let cannot = |source| ServeError::Bind {
            setting,
            address,
            source,
        };
        let socket = TcpListener::bind(address).await.map_err(cannot)?;
        let address = socket.local_addr().map_err(cannot)?;
        Ok(Self { socket, address })
    }

    fn passed(setting: &'static str, socket: StdTcpListener) -> Result<Self, ServeError> {
        let cannot = |address| {
            move |source| ServeError::Bind {
                setting,
                address,
                source,
            }
        };
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let address = socket.local_addr().map_err(cannot(unknown))?;
        socket.set_nonblocking(true).map_err(cannot(address))?;
        let socket = TcpListener::from_std(socket).map_err(cannot(address))?;
        Ok(Self { socket, address })
    }

    async fn passed_or_bound(
        setting: &'static str,
        passed: Option<StdTcpListener>,
        address: Option<SocketAddr>,
    ) -> Result<Option<Self>, ServeError> {
        Ok(match (passed, address) {
            (Some(socket), _) => Some(Self::passed(setting, socket)?),
            (None, Some(address)) => Some(Self::bind(setting, address).await?),
            (None, None) => None,
        })
    }
}

impl PassedSockets {
    /// The settings whose addresses they replace, and where they listen.
    ///
    /// # Errors
    ///
    /// If the system does not tell the address of one.
    ///
    /// # Example
    ///
    /// See [`PassedSockets`].
    pub fn addresses(&self) -> io::Result<Vec<(&'static str, SocketAddr)>> {
        let all = [
            ("http", &self.http),
            ("resp", &self.resp),
            ("grpc", &self.grpc),
        ];
        let passed = all
            .into_iter()
            .filter_map(|(key, socket)| Some((key, socket.as_ref()?)));
        passed
            .map(|(key, socket)| Ok((key, socket.local_addr()?)))
            .collect()
    }
}
