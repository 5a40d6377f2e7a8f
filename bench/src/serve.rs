//! The real server, started and asked over HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::affinity::{start_server, start_untied};
use crate::cpu;
use crate::peers::free_address;

/// A running `leafid serve`; killed when dropped.
pub(crate) struct Serve {
    child: Child,
    /// Where HTTP listens.
    pub(crate) address: SocketAddr,
    pub(crate) resp: SocketAddr,
    pub(crate) grpc: SocketAddr,
    started: Instant,
}

impl Serve {
    /// Starts the binary that was built beside this one, on a free port.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_by(arguments, |command| {
            let started = command.spawn();
            started.expect("build it first: cargo build --release")
        })
    }

    /// The same on the servers' core.
    pub(crate) fn start_pinned(arguments: &[&str]) -> Self {
        assert!(binary().exists(), "build it first: cargo build --release");
        Self::start_by(arguments, |command| start_server(command))
    }

    /// The same with nothing between the call and the server, to measure the start.
    pub(crate) fn start_untied(arguments: &[&str]) -> Self {
        Self::start_by(arguments, start_untied)
    }

    fn start_by(arguments: &[&str], start: impl Fn(&mut Command) -> Child) -> Self {
        let [address, resp, grpc] = [(); 3].map(|()| free_address());
        let mut command = Command::new(binary());
        command
            .args(["serve", "--http", &address.to_string()])
            .args(["--resp", &resp.to_string(), "--grpc", &grpc.to_string()])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let started = Instant::now();
        Self {
            child: start(&mut command),
            address,
            resp,
            grpc,
            started,
        }
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Asks until the first answer with status 200, and returns the time since the start.
    pub(crate) fn first_answer(&self, path: &str) -> Duration {
        self.once(|| {
            get(self.address, path).is_some_and(|answer| answer.starts_with("HTTP/1.1 200"))
        })
    }

    /// Waits until it is so, and returns the time since the start.
    pub(crate) fn once(&self, is_so: impl Fn() -> bool) -> Duration {
        let give_up = Duration::from_secs(60);
        while self.started.elapsed() < give_up {
            if is_so() {
                return self.started.elapsed();
            }
            std::thread::yield_now();
        }
        panic!("{} does not answer within {give_up:?}", self.address);
    }

    /// Resident memory in KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        cpu::resident_kib(self.child.id())
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// One GET on a connection of its own.
pub(crate) fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// One POST of JSON on a connection of its own, which must create something.
pub(crate) fn create(address: SocketAddr, path: &str, body: &str) {
    let mut stream = TcpStream::connect(address).expect("the server runs");
    let len = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {len}\r\n\r\n{body}"
    )
    .expect("a short request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

/// Runs a command of the binary that was built beside this one, and returns what it prints.
pub(crate) fn command(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(binary()).args(arguments).output();
    let output = output.expect("build it first: cargo build --release");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output.stdout
}

fn binary() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    own.with_file_name("leafid")
}
