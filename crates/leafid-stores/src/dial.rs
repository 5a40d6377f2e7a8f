//! `Server`: one server of Redis or etcd, and how it is reached: over TCP, with or without TLS.
//! What is said over the connection is left to `redis.rs` and `etcd.rs`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

#[cfg(feature = "etcd")]
use crate::read::{FILE_LEN_MAX, read_file};
use crate::url::servers::public;

/// A server of a URL that was checked.
pub(crate) struct Server {
    /// As people may see it, without a password.
    #[cfg(feature = "etcd")]
    pub(crate) name: String,
    /// Empty where the URL has none.
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    url: Url,
    port: u16,
}

/// A connection of either kind.
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

    /// Host and port, as HTTP wants them.
    #[cfg(feature = "etcd")]
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host(), self.port)
    }

    /// The number at the end of the URL, 0 when there is none.
    #[cfg(feature = "redis")]
    pub(crate) fn database(&self) -> i64 {
        let number = self.url.path().trim_matches('/');
        number.parse().unwrap_or_default()
    }

    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Whether it is reached over TLS, and then its certificate is checked.
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
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let connector = TlsConnector::from(Arc::new(self.tls().await?));
        Ok(Box::new(connector.connect(name, stream).await?))
    }

    /// Read anew for each connection, so that renewed certificates are taken up.
    async fn tls(&self) -> io::Result<ClientConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(self.roots().await?);
        let (Some(chain), Some(key)) = (self.file("ssl-cert").await?, self.file("ssl-key").await?)
        else {
            return Ok(builder.with_no_client_auth());
        };
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(io::Error::other)?;
        builder
            .with_client_auth_cert(certificates(&chain)?, key)
            .map_err(io::Error::other)
    }

    async fn roots(&self) -> io::Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        match self.file("ssl-ca").await? {
            Some(text) => {
                for certificate in certificates(&text)? {
                    roots.add(certificate).map_err(io::Error::other)?;
                }
            }
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        Ok(roots)
    }

    /// What is in the file that this option names.
    async fn file(&self, option: &str) -> io::Result<Option<Vec<u8>>> {
        let Some((_, path)) = self.url.query_pairs().find(|(name, _)| name == option) else {
            return Ok(None);
        };
        let failed = |error| io::Error::other(format!("cannot read {option} {path:?}: {error}"));
        let named = PathBuf::from(&*path);
        let read = tokio::task::spawn_blocking(move || read_file(&named, FILE_LEN_MAX)).await;
        let read = read.map_err(io::Error::other).and_then(|read| read);
        read.map(|(bytes, _)| Some(bytes)).map_err(failed)
    }
}

fn certificates(text: &[u8]) -> io::Result<Vec<CertificateDer<'static>>> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let certificates = certificates.map_err(io::Error::other)?;
    if certificates.is_empty() {
        return Err(io::Error::other("a file of certificates has none"));
    }
    Ok(certificates)
}
