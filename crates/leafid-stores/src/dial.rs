//! `Server`: a Redis or etcd server, and how to connect to it: over TCP, with or without TLS.
//! `redis.rs` and `etcd.rs` know the protocols.

#[cfg(feature = "tls")]
mod tls;

use std::io;

use percent_encoding::percent_decode_str;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use url::{Host, Url};

#[cfg(feature = "etcd")]
use crate::url::servers::public;

/// A server from a checked URL.
pub(crate) struct Server {
    /// As shown to people, without a password.
    #[cfg(feature = "etcd")]
    pub(crate) name: String,
    /// Empty if the URL has none.
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    url: Url,
    port: u16,
}

/// A plain or TLS connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

impl Server {
    pub(crate) fn new(url: &Url, default_port: u16) -> Self {
        let decode = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
        Self {
            #[cfg(feature = "etcd")]
            name: public(url),
            user: decode(url.username()),
            password: url.password().map(decode),
            url: url.clone(),
            port: url.port().unwrap_or(default_port),
        }
    }

    /// Host and port, in the form of HTTP's `Host`.
    #[cfg(feature = "etcd")]
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host(), self.port)
    }

    /// The number at the end of the URL; 0 if there is none.
    #[cfg(feature = "redis")]
    pub(crate) fn database(&self) -> i64 {
        let number = self.url.path().trim_matches('/');
        number.parse().unwrap_or_default()
    }

    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Whether it uses TLS, which always verifies the certificate.
    pub(crate) fn is_verified(&self) -> bool {
        matches!(self.url.scheme(), "rediss" | "etcd+https")
    }

    pub(crate) async fn dial(&self) -> io::Result<Box<dyn Stream>> {
        let host = match self.url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => return Err(io::Error::other("the URL names no host")),
        };
        let stream = TcpStream::connect((host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        if !self.is_verified() {
            return Ok(Box::new(stream));
        }
        #[cfg(feature = "tls")]
        return Ok(Box::new(self.over_tls(host, stream).await?));
        #[cfg(not(feature = "tls"))]
        Err(io::Error::other("this program was built without TLS"))
    }
}
