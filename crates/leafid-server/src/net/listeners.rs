//! `Listeners`: the sockets of the front ends, bound before anything else starts.

use std::net::SocketAddr;
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
        let addresses = addresses.into();
        Ok(Self {
            http: Listener::bind("http", addresses.http).await?,
            resp: Listener::bind_if("resp", addresses.resp).await?,
            grpc: Listener::bind_if("grpc", addresses.grpc).await?,
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

    async fn bind_if(
        setting: &'static str,
        address: Option<SocketAddr>,
    ) -> Result<Option<Self>, ServeError> {
        match address {
            Some(address) => Ok(Some(Self::bind(setting, address).await?)),
            None => Ok(None),
        }
    }
}
