//! `TlsFlags`: which authorities a command trusts when it calls a server by https, and its client
//! certificate.

use std::path::{Path, PathBuf};

use leafid_stores::{FILE_LEN_MAX, read_file};
use ureq::tls::{
    Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider, parse_pem,
};

use crate::failure::{Failure, Outcome};

/// Chooses the certificates for https.
#[derive(clap::Args)]
pub(crate) struct TlsFlags {
    /// The authorities, in PEM, that sign the servers' certificates, instead of the public ones
    /// [env: LEAFID_CA_FILE]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// A client certificate, in PEM, for a server that requires one [env: LEAFID_CERT_FILE]
    #[arg(long, value_name = "FILE")]
    cert_file: Option<PathBuf>,
    /// The key of --cert-file, in PEM [env: LEAFID_KEY_FILE]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// The parts of a PEM file that are used.
struct Contents {
    certificates: Vec<Certificate<'static>>,
    key: Option<PrivateKey<'static>>,
}

impl TlsFlags {
    pub(crate) fn config(&self) -> Outcome<TlsConfig> {
        let roots = match named(self.ca_file.as_ref(), "LEAFID_CA_FILE") {
            Some(path) => RootCerts::new_with_certs(&certificates(&path)?),
            None => RootCerts::WebPki,
        };
        let certificate = named(self.cert_file.as_ref(), "LEAFID_CERT_FILE");
        let key = named(self.key_file.as_ref(), "LEAFID_KEY_FILE");
        let shown = match (certificate, key) {
            (Some(certificate), Some(key)) => {
                let chain = certificates(&certificate)?;
                Some(ClientCert::new_with_certs(&chain, private_key(&key)?))
            }
            (None, None) => None,
            _ => {
                return Err(Failure::usage(
                    "a client certificate needs its key, and the key its certificate",
                    "name both: --cert-file FILE --key-file FILE",
                ));
            }
        };
        Ok(TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(roots)
            .client_cert(shown)
            .build())
    }
}

/// The file that the flag names, else the environment variable.
fn named(flag: Option<&PathBuf>, variable: &str) -> Option<PathBuf> {
    let variable = || std::env::var_os(variable).filter(|path| !path.is_empty());
    flag.cloned().or_else(|| variable().map(PathBuf::from))
}

fn certificates(path: &Path) -> Outcome<Vec<Certificate<'static>>> {
    let found = read(path)?.certificates;
    if found.is_empty() {
        let message = format!("there is no certificate in {}", path.display());
        let next = "name a PEM file: a certificate begins with -----BEGIN CERTIFICATE-----";
        return Err(Failure::new(message, next));
    }
    Ok(found)
}

fn private_key(path: &Path) -> Outcome<PrivateKey<'static>> {
    read(path)?.key.ok_or_else(|| {
        let message = format!("there is no private key in {}", path.display());
        let next = "name a PEM file with a key that is not encrypted";
        Failure::new(message, next)
    })
}

fn read(path: &Path) -> Outcome<Contents> {
    let failed = |why: String| {
        let message = format!("cannot read {}: {why}", path.display());
        Failure::new(message, "name a PEM file that this user can read")
    };
    let read = read_file(path, FILE_LEN_MAX);
    let (text, _) = read.map_err(|error| failed(error.to_string()))?;
    let mut contents = Contents {
        certificates: Vec::new(),
        key: None,
    };
    for item in parse_pem(&text) {
        // The error could quote the file, and so a key.
        match item.map_err(|_| failed("it is incomplete, or not PEM".to_owned()))? {
            PemItem::Certificate(certificate) => contents.certificates.push(certificate),
            PemItem::PrivateKey(key) => contents.key = Some(key),
            _ => {}
        }
    }
    Ok(contents)
}
