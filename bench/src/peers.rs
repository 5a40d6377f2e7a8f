//! The servers beside which Leafid is measured, each with nothing to do but answer, in a temporary
//! folder, on the servers' core.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::affinity::{start_server, start_untied};

/// The number that nginx answers, as long as the ids beside it.
pub(crate) const NGINX_NUMBER: u64 = 12_345_678;

/// A running peer; killed when dropped.
pub(crate) struct Peer {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Where its files are, if it has any.
    _folder: Option<TempDir>,
}

/// nginx that answers a number to everything, with the headers of ours as far as it lets.
///
/// One process in place of a master and a worker: it runs the worker's loop, and cannot outlive
/// this program.
pub(crate) fn nginx() -> Peer {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let address = free_address();
    let path = folder.path().display();
    let configuration = format!(
        r#"daemon off; master_process off; worker_processes 1; pid {path}/pid;
worker_rlimit_nofile 20000; events {{ worker_connections 16384; }}
http {{
  access_log off; error_log {path}/error.log crit;
  keepalive_requests 4000000000; keepalive_timeout 1h;
  client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;
  fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi; scgi_temp_path {path}/scgi;
  default_type "text/plain;charset=UTF-8";
  server {{
    listen {address} backlog=4096;
    location / {{ add_header Cache-Control no-store; return 200 "{NGINX_NUMBER}"; }}
  }}
}}
"#
    );
    let file = folder.path().join("nginx.conf");
    fs::write(&file, configuration).expect("a file in a temporary folder");
    let mut command = Command::new("nginx");
    command.arg("-e").arg(folder.path().join("error.log"));
    command.arg("-c").arg(file).arg("-p").arg(folder.path());
    let peer = Peer {
        child: start_server(&command),
        address,
        _folder: Some(folder),
    };
    peer.wait_until(|| TcpStream::connect(address).is_ok());
    peer
}

/// The gRPC server of `echo.rs`.
pub(crate) fn grpc_echo() -> Peer {
    let own = std::env::current_exe().expect("this program has a path");
    let address = free_address();
    let mut command = Command::new(own);
    command.args(["grpc-echo", &address.to_string()]);
    let peer = Peer {
        child: start_server(&command),
        address,
        _folder: None,
    };
    peer.wait_until(|| TcpStream::connect(address).is_ok());
    peer
}

/// redis-server without persistence.
pub(crate) fn redis_server() -> Peer {
    let (command, folder, address) = redis_command();
    let peer = Peer {
        child: start_server(&command),
        address,
        _folder: Some(folder),
    };
    peer.wait_until(|| answers_ping(address));
    peer
}

/// Starts redis-server, and returns the time to its first answer too.
pub(crate) fn redis_server_timed() -> (Peer, Duration) {
    let (mut command, folder, address) = redis_command();
    let started = Instant::now();
    let child = start_untied(&mut command);
    let peer = Peer {
        child,
        address,
        _folder: Some(folder),
    };
    while !answers_ping(address) {
        thread::yield_now();
    }
    (peer, started.elapsed())
}

fn redis_command() -> (Command, TempDir, SocketAddr) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let address = free_address();
    let mut command = Command::new("redis-server");
    command.args(["--port", &address.port().to_string()]);
    command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    command.arg("--dir").arg(folder.path());
    command.stdout(Stdio::null());
    (command, folder, address)
}

/// Whether a server there answers `PING` as Redis does.
pub(crate) fn answers_ping(address: SocketAddr) -> bool {
    let pong = TcpStream::connect(address).and_then(|mut stream| {
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    });
    pong.is_ok_and(|answer| &answer == b"+PONG\r\n")
}

pub(crate) fn free_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], leafid_testbed::free_port()))
}

impl Peer {
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    fn wait_until(&self, is_ready: impl Fn() -> bool) {
        let started = Instant::now();
        while !is_ready() {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "a peer does not come up on {}",
                self.address
            );
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
