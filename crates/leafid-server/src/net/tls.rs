//! `Tls`: the certificate that all front ends present, and how it is reloaded at run time.
//!
//! `tls/handshake.rs` does the handshake, `tls/files.rs` reads the files. Invariant: what is in use
//! was read and checked as a whole; files that cannot be used change nothing.

mod counts;
mod files;
mod handshake;
mod no_verification;
mod validity;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{Ticketer, default_provider};
use rustls::pki_types::ServerName;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{ClientConfig, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::config::{Config, ConfigError, Limits, TlsConfig};
use crate::net::connection_counts::Protocol;

pub(crate) use counts::{Counts, Outcome};
use files::{Identity, Named};
use no_verification::NoVerification;
use validity::Validity;

/// What a front end offers in the handshake (ALPN).
const fn alpn(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::Http => &["h2", "http/1.1"],
        Protocol::Grpc => &["h2"],
        // The Redis protocol has no registered name.
        Protocol::Resp => &[],
    }
}

/// The certificate that all front ends present, and the authorities for client certificates.
///
/// # Example
///
/// ```
/// use leafid_server::{Config, Limits, Tls};
///
/// let mut config = Config::default();
/// assert!(Tls::read(&config, Limits::default())?.is_none());
/// config.tls.cert = Some("nowhere.pem".into());
/// config.tls.key = Some("nowhere.key".into());
/// let error = Tls::read(&config, Limits::default()).unwrap_err();
/// assert!(error.mistakes[0].starts_with("tls-cert nowhere.pem: cannot read it: "));
/// # Ok::<(), leafid_server::ConfigError>(())
/// ```
pub struct Tls {
    config: TlsConfig,
    limits: Limits,
    current: RwLock<Arc<Current>>,
    pub(crate) counts: Counts,
}

/// The configurations made from the files.
pub(crate) struct Current {
    /// By protocol.
    servers: [Arc<ServerConfig>; Protocol::ALL.len()],
    /// For calls to other servers.
    client: Arc<ClientConfig>,
    /// When the whole chain is valid.
    validity: Option<Validity>,
    is_key_open: bool,
}

impl Tls {
    /// Reads the files that the settings name; `None` if they name none.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the file that cannot be used, and why; it shows nothing of a key.
    pub fn read(config: &Config, limits: Limits) -> Result<Option<Self>, ConfigError> {
        let config = config.tls.clone();
        if !config.is_on() {
            return Ok(None);
        }
        let current = Current::read(&config, &limits)?;
        Ok(Some(Self {
            config,
            limits,
            current: RwLock::new(Arc::new(current)),
            counts: Counts::default(),
        }))
    }

    /// Reads the files again. New connections use them; open ones are not affected.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read); then nothing changes.
    pub fn read_again(&self) -> Result<(), ConfigError> {
        self.apply(self.prepare()?);
        Ok(())
    }

    /// Reads the files again, without applying them.
    pub(crate) fn prepare(&self) -> Result<Current, ConfigError> {
        Current::read(&self.config, &self.limits)
    }

    /// Applies prepared files: new connections use them from now on.
    pub(crate) fn apply(&self, prepared: Current) {
        let current = self.current.write();
        *current.unwrap_or_else(PoisonError::into_inner) = Arc::new(prepared);
    }

    /// Warnings for the operator about the certificate and its key.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let current = self.current();
        let name = |path: &Option<PathBuf>| {
            let path = path.as_deref().map(Path::display);
            path.map_or_else(String::new, |path| path.to_string())
        };
        let mut notes = Vec::new();
        if let Some(validity) = current.validity {
            let (now, cert) = (crate::wall_clock::now(), name(&self.config.cert));
            if now > validity.until {
                notes.push(format!(
                    "the certificate in {cert} expired at {}: clients that verify it cannot \
                     connect; renew it, and send SIGHUP",
                    validity.until
                ));
            } else if now < validity.from {
                notes.push(format!(
                    "the certificate in {cert} is not valid before {}: clients that verify it cannot \
                     connect until then; check the clock",
                    validity.from
                ));
            }
        }
        if current.is_key_open {
            let key = name(&self.config.key);
            notes.push(format!(
                "every user of this machine can read or change the key in {key}: chmod 640 {key}"
            ));
        }
        notes
    }

    /// When the certificate or one of its intermediate certificates expires, in seconds since
    /// 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn expires_unix_seconds(&self) -> Option<i64> {
        Some(self.expires()?.as_second())
    }

    pub(crate) fn expires(&self) -> Option<Timestamp> {
        Some(self.current().validity?.until)
    }

    fn lets_plain_in(&self) -> bool {
        self.config.plain
    }

    fn current(&self) -> Arc<Current> {
        // Held for as long as copying a pointer takes.
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the front end of a protocol offers in the handshake.
    pub(crate) fn offer(&self, protocol: Protocol) -> Arc<ServerConfig> {
        Arc::clone(&self.current().servers[protocol as usize])
    }

    /// Does a TLS handshake with another server at an address, without verifying its certificate.
    pub(crate) async fn connect(
        &self,
        address: &str,
        stream: TcpStream,
    ) -> Option<TlsStream<TcpStream>> {
        let (host, _) = address.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = match host.parse::<IpAddr>() {
            Ok(ip) => ServerName::from(ip),
            Err(_) => ServerName::try_from(host.to_owned()).ok()?,
        };
        let connector = TlsConnector::from(Arc::clone(&self.current().client));
        connector.connect(name, stream).await.ok()
    }
}

impl Current {
    fn read(config: &TlsConfig, limits: &Limits) -> Result<Self, ConfigError> {
        Self::try_read(config, limits).map_err(|mistakes| ConfigError { mistakes })
    }

    fn try_read(config: &TlsConfig, limits: &Limits) -> Result<Self, Vec<String>> {
        let provider = Arc::new(default_provider());
        let (Some(cert), Some(key)) = (&config.cert, &config.key) else {
            return Err(vec!["TLS needs both tls-cert and tls-key".to_owned()]);
        };
        let cert = named("tls-cert", cert);
        let identity = Identity::read(cert, named("tls-key", key), limits, &provider)?;
        let clients = match &config.client_ca {
            Some(path) => Some(clients(named("tls-client-ca", path), limits, &provider)?),
            None => None,
        };
        let unusable = |error: rustls::Error| {
            vec![format!(
                "tls-cert {} cannot be used: {error}",
                cert.path.display()
            )]
        };
        let offer = |protocol| {
            let offered = offer(&provider, &identity, clients.clone(), alpn(protocol));
            offered.map(Arc::new).map_err(unusable)
        };
        let [http, resp, grpc] = Protocol::ALL.map(offer);
        Ok(Self {
            servers: [http?, resp?, grpc?],
            client: Arc::new(asking(&provider, &identity).map_err(unusable)?),
            validity: common_validity(&identity),
            is_key_open: identity.is_open,
        })
    }
}

fn named<'a>(setting: &'static str, path: &'a Path) -> Named<'a> {
    Named { setting, path }
}

/// Requires client certificates signed by one of these authorities.
fn clients(
    file: Named<'_>,
    limits: &Limits,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Vec<String>> {
    let roots = file.roots(limits).map_err(|mistake| vec![mistake])?;
    let built =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    built.map_err(|error| {
        vec![format!(
            "tls-client-ca {} cannot be used: {error}",
            file.path.display()
        )]
    })
}

/// The protocols of one kind of front end. Each reload makes new session-ticket keys: an earlier
/// session is not resumed under another certificate or other authorities.
fn offer(
    provider: &Arc<CryptoProvider>,
    identity: &Identity,
    clients: Option<Arc<dyn ClientCertVerifier>>,
    protocols: &[&str],
) -> Result<ServerConfig, rustls::Error> {
    let builder = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()?;
    let builder = match clients {
        Some(clients) => builder.with_client_cert_verifier(clients),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(identity.chain.clone(), identity.key.clone_key())?;
    let protocols = protocols.iter().map(|protocol| protocol.as_bytes().into());
    config.alpn_protocols = protocols.collect();
    // Clients store their sessions, so that sessions cost no memory here.
    config.ticketer = Ticketer::new()?;
    Ok(config)
}

/// For calls to another server: without verification, and with our certificate if it requires one.
fn asking(
    provider: &Arc<CryptoProvider>,
    identity: &Identity,
) -> Result<ClientConfig, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(NoVerification(Arc::clone(provider))))
        .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
}

/// The period in which all certificates of the chain are valid.
fn common_validity(identity: &Identity) -> Option<Validity> {
    let each = identity.chain.iter().filter_map(|one| Validity::of(one));
    each.reduce(|all, one| Validity {
        from: all.from.max(one.from),
        until: all.until.min(one.until),
    })
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
