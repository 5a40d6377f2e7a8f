//! `Proxy`: a TCP proxy in front of a server that misbehaves on demand.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::child::lock;

/// A TCP proxy on a free port of 127.0.0.1. It passes everything until told otherwise.
///
/// ```no_run
/// let server = leafid_testbed::shared_mariadb();
/// let proxy = leafid_testbed::Proxy::new(server.port());
/// let url = server.url_at(proxy.port(), &server.create_database().name);
/// proxy.cut_next_reply(); // the statement is carried out; nobody hears of it
/// # drop(url);
/// ```
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    mode: Mode,
    /// Ports of 127.0.0.1, which take turns.
    targets: Vec<u16>,
    is_stopped: bool,
    /// Both ends of every connection ever passed on; used to cut them.
    streams: Vec<TcpStream>,
    cuts: u64,
    connections: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Pass,
    Refuse,
    Delay(Duration),
    /// After this many replies that are passed.
    CutReply(u64),
}

impl Proxy {
    /// A proxy in front of that port of 127.0.0.1.
    ///
    /// # Panics
    ///
    /// When no port is free.
    #[must_use]
    pub fn new(target_port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap_or_else(|error| panic!("cannot listen: {error}"));
        let address = listener
            .local_addr()
            .unwrap_or_else(|error| panic!("cannot listen: {error}"));
        let shared = Arc::new(Mutex::new(Shared {
            mode: Mode::Pass,
            targets: vec![target_port],
            is_stopped: false,
            streams: Vec::new(),
            cuts: 0,
            connections: 0,
        }));
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &accepting));
        Self { address, shared }
    }

    /// The port on which the proxy listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Passes everything from now on.
    pub fn pass(&self) {
        lock(&self.shared).mode = Mode::Pass;
    }

    /// New connections go to these ports of 127.0.0.1 in turn, as a balancer does it.
    pub fn lead_to(&self, ports: &[u16]) {
        lock(&self.shared).targets = ports.to_vec();
    }

    /// Delays every reply by that long: a server that is slow or far away.
    pub fn delay(&self, duration: Duration) {
        lock(&self.shared).mode = Mode::Delay(duration);
    }

    /// Cuts all connections; new ones are passed.
    pub fn cut(&self) {
        cut(&mut lock(&self.shared));
    }

    /// Cuts all connections, and new ones at once, until [`pass`](Self::pass).
    pub fn refuse(&self) {
        let mut shared = lock(&self.shared);
        shared.mode = Mode::Refuse;
        cut(&mut shared);
    }

    /// Cuts new connections at once, until [`pass`](Self::pass); existing ones continue.
    pub fn refuse_new(&self) {
        lock(&self.shared).mode = Mode::Refuse;
    }

    /// How many connections were passed on so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        lock(&self.shared).connections
    }

    /// Waits for the next reply of the server, discards it and cuts all connections; then passes
    /// again. The caller cannot know whether its statement was executed; it was.
    pub fn cut_next_reply(&self) {
        self.cut_reply_after(0);
    }

    /// The same, after passing some replies, such as that to a login.
    pub fn cut_reply_after(&self, replies: u64) {
        lock(&self.shared).mode = Mode::CutReply(replies);
    }

    /// How many replies were discarded.
    #[must_use]
    pub fn cut_replies(&self) -> u64 {
        lock(&self.shared).cuts
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        shared.is_stopped = true;
        cut(&mut shared);
        drop(shared);
        // Wakes the thread that accepts, so that it sees the end.
        let _ = TcpStream::connect(self.address);
    }
}

fn cut(shared: &mut Shared) {
    for stream in shared.streams.drain(..) {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Mutex<Shared>>) {
    for client in listener.incoming().flatten() {
        let mut state = lock(shared);
        if state.is_stopped {
            return;
        }
        if state.mode == Mode::Refuse {
            continue;
        }
        state.targets.rotate_left(1);
        let target = state.targets.last().copied().unwrap_or_default();
        let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else {
            continue;
        };
        let _ = client.set_nodelay(true);
        let _ = server.set_nodelay(true);
        let (Ok(client_twin), Ok(server_twin)) = (client.try_clone(), server.try_clone()) else {
            continue;
        };
        state.connections += 1;
        state.streams.extend(client.try_clone());
        state.streams.extend(server.try_clone());
        drop(state);
        thread::spawn(move || pump(client, server, |_| Some(())));
        let replies = Arc::clone(shared);
        thread::spawn(move || pump(server_twin, client_twin, |_| on_reply(&replies)));
    }
}

/// What to do with a reply: `None` cuts.
fn on_reply(shared: &Mutex<Shared>) -> Option<()> {
    let mut state = lock(shared);
    match state.mode {
        Mode::Pass | Mode::Refuse => Some(()),
        Mode::Delay(duration) => {
            drop(state);
            thread::sleep(duration);
            Some(())
        }
        Mode::CutReply(replies @ 1..) => {
            state.mode = Mode::CutReply(replies - 1);
            Some(())
        }
        Mode::CutReply(0) => {
            state.mode = Mode::Pass;
            state.cuts += 1;
            cut(&mut state);
            None
        }
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, decide: impl Fn(&[u8]) -> Option<()>) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        if decide(&buffer[..len]).is_none() || to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
