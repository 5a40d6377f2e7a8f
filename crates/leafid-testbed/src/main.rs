//! Starts a server by hand: `leafid-testbed redis` prints where it is, and ends it when standard
//! input ends. `leafid-testbed clocks` prints what the clocks show, for each line it reads.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command talks to who called it"
)]

use std::io::{self, BufRead, Read};
use std::process::ExitCode;

use leafid::{Clock, SystemClock};
use leafid_testbed::{Etcd, MariaDb, Postgres, Redis, ZooKeeper};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("mariadb") => hold(MariaDb::start(), |server| server.create_database().url),
        Some("postgres") => hold(Postgres::start(), |server| server.create_database().url),
        Some("redis") => hold(Redis::start(), Redis::url),
        Some("etcd") => hold(Etcd::start(), Etcd::url),
        Some("zookeeper") => hold(ZooKeeper::start(), ZooKeeper::url),
        Some("clocks") => show_clocks(),
        _ => {
            eprintln!("usage: leafid-testbed mariadb|postgres|redis|etcd|zookeeper|clocks");
            ExitCode::from(2)
        }
    }
}

fn hold<S>(server: S, url: impl Fn(&S) -> String) -> ExitCode {
    println!("{}", url(&server));
    // Whatever comes, even an error, is the end of it.
    let _ = io::stdin().read_to_end(&mut Vec::new());
    drop(server);
    ExitCode::SUCCESS
}

/// The wall clock, and how long this process runs by `CLOCK_BOOTTIME` and by `CLOCK_MONOTONIC`:
/// three numbers of milliseconds.
#[expect(
    clippy::disallowed_methods,
    reason = "what the machine's clock shows is the question here"
)]
fn show_clocks() -> ExitCode {
    let clock = SystemClock::new();
    let monotonic = std::time::Instant::now();
    for _ in io::stdin().lock().lines() {
        let [wall, boot] = [clock.wall(), clock.now()].map(|time| time.as_millis());
        println!("{wall} {boot} {}", monotonic.elapsed().as_millis());
    }
    ExitCode::SUCCESS
}
