//! Guards a rolling restart: two servers behind a balancer, restarted one after the other, lose no
//! request and no connection.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tempfile::tempdir;

use crate::server_process::{Server, until};

/// Longer than the balancer takes to notice, on a machine that is busy with other tests.
const DELAY: &str = "3s";

/// haproxy between a socket in a folder and two servers, which it checks ten times a second.
struct Balancer {
    child: Child,
    socket: PathBuf,
}

impl Balancer {
    fn start(folder: &Path, servers: &[Server; 2]) -> Self {
        let socket = folder.join("haproxy.sock");
        let [a, b] = servers.each_ref().map(Server::address);
        // It retries nothing: the servers have to make sure that nothing is lost.
        let config = format!(
            "global\n  maxconn 1000\n\
             defaults\n  mode http\n  retries 0\n  timeout connect 20s\n  timeout client 60s\n  \
             timeout server 20s\n\
             frontend ids\n  bind unix@{}\n  default_backend servers\n\
             backend servers\n  balance roundrobin\n  option httpchk GET /readyz\n  \
             http-response set-header x-server %s\n  default-server check inter 100ms fall 1 rise 1\n  \
             server a {a}\n  server b {b}\n",
            socket.display()
        );
        let file = folder.join("haproxy.cfg");
        std::fs::write(&file, config).unwrap();
        let program = match Path::new("/usr/sbin/haproxy").exists() {
            true => "/usr/sbin/haproxy",
            false => "haproxy",
        };
        let child = Command::new(program)
            .arg("-db")
            .arg("-f")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("haproxy starts: install the package haproxy");
        let balancer = Self { child, socket };
        for name in ["a", "b"] {
            balancer.wait_for(name);
        }
        balancer
    }

    fn connect(&self) -> Option<UnixStream> {
        UnixStream::connect(&self.socket).ok()
    }

    /// Waits until a server answers through it.
    fn wait_for(&self, name: &str) {
        until(name, || {
            let answer = ask(&mut self.connect()?)?;
            answer.ends_on(name).then_some(())
        });
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer through the balancer.
struct Answer {
    is_ok: bool,
    head: String,
}

impl Answer {
    fn ends_on(&self, server: &str) -> bool {
        self.is_ok && self.head.contains(&format!("x-server: {server}\r\n"))
    }
}

/// Takes an id; `None`: the connection ended instead.
fn ask(stream: &mut UnixStream) -> Option<Answer> {
    let request = b"GET /v1/tags/order/ids HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request).ok()?;
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && (body.ends_with('}') || head.contains("content-length: 0"))
        {
            let is_ok = head.starts_with("HTTP/1.1 200 ");
            let head = format!("{head}\r\n");
            return Some(Answer { is_ok, head });
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) if text.starts_with("HTTP/1.1 ") => {
                let (is_ok, head) = (false, text);
                return Some(Answer { is_ok, head });
            }
            Ok(0) | Err(_) => return None,
            Ok(len) => bytes.extend_from_slice(&chunk[..len]),
        }
    }
}

/// The failures that callers saw.
#[derive(Default)]
struct Met {
    answers: AtomicU64,
    /// Answers other than ids, and connections that ended without one.
    lost: AtomicU64,
    is_over: AtomicBool,
}

impl Met {
    /// Asks over and over, with a new connection after a number of requests.
    fn call(&self, balancer: &Balancer, requests: u32) {
        while !self.is_over.load(Ordering::Relaxed) {
            let Some(mut stream) = balancer.connect() else {
                self.lost.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            for _ in 0..requests {
                let answer = ask(&mut stream);
                let is_ok = answer.as_ref().is_some_and(|answer| answer.is_ok);
                let count = if is_ok { &self.answers } else { &self.lost };
                count.fetch_add(1, Ordering::Relaxed);
                let goes_on =
                    answer.is_some_and(|answer| !answer.head.contains("connection: close"));
                if !goes_on || self.is_over.load(Ordering::Relaxed) {
                    break;
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

#[test]
fn a_rolling_restart_loses_nothing() {
    let folders = [tempdir().unwrap(), tempdir().unwrap()];
    let arguments = ["--shutdown-delay", DELAY];
    let mut servers = folders
        .each_ref()
        .map(|folder| Server::start(folder.path(), &arguments));
    let desk = tempdir().unwrap();
    let balancer = Balancer::start(desk.path(), &servers);
    let met = Met::default();
    thread::scope(|scope| {
        for requests in [1, 1, 1000, 1000] {
            let (met, balancer) = (&met, &balancer);
            scope.spawn(move || met.call(balancer, requests));
        }
        for (place, name) in ["a", "b"].into_iter().enumerate() {
            let address = servers[place].address().to_owned();
            servers[place].signal("TERM");
            assert_eq!(servers[place].wait().code(), Some(0));
            let again = [&["--http", &address], &arguments[..]].concat();
            servers[place] = Server::start_at(folders[place].path(), &again);
            balancer.wait_for(name);
        }
        met.is_over.store(true, Ordering::Relaxed);
    });
    let (answers, lost) = (met.answers.into_inner(), met.lost.into_inner());
    println!("{answers} answers, {lost} lost");
    // Enough to be on the way at every step, even on a busy machine.
    assert!(answers > 100, "{answers} answers");
    assert_eq!(lost, 0, "of {answers}");
}

/// Guards what a server does in between: it is not ready, serves new connections, and asks each
/// with its answer to reconnect.
#[test]
fn while_it_leaves_it_serves() {
    let folder = tempdir().unwrap();
    let mut server = Server::start(folder.path(), &["--shutdown-delay", "10m"]);
    server.signal("TERM");
    until("the end of readiness", || {
        (server.get("/readyz").0 == 503).then_some(())
    });
    for _ in 0..3 {
        let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
        let request = b"GET /v1/tags/order/ids HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request).unwrap();
        let answer = crate::server_process::read_all(stream);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
    }
    // The shutdown must not wait for it.
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(1));
}
