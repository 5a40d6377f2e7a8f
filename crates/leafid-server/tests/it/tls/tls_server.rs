//! `TlsServer`: a server with certificates in a folder, and clients for it: curl, redis-cli and
//! bare rustls.

use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use leafid_server::{Config, Limits};
use leafid_testbed::Authority;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

use crate::test_server::TestServer;

/// Certificates in a folder, and settings that name them.
pub(super) struct TlsServer {
    pub(super) folder: TempDir,
    pub(super) authority: Authority,
    pub(super) config: Config,
}

impl TlsServer {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        authority.write(folder.path(), "ca");
        let certificate = authority.issue(["127.0.0.1", "localhost"]);
        let (cert, key) = certificate.write(folder.path(), "server");
        let mut config = Config::default();
        (config.tls.cert, config.tls.key) = (Some(cert), Some(key));
        Self {
            folder,
            authority,
            config,
        }
    }

    /// Only clients of another authority are accepted.
    pub(super) fn with_clients(mut self) -> Self {
        let clients = Authority::new();
        clients
            .issue(["caller"])
            .write(self.folder.path(), "caller");
        let path = clients.write(self.folder.path(), "clients");
        self.config.tls.client_ca = Some(path);
        self
    }

    pub(super) fn with_plain(mut self) -> Self {
        self.config.tls.plain = true;
        self
    }

    pub(super) fn server(&self) -> TestServer {
        TestServer::with(&self.config, Limits::default())
    }

    pub(super) fn server_with(&self, limits: Limits) -> TestServer {
        TestServer::with(&self.config, limits)
    }

    pub(super) fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// What curl prints: the body, a space, the version of HTTP.
    pub(super) fn curl(
        &self,
        server: &TestServer,
        arguments: &[&str],
        path: &str,
    ) -> Result<String, String> {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "20", "-w", " %{http_version}"]);
        curl.args(["--cacert", &self.file("ca.pem")])
            .args(arguments);
        output(curl.arg(format!("https://{}{path}", server.address)))
    }

    pub(super) fn redis_cli(
        &self,
        server: &TestServer,
        arguments: &[&str],
    ) -> Result<String, String> {
        let port = server.addresses.resp.unwrap().port().to_string();
        let mut cli = Command::new("redis-cli");
        cli.args(["-h", "127.0.0.1", "-p", &port, "--tls"]);
        cli.args(["--cacert", &self.file("ca.pem")]);
        output(cli.args(arguments))
    }

    /// After the handshake, with nothing sent yet.
    pub(super) fn connect(&self, address: SocketAddr) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        let pem = self.authority.pem();
        let own = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        roots.add(own).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::from(address.ip());
        let mut session = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = connect(address);
        while session.is_handshaking() {
            session.complete_io(&mut stream).unwrap();
        }
        StreamOwned::new(session, stream)
    }
}

/// Standard output, or what went wrong.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    match output.status.success() {
        true => Ok(text),
        false => Err(errors + &text),
    }
}

/// A plain connection on which nothing was sent, and which does not wait forever.
pub(super) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).unwrap();
    stream
}
