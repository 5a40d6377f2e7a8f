//! TLS to a server of Redis or etcd, with the certificates that its URL names.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::Server;
use crate::read::{FILE_LEN_MAX, read_file};

impl Server {
    /// Does a TLS handshake over a connection.
    pub(super) async fn over_tls(
        &self,
        host: String,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let connector = TlsConnector::from(Arc::new(self.tls().await?));
        connector.connect(name, stream).await
    }

    /// Read for each connection, so that renewed certificates are used.
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

    /// The content of the file that this option names.
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
