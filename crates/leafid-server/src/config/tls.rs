//! `TlsConfig`: the settings about TLS.

use std::path::PathBuf;

/// Which files TLS takes its certificates from; none of them: there is no TLS.
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
    /// The server's certificate, with those that lead up to its authority.
    pub cert: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// Authorities of clients; `None`: clients show no certificate.
    pub client_ca: Option<PathBuf>,
    /// Whether connections without TLS are let in as well.
    pub plain: bool,
}

impl TlsConfig {
    /// Whether the front ends speak TLS.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.cert.is_some() && self.key.is_some()
    }
}
