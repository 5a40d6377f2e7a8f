//! Ten thousand idle connections beside the load, and the same without them; memory of each.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::contest::{self, Slice, as_f64, yes_or_no};
use crate::cpu;
use crate::load::{Load, Speech as _};
use crate::median;

use super::Settings;
use super::http::{CONNECTIONS, Leafid, PATH, ids};
use super::open_loop::{RATE, at_rate};

const IDLE: usize = 10_000;
const RATIO_MAX: f64 = 1.2;

pub(super) fn run(settings: &Settings) {
    let (without, with) = (Leafid::start(&[]), Leafid::start(&[]));
    let mut to_without = Load::connect(without.serve.address, CONNECTIONS, ids());
    let mut to_with = Load::connect(with.serve.address, CONNECTIONS, ids());
    let before = cpu::resident_kib(with.serve.process());
    let idle = Idle::open(with.serve.address);
    let after = cpu::resident_kib(with.serve.process());
    let open = idle.connections.len();
    let cases = vec![
        at_rate("without", without.serve.process(), &mut to_without),
        at_rate("with", with.serve.process(), &mut to_with),
    ];
    // Short: the server closes what is silent for a minute.
    let length = settings.length(10, Duration::from_secs(2));
    let outcome = contest::run(cases, length);
    let closed = idle.count_closed();
    println!("{RATE} requests/s on {CONNECTIONS} connections, waits from when each was due\n");
    println!("| | p50 us | p99 us | p99.9 us | server CPU us a request |");
    println!("|{}", " --- |".repeat(5));
    for (name, slices) in &outcome.servers {
        let of = |figure: &dyn Fn(&Slice) -> f64| median(slices.iter().map(figure).collect());
        println!(
            "| {name} idle connections | {:.1} | {:.1} | {:.1} | {:.2} |",
            of(&|slice| slice.wait_us(0.5)),
            of(&|slice| slice.wait_us(0.99)),
            of(&|slice| slice.wait_us(0.999)),
            of(&Slice::cpu_us),
        );
    }
    let ratio = |quantile: f64| outcome.ratio(1, move |slice| slice.wait_us(quantile));
    println!(
        "| beside, median of the rounds | {:.2} | {:.2} | {:.2} | {:.2} |",
        ratio(0.5),
        ratio(0.99),
        ratio(0.999),
        outcome.ratio(1, Slice::cpu_us),
    );
    println!(
        "\np99 must be <= {RATIO_MAX}: {}; idle connections open: {open} of {IDLE}, closed \
         meanwhile: {closed}; resident memory {before} KiB without, {after} KiB with: {:.2} KiB \
         a connection; errors: {}",
        yes_or_no(ratio(0.99) <= RATIO_MAX),
        as_f64(after.saturating_sub(before)) / as_f64(open as u64),
        to_with.speech().expected().failures() + to_without.speech().expected().failures(),
    );
    outcome.print_noise("idle");
}

/// Connections that have each had one answer and ask no more.
struct Idle {
    connections: Vec<TcpStream>,
}

impl Idle {
    /// Opens as many as the server takes.
    fn open(address: SocketAddr) -> Self {
        let connections = (0..IDLE).map_while(|_| asked_once(address));
        Self {
            connections: connections.collect(),
        }
    }

    fn count_closed(&self) -> usize {
        let is_closed = |connection: &&TcpStream| {
            let mut byte = [0];
            let read = connection.set_nonblocking(true);
            read.and_then(|()| {
                let mut stream: &TcpStream = connection;
                stream.read(&mut byte)
            })
            .is_ok()
        };
        self.connections.iter().filter(is_closed).count()
    }
}

/// A connection that had an id; `None`: the server refused.
fn asked_once(address: SocketAddr) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = [0; 512];
    let len = stream.read(&mut answer).ok()?;
    answer[..len].starts_with(b"HTTP/1.1 200").then_some(stream)
}
