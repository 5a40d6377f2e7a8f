//! `Addresses`: where the front ends listen.

use std::net::SocketAddr;

/// Where the front ends listen.
///
/// # Example
///
/// ```
/// use std::net::SocketAddr;
/// use leafid_server::Addresses;
///
/// let http: SocketAddr = "127.0.0.1:8080".parse()?;
/// // HTTP alone.
/// assert_eq!(Addresses::from(http), Addresses { http, resp: None, grpc: None });
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The address of HTTP.
    pub http: SocketAddr,
    /// The address of the Redis protocol; `None` if it is off.
    pub resp: Option<SocketAddr>,
    /// The address of gRPC; `None` if it is off.
    pub grpc: Option<SocketAddr>,
}

impl From<SocketAddr> for Addresses {
    fn from(http: SocketAddr) -> Self {
        Self {
            http,
            resp: None,
            grpc: None,
        }
    }
}
