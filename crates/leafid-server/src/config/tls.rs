//! `TlsConfig`: the settings of TLS.

use std::path::PathBuf;

/// The certificate files of TLS; without them, connections are plain.
///
/// # Example
///
/// ```
/// use leafid_server::TlsConfig;
///
/// assert!(!TlsConfig::default().is_on());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsConfig {
    /// The server's certificate, followed by its intermediate certificates.
    pub cert: Option<PathBuf>,
    /// The private key of `cert`.
    pub key: Option<PathBuf>,
    /// The authorities of client certificates; if `None`, clients need no certificate.
    pub client_ca: Option<PathBuf>,
    /// Whether connections without TLS are accepted as well.
    pub plain: bool,
}

impl TlsConfig {
    /// Whether the front ends speak TLS.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.cert.is_some() && self.key.is_some()
    }
}
