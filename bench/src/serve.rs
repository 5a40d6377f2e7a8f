//! The real server, started and asked over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running `leafid serve`; killed when dropped.
pub(crate) struct Serve {
    child: Child,
    pub(crate) address: SocketAddr,
    started: Instant,
}

impl Serve {
    /// Starts the binary that was built beside this one, on a free port.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let port = leafid_testbed::free_port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let started = Instant::now();
        let child = Command::new(binary())
            .args(["serve", "--http", &address.to_string()])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("build it first: cargo build --release");
        Self {
            child,
            address,
            started,
        }
    }

    /// Asks until the first answer with status 200, and returns the time since the start.
    pub(crate) fn first_answer(&self, path: &str) -> Duration {
        let give_up = Duration::from_secs(60);
        while self.started.elapsed() < give_up {
            if get(self.address, path).is_some_and(|answer| answer.starts_with("HTTP/1.1 200")) {
                return self.started.elapsed();
            }
            std::thread::yield_now();
        }
        panic!("no answer from {path} within {give_up:?}");
    }

    /// Resident memory in KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::File::open(path).expect("the server runs");
        let lines = BufReader::new(status).lines().map_while(Result::ok);
        lines
            .filter_map(|line| {
                line.strip_prefix("VmRSS:")?
                    .trim()
                    .strip_suffix(" kB")?
                    .parse()
                    .ok()
            })
            .next()
            .expect("Linux says so")
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

fn binary() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    own.with_file_name("leafid")
}
