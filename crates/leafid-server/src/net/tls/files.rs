//! Reads certificates and keys from PEM files. Errors name the setting and the file, and never
//! quote a key.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use leafid_stores::read_file;
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SigningKey};

use crate::config::Limits;

/// A file that a setting names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) setting: &'static str,
    pub(super) path: &'a Path,
}

/// The server's certificates and the key of the first one.
pub(super) struct Identity {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    /// Whether every user of the machine can read the key.
    pub(super) is_open: bool,
}

impl Named<'_> {
    fn problem(&self, problem: impl std::fmt::Display) -> String {
        format!("{} {}: {problem}", self.setting, self.path.display())
    }

    /// The content of the file, and its mode.
    fn contents(&self, limits: &Limits) -> Result<(Vec<u8>, u32), String> {
        let cannot = |error: std::io::Error| self.problem(format_args!("cannot read it: {error}"));
        let (text, metadata) = read_file(self.path, limits.pem_file_len_max).map_err(cannot)?;
        Ok((text, metadata.mode()))
    }

    fn certificates(&self, limits: &Limits) -> Result<Vec<CertificateDer<'static>>, String> {
        let (text, _) = self.contents(limits)?;
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let certificates = read.map_err(|error| self.problem(not_pem(&error)))?;
        if !certificates.is_empty() {
            return Ok(certificates);
        }
        Err(self.problem(if is_der(&text) {
            "it is DER, not PEM: convert it with openssl x509 -inform der"
        } else {
            "it contains no certificate: one begins with -----BEGIN CERTIFICATE-----"
        }))
    }

    /// The private key, and whether every user of the machine can read it.
    fn key(&self, limits: &Limits) -> Result<(PrivateKeyDer<'static>, bool), String> {
        let (text, mode) = self.contents(limits)?;
        let is_open = mode & 0o007 != 0;
        // Both formats say so in plain text: the label of PKCS#8, and a line in the older ones.
        if text
            .windows(b"ENCRYPTED".len())
            .any(|part| part == b"ENCRYPTED")
        {
            return Err(self.problem(
                "the key is encrypted, and a server cannot ask for its password: decrypt it with \
                 openssl pkey, and make the file readable only by the server",
            ));
        }
        match PrivateKeyDer::from_pem_slice(&text) {
            Ok(key) => Ok((key, is_open)),
            Err(pem::Error::NoItemsFound) => Err(self.problem(if is_der(&text) {
                "it is DER, not PEM: convert it with openssl pkey -inform der"
            } else {
                "it contains no private key: one begins with -----BEGIN PRIVATE KEY-----"
            })),
            Err(error) => Err(self.problem(not_pem(&error))),
        }
    }

    /// The authorities in the file.
    pub(super) fn roots(&self, limits: &Limits) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        for (number, certificate) in (1..).zip(self.certificates(limits)?) {
            roots.add(certificate).map_err(|error| {
                self.problem(format_args!(
                    "certificate {number} cannot be used as an authority: {error}"
                ))
            })?;
        }
        Ok(roots)
    }
}

impl Identity {
    /// Reads both files, and checks that they match.
    pub(super) fn read(
        cert: Named<'_>,
        key: Named<'_>,
        limits: &Limits,
        provider: &CryptoProvider,
    ) -> Result<Self, Vec<String>> {
        let (chain, (key_der, is_open)) = match (cert.certificates(limits), key.key(limits)) {
            (Ok(chain), Ok(key)) => (chain, key),
            (chain, key) => return Err(chain.err().into_iter().chain(key.err()).collect()),
        };
        let loaded = provider.key_provider.load_private_key(key_der.clone_key());
        let signing = loaded
            .map_err(|error| vec![key.problem(format_args!("the key cannot be used: {error}"))])?;
        check_pair(&chain, signing).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => vec![key.problem(format_args!(
                "the key does not match the first certificate in {}, which must be the server's \
                 own",
                cert.path.display()
            ))],
            error => vec![cert.problem(format_args!(
                "the first certificate cannot be used: {error}"
            ))],
        })?;
        Ok(Self {
            chain,
            key: key_der,
            is_open,
        })
    }
}

fn check_pair(
    chain: &[CertificateDer<'static>],
    signing: Arc<dyn SigningKey>,
) -> Result<(), rustls::Error> {
    use rustls::InconsistentKeys::Unknown;
    match CertifiedKey::new(chain.to_vec(), signing).keys_match() {
        // The key does not expose its public half: a mismatch would show in the handshake.
        Err(rustls::Error::InconsistentKeys(Unknown)) => Ok(()),
        checked => checked,
    }
}

/// The outermost element of both certificates and keys is a sequence longer than 127 bytes.
fn is_der(text: &[u8]) -> bool {
    matches!(text, [0x30, 0x81 | 0x82, ..])
}

/// What is wrong with a PEM file, without quoting it: it may contain a key.
fn not_pem(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "it is incomplete: a line -----END is missing",
        pem::Error::Base64Decode(_) => {
            "it is damaged: the text between BEGIN and END is not base64"
        }
        _ => "it is not PEM",
    }
}
