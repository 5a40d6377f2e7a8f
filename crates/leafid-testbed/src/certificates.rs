//! `Authority`: test certificates for TLS.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

/// 3000-01-01T00:00:00Z.
const FAR_UNIX_S: i64 = 32_503_680_000;

/// A certificate authority. Each has keys of its own.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate with its key.
#[derive(Clone)]
pub struct Certificate {
    /// In DER.
    pub der: Vec<u8>,
    /// In PEM.
    pub pem: String,
    /// In PEM, as PKCS#8.
    pub key_pem: String,
}

impl Authority {
    /// A new one.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each is another")]
    pub fn new() -> Self {
        // Distinct names: clients use them to choose the authority.
        static AUTHORITIES: AtomicU32 = AtomicU32::new(0);
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        let name = format!("test authority {number}");
        let mut params = params(&[], 0, FAR_UNIX_S);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params.self_signed(&key).expect("it can be signed");
        Self {
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Its own certificate in PEM.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Signs a certificate for names and IP addresses, good for a long time.
    #[must_use]
    pub fn issue<const N: usize>(&self, names: [&str; N]) -> Certificate {
        self.issue_for(names, 0, FAR_UNIX_S)
    }

    /// The same from one second since 1970 until another.
    #[must_use]
    pub fn issue_for<const N: usize>(
        &self,
        names: [&str; N],
        from_unix_s: i64,
        until_unix_s: i64,
    ) -> Certificate {
        let key = KeyPair::generate().expect("a key can be made");
        let params = params(&names, from_unix_s, until_unix_s);
        let signed = params.signed_by(&key, &self.issuer);
        let certificate = signed.expect("it can be signed");
        Certificate {
            der: certificate.der().to_vec(),
            pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        }
    }

    /// Writes its certificate to `NAME.pem` in a folder.
    pub fn write(&self, folder: &Path, name: &str) -> PathBuf {
        write(folder, &format!("{name}.pem"), &self.pem)
    }
}

impl Certificate {
    /// Writes the certificate to `NAME.pem` and its key to `NAME.key` in a folder.
    pub fn write(&self, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let certificate = write(folder, &format!("{name}.pem"), &self.pem);
        (
            certificate,
            write(folder, &format!("{name}.key"), &self.key_pem),
        )
    }
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the folder can be written to");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&path, mode).expect("the file is ours");
    path
}

fn params(names: &[&str], from_unix_s: i64, until_unix_s: i64) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("a name that a certificate can have");
    let time = |unix_s: i64| date_time_ymd(1970, 1, 1) + Duration::from_secs(unix_s.unsigned_abs());
    params.not_before = time(from_unix_s);
    params.not_after = time(until_unix_s);
    params
}
