//! Guards what systemd is told (`sd_notify`), with a socket of the test in its place.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use leafid::{Clock, SystemClock};
use leafid_testbed::{Proxy, shared_mariadb};
use tempfile::tempdir;

use crate::server_process::{Server, until};

/// The socket to which servers send their messages.
struct Systemd {
    socket: UnixDatagram,
    name: String,
}

/// Longer than any message may take.
const PATIENCE: Duration = Duration::from_secs(60);

impl Systemd {
    fn new(folder: &Path) -> Self {
        let path = folder.join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let name = path.to_str().unwrap().to_owned();
        Self { socket, name }
    }

    /// Starts a server that knows of it; `variables` are more of its environment.
    fn start(&self, folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Server {
        Server::spawn(folder, arguments, |command| {
            command.env("NOTIFY_SOCKET", &self.name);
            command.envs(variables.iter().copied());
        })
    }

    /// The next message within that time.
    fn message_within(&self, time: Duration) -> Option<String> {
        self.socket.set_read_timeout(Some(time)).unwrap();
        let mut buffer = [0; 4096];
        let len = self.socket.recv(&mut buffer).ok()?;
        Some(String::from_utf8(buffer[..len].to_vec()).unwrap())
    }

    /// The next message with this line; those before it are returned too.
    fn until(&self, line: &str) -> (Vec<String>, String) {
        let mut before = Vec::new();
        loop {
            let message = self.message_within(PATIENCE);
            let message = message.unwrap_or_else(|| panic!("no {line} after {before:?}"));
            if message.lines().any(|found| found == line) {
                return (before, message);
            }
            before.push(message);
        }
    }
}

fn value<'a>(message: &'a str, name: &str) -> &'a str {
    let mut lines = message.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name} in {message}"))
}

#[test]
fn a_server_tells_that_it_is_ready_reloading_and_stopping() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("access.toml"), "").unwrap();
    let systemd = Systemd::new(folder.path());
    let access = ["--access-file", "access.toml"];
    let mut server = systemd.start(folder.path(), &access, &[]);
    let (_, ready) = systemd.until("READY=1");
    assert_eq!(server.get("/readyz").0, 200);
    let status = value(&ready, "STATUS");
    assert!(
        status.contains(&format!("listens on {}", server.url)),
        "{ready}"
    );

    let before_us = monotonic_us();
    server.signal("HUP");
    let (between, reloading) = systemd.until("RELOADING=1");
    assert!(!between.concat().contains("READY"), "{between:?}");
    let at_us: u64 = value(&reloading, "MONOTONIC_USEC").parse().unwrap();
    assert!((before_us..=monotonic_us()).contains(&at_us), "{reloading}");
    let (_, reloaded) = systemd.until("READY=1");
    assert_eq!(value(&reloaded, "STATUS"), status);
    assert!(server.log().contains("reloaded the access file"));

    server.signal("TERM");
    let (between, stopping) = systemd.until("STOPPING=1");
    assert!(between.is_empty(), "{between:?}");
    assert!(
        value(&stopping, "STATUS").starts_with("stopping"),
        "{stopping}"
    );
    assert_eq!(server.wait().code(), Some(0), "{}", server.log());
    let later = systemd.message_within(Duration::from_millis(1));
    assert_eq!(later, None, "a stopping server is not ready again");
    assert!(!server.log().contains("serve::systemd"));
}

/// The clock of `MONOTONIC_USEC`, which std reads too, but does not show.
fn monotonic_us() -> u64 {
    let uptime = leafid_testbed::run(Command::new("python3").args([
        "-c",
        "import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)",
    ]));
    uptime.parse().unwrap()
}

/// Guards that units that need ids are not started too early, and that a server that waits for its
/// store is not restarted for it.
#[test]
fn a_server_that_waits_for_its_store_asks_for_time() {
    let folder = tempdir().unwrap();
    let systemd = Systemd::new(folder.path());
    let database = shared_mariadb().create_database();
    let init = ["store", "init", "--store", &database.url];
    crate::server_process::run(folder.path(), &init).ok();
    let proxy = Proxy::new(shared_mariadb().port());
    proxy.refuse();
    let url = shared_mariadb().url_at(proxy.port(), &database.name);
    let server = systemd.start(folder.path(), &["--store", &url], &[]);
    // A reload now must not read as ready.
    server.signal("HUP");
    for _ in 0..2 {
        let message = systemd.message_within(PATIENCE).unwrap();
        assert!(
            value(&message, "STATUS").starts_with("not ready: "),
            "{message}"
        );
        assert_eq!(value(&message, "EXTEND_TIMEOUT_USEC"), "30000000");
        assert!(
            !message.contains("READY") && !message.contains("RELOAD"),
            "{message}"
        );
    }
    proxy.pass();
    systemd.until("READY=1");
    assert_eq!(server.get("/readyz").0, 200);
    server.stop();
}

#[test]
fn the_watchdog_is_pinged_while_every_thread_makes_progress() {
    let folder = tempdir().unwrap();
    let systemd = Systemd::new(folder.path());
    let watchdog = [("WATCHDOG_USEC", "400000")];
    let server = systemd.start(folder.path(), &["--threads=2"], &watchdog);
    let clock = SystemClock::new();
    systemd.until("WATCHDOG=1");
    let first = clock.now();
    for _ in 0..5 {
        systemd.until("WATCHDOG=1");
    }
    let five = clock.now().saturating_sub(first);
    assert!(five >= Duration::from_millis(800), "{five:?}");
    assert!(five < PATIENCE / 5, "{five:?}");

    // The thread that only serves connections hangs, not the one that pings.
    let tracer = Tracer::hold_up(server.id(), "core-1");
    let quiet = Duration::from_secs(2);
    until("silence of the watchdog", || {
        // Pings that were on their way come first.
        systemd.message_within(quiet).is_none().then_some(())
    });
    assert_eq!(server.get("/livez").0, 200, "the other thread serves");
    drop(tracer);
    systemd.until("WATCHDOG=1");
    server.stop();
}

/// strace, which holds up each wait for events of one thread.
struct Tracer(Child);

impl Tracer {
    fn hold_up(process: u32, thread: &str) -> Self {
        let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
        let mut tasks = tasks.map(|task| task.unwrap().path());
        let is_it = |task: &std::path::PathBuf| {
            fs::read_to_string(task.join("comm")).unwrap().trim() == thread
        };
        let task = tasks.find(is_it).unwrap();
        let id = task.file_name().unwrap().to_str().unwrap();
        let inject = "inject=epoll_wait:delay_exit=600000000";
        let traced = Command::new("strace")
            .args(["-q", "-e", "trace=epoll_wait", "-e", inject, "-p", id])
            .stderr(Stdio::null())
            .spawn();
        Self(traced.unwrap())
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_watchdog_of_another_process_is_not_pinged() {
    let folder = tempdir().unwrap();
    let systemd = Systemd::new(folder.path());
    let watchdog = [("WATCHDOG_USEC", "20000"), ("WATCHDOG_PID", "1")];
    let mut server = systemd.start(folder.path(), &[], &watchdog);
    let (before, _) = systemd.until("READY=1");
    assert!(!before.concat().contains("WATCHDOG"), "{before:?}");
    server.signal("TERM");
    let (before, _) = systemd.until("STOPPING=1");
    assert!(!before.concat().contains("WATCHDOG"), "{before:?}");
    server.wait();
}

#[test]
fn the_socket_may_have_an_abstract_name() {
    let folder = tempdir().unwrap();
    let name = folder.path().to_str().unwrap();
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let systemd = Systemd {
        socket: UnixDatagram::bind_addr(&address).unwrap(),
        name: format!("@{name}"),
    };
    let server = systemd.start(folder.path(), &[], &[]);
    systemd.until("READY=1");
    server.stop();
}

#[test]
fn a_socket_that_cannot_be_used_stops_no_server() {
    let folder = tempdir().unwrap();
    for (name, why) in [
        ("vsock:2:1", "systemd is not told anything"),
        ("/nowhere/notify", "cannot tell systemd"),
    ] {
        let server = Server::spawn(folder.path(), &[], |command| {
            command.env("NOTIFY_SOCKET", name);
        });
        server.wait_until_ready();
        let log = until("the warning", || {
            let log = server.log();
            log.contains(why).then_some(log)
        });
        assert_eq!(log.matches("serve::systemd").count(), 1, "{log}");
        server.stop();
    }
}

/// Guards that serving does not stop with systemd: it does not read, and its socket is full.
#[test]
fn a_systemd_that_does_not_read_stops_no_server() {
    let folder = tempdir().unwrap();
    let systemd = Systemd::new(folder.path());
    let filling = UnixDatagram::unbound().unwrap();
    filling.set_nonblocking(true).unwrap();
    while filling.send_to(b"STATUS=full", &systemd.name).is_ok() {}
    let watchdog = [("WATCHDOG_USEC", "20000")];
    let server = systemd.start(folder.path(), &["--threads=1"], &watchdog);
    server.wait_until_ready();
    let id = server.get("/api/segment/get/order");
    assert_eq!(id, (200, "1".to_owned()));
    server.stop();
}
