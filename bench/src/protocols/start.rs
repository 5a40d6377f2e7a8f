//! Start to the first durable id with all front ends open, and resident memory when idle, beside
//! redis-server to its first answer.

use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use crate::contest::{as_f64, yes_or_no};
use crate::cpu;
use crate::median;
use crate::peers::redis_server_timed;
use crate::serve::Serve;

use super::Settings;
use super::http::PATH;

const STARTS: usize = 20;
const IDLE: Duration = Duration::from_millis(700);
const START_MAX_MS: f64 = 15.0;

#[derive(Default)]
struct Figures {
    start_ms: Vec<f64>,
    resident_mib: Vec<f64>,
}

impl Figures {
    fn note(&mut self, start: Duration, process: u32) {
        self.start_ms.push(start.as_secs_f64() * 1e3);
        thread::sleep(IDLE);
        self.resident_mib
            .push(as_f64(cpu::resident_kib(process)) / 1024.0);
    }
}

pub(super) fn run(settings: &Settings) {
    let starts = settings.rounds.unwrap_or(STARTS);
    let [mut fresh, mut again, mut redis] = [(); 3].map(|()| Figures::default());
    for _ in 0..starts {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data_dir = folder.path().to_str().expect("a plain path");
        for figures in [&mut fresh, &mut again] {
            let (serve, start) = start_leafid(data_dir);
            figures.note(start, serve.process());
        }
        let (peer, start) = redis_server_timed();
        redis.note(start, peer.process());
    }
    println!(
        "{starts} starts each, alternating; to the first durable id over HTTP with all front ends"
    );
    println!("open, or to the first PONG; resident memory {IDLE:?} after that\n");
    println!("| | median | min | max | must reach | reached |");
    println!("|{}", " --- |".repeat(6));
    let goal = |figures: &[f64], max: f64| {
        (
            format!("<= {max:.1}"),
            yes_or_no(median(figures.to_vec()) <= max),
        )
    };
    let resident_max = median(redis.resident_mib.clone());
    let lines = [
        (
            "leafid, empty folder, ms",
            &fresh.start_ms,
            Some(START_MAX_MS),
        ),
        (
            "leafid, existing database, ms",
            &again.start_ms,
            Some(START_MAX_MS),
        ),
        ("redis-server, ms", &redis.start_ms, None),
        (
            "leafid, resident, MiB",
            &fresh.resident_mib,
            Some(resident_max),
        ),
        ("redis-server, resident, MiB", &redis.resident_mib, None),
    ];
    for (name, figures, max) in lines {
        let (must, reached) = max.map(|max| goal(figures, max)).unwrap_or_default();
        let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let most = figures.iter().copied().fold(0.0, f64::max);
        println!(
            "| {name} | {:.1} | {least:.1} | {most:.1} | {must} | {reached} |",
            median(figures.clone())
        );
    }
}

/// A server that answers on every front end, and the time that took.
fn start_leafid(data_dir: &str) -> (Serve, Duration) {
    let serve = Serve::start_untied(&["--data-dir", data_dir]);
    serve.first_answer(PATH);
    let start = serve.once(|| is_open(serve.resp) && is_open(serve.grpc));
    (serve, start)
}

fn is_open(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok()
}
