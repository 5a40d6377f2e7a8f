//! What `leafid serve` tells systemd (`sd_notify`): that it is ready, reloading or stopping, a
//! status line, and the pings of the watchdog. Without `NOTIFY_SOCKET` nothing here does anything.
//!
//! Ready means what `/readyz` says: the front ends accept connections, the store was reached and
//! checked, and ids can be issued. A server that waits for its store asks for more time to start,
//! again and again, so that systemd does not restart it in vain.
//!
//! A ping says that every thread that serves connections has just taken a turn: a server of which
//! one thread hangs is restarted.
//!
//! The crate sd-notify writes the messages. They are sent here: its `notify` would block a thread
//! that serves connections for as long as nobody reads, and knows no abstract addresses.

use std::env;
use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram as StdUnixDatagram};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leafid_server::{Progress, Server, Service};
use sd_notify::NotifyState;
use tokio::net::UnixDatagram;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::health::reasons;

/// How long a message may wait for systemd to read the ones before it.
const SEND_MAX: Duration = Duration::from_secs(1);
/// How often to look whether the server is ready for the first time.
const START_LOOK: Duration = Duration::from_millis(50);
/// After how many looks a server that is not ready asks for more time, 5 s, and how much it asks
/// for.
const LOOKS_PER_EXTENSION: u32 = 100;
const START_EXTENSION: Duration = Duration::from_secs(30);
/// How often to look whether the status line has changed.
const STATUS_LOOK: Duration = Duration::from_secs(2);
/// What a stop may take beyond the delay and the grace period.
const STOP_SPARE: Duration = Duration::from_secs(10);
/// Pings come no faster, whatever is asked for.
const PING_INTERVAL_MIN: Duration = Duration::from_millis(5);

/// The service manager, if it wants to be told. Clones tell the same one.
#[derive(Clone)]
pub(super) struct Systemd(Option<Arc<Link>>);

struct Link {
    address: SocketAddr,
    told: Mutex<Told>,
    /// Whether a message was lost, which is logged once.
    has_failed: AtomicBool,
}

/// What was told last.
struct Told {
    stage: Stage,
    status: String,
}

/// The stage of the service, as systemd knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not ready yet. Exits: `Ready`, `Stopping`.
    Starting,
    /// Was ready; from now on only the status line says when it is not. Exits: `Reloading`,
    /// `Stopping`.
    Ready,
    /// Reads its files again. Exits: `Ready`, `Stopping`.
    Reloading,
    /// No exit.
    Stopping,
}

impl Systemd {
    /// The one that the environment names.
    pub(super) fn from_environment() -> Self {
        let Some(name) = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Self(None);
        };
        match address(&name) {
            Ok(address) => Self(Some(Arc::new(Link::new(address)))),
            Err(error) => {
                tracing::warn!(
                    %error,
                    "systemd is not told anything: NOTIFY_SOCKET={} cannot be used",
                    name.display()
                );
                Self(None)
            }
        }
    }

    /// Tells from now on how the server does: once that it is ready, `listening` as its status line
    /// then, and pings if systemd wants them.
    pub(super) fn follow(&self, server: &Server, listening: String) {
        let Some(link) = &self.0 else {
            return;
        };
        tokio::spawn(follow(Arc::clone(link), server.service(), listening));
        let wanted = sd_notify::watchdog_enabled().filter(|time| !time.is_zero());
        if let Some(time) = wanted {
            let interval = (time / 2).max(PING_INTERVAL_MIN);
            tokio::spawn(ping(Arc::clone(link), server.progress(), interval));
        }
    }

    /// Reloads, and tells when that begins and ends. Before the server is ready nothing is told:
    /// the end would read as if it were.
    pub(super) async fn around_reload(&self, reload: impl Future<Output = ()>) {
        let link = self
            .0
            .as_ref()
            .filter(|link| link.enter(&[Stage::Ready], Stage::Reloading));
        if let Some(link) = link {
            let mut begun = vec![NotifyState::Reloading];
            // Without the time, systemd from 253 on would ignore the message.
            begun.extend(NotifyState::monotonic_usec_now());
            begun.push(NotifyState::Status("reloading"));
            link.send(&begun).await;
        }
        reload.await;
        if let Some(link) = link
            && link.enter(&[Stage::Reloading], Stage::Ready)
        {
            let status = link.status();
            link.send(&[NotifyState::Ready, NotifyState::Status(&status)])
                .await;
        }
    }

    /// Tells that the server stops, which takes `max` at most.
    pub(super) async fn stopping(&self, max: Duration) {
        let Some(link) = &self.0 else {
            return;
        };
        let before = [Stage::Starting, Stage::Ready, Stage::Reloading];
        if link.enter(&before, Stage::Stopping) {
            let status = NotifyState::Status("stopping: requests in flight are finished");
            let extension = extension(max + STOP_SPARE);
            link.send(&[NotifyState::Stopping, status, extension]).await;
        }
    }
}

impl Link {
    fn new(address: SocketAddr) -> Self {
        let told = Told {
            stage: Stage::Starting,
            status: String::new(),
        };
        Self {
            address,
            told: Mutex::new(told),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Goes from one of these stages to the next; returns whether it was in one of them.
    fn enter(&self, from: &[Stage], next: Stage) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = from.contains(&told.stage);
        if is_left {
            told.stage = next;
        }
        is_left
    }

    fn stage(&self) -> Stage {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.stage
    }

    fn status(&self) -> String {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.status.clone()
    }

    /// Keeps the status line; returns whether it is another one than before.
    fn keep_status(&self, status: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = told.status != status;
        if is_new {
            status.clone_into(&mut told.status);
        }
        is_new
    }

    /// Sends one message. A server that cannot tell systemd anything serves all the same.
    async fn send(&self, states: &[NotifyState<'_>]) {
        let lines: String = states.iter().map(|state| format!("{state}\n")).collect();
        let Err(error) = self.try_send(&lines).await else {
            return;
        };
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "cannot tell systemd the state of the server");
        }
    }

    /// Through a socket of its own, as a manager that was restarted has a new one at the address.
    async fn try_send(&self, lines: &str) -> io::Result<()> {
        let socket = StdUnixDatagram::unbound()?;
        socket.connect_addr(&self.address)?;
        socket.set_nonblocking(true)?;
        let socket = UnixDatagram::from_std(socket)?;
        timeout(SEND_MAX, socket.send(lines.as_bytes())).await??;
        Ok(())
    }
}

/// Tells once that the server is ready, and the status line whenever it changes.
async fn follow(link: Arc<Link>, service: Arc<Service>, listening: String) {
    let mut looks: u32 = 0;
    loop {
        let readiness = service.health().readiness();
        let is_ready = readiness.is_ready();
        let status = if is_ready {
            listening.clone()
        } else {
            reasons(&readiness.to_string())
        };
        let line = NotifyState::Status(&status);
        let is_starting = link.stage() == Stage::Starting;
        if is_starting && is_ready {
            link.keep_status(&status);
            if link.enter(&[Stage::Starting], Stage::Ready) {
                link.send(&[NotifyState::Ready, line]).await;
            }
        } else if is_starting && looks.is_multiple_of(LOOKS_PER_EXTENSION) {
            link.send(&[line, extension(START_EXTENSION)]).await;
        } else if link.stage() == Stage::Ready && link.keep_status(&status) {
            link.send(&[line]).await;
        }
        looks = looks.wrapping_add(1);
        sleep(if is_starting { START_LOOK } else { STATUS_LOOK }).await;
    }
}

/// Pings for as long as every thread that serves connections makes progress.
async fn ping(link: Arc<Link>, progress: Progress, every: Duration) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        progress.of_all_threads().await;
        link.send(&[NotifyState::Watchdog]).await;
    }
}

/// Asks for more time than the unit allows.
fn extension(time: Duration) -> NotifyState<'static> {
    NotifyState::ExtendTimeoutUsec(u32::try_from(time.as_micros()).unwrap_or(u32::MAX))
}

/// A path, or behind an `@` an abstract name.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'/', ..] => SocketAddr::from_pathname(name),
        [b'@', rest @ ..] => abstract_address(rest),
        _ => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "it is neither a path nor an abstract name",
        )),
    }
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &[u8]) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    SocketAddr::from_abstract_name(name)
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_: &[u8]) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}
