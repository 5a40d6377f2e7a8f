//! redis-benchmark as load.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use crate::contest::as_f64;
use crate::cpu;
use crate::load::Tally;

const CONNECTIONS: &str = "50";
/// Requests of the first run, before the rate is known.
const REQUESTS_FIRST: u64 = 100_000;

/// redis-benchmark against one server. It takes a number of requests and no time, so each run
/// is as long as the rate of the last one says.
pub(crate) struct RedisBenchmark {
    address: SocketAddr,
    pipelined: usize,
    requests: u64,
}

impl RedisBenchmark {
    pub(crate) fn new(address: SocketAddr, pipelined: usize) -> Self {
        Self {
            address,
            pipelined,
            requests: REQUESTS_FIRST * pipelined as u64 / 2,
        }
    }

    /// Sends `INCR t`, for about so long.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is a positive number of some millions"
    )]
    pub(crate) fn run(&mut self, time: Duration) -> Tally {
        let cpu = cpu::of_ended_children();
        let output = Command::new("redis-benchmark")
            .args(["-h", "127.0.0.1", "-p", &self.address.port().to_string()])
            .args(["-c", CONNECTIONS, "-P", &self.pipelined.to_string()])
            .args(["-n", &self.requests.to_string(), "--csv", "INCR", "t"])
            .output()
            .expect("install redis-tools");
        let text = String::from_utf8_lossy(&output.stdout);
        let figures = figures(&text).unwrap_or_else(|| {
            let errors = String::from_utf8_lossy(&output.stderr);
            panic!("redis-benchmark says: {text}{errors}")
        });
        let mut tally = Tally::new();
        tally.answers = self.requests;
        tally.wall = Duration::from_secs_f64(as_f64(self.requests) / figures.per_second);
        tally.load_cpu = cpu::of_ended_children().saturating_sub(cpu);
        // It says quantiles, not every wait: each stands for its share.
        for (wait_ms, weight) in [(figures.p50_ms, 98), (figures.p99_ms, 2)] {
            let ns = (wait_ms * 1e6) as u64;
            tally.waits_ns.saturating_record_n(ns, weight);
        }
        self.requests = ((figures.per_second * time.as_secs_f64()) as u64).max(REQUESTS_FIRST);
        tally
    }
}

struct Figures {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
}

/// From a line of names and a line of figures, each between quotes: test, rps, and latencies in
/// milliseconds: average, least, p50, p95, p99, most.
fn figures(text: &str) -> Option<Figures> {
    let line = text.lines().find(|line| line.starts_with("\"INCR"))?;
    let mut fields = line.split(',').map(|field| field.trim_matches('"'));
    let mut field = |skipped: usize| fields.nth(skipped)?.parse().ok();
    Some(Figures {
        per_second: field(1)?,
        p50_ms: field(2)?,
        p99_ms: field(1)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_words_are_understood() {
        let text = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\
                    \"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n\
                    \"INCR t\",\"121017.50\",\"0.2\",\"0.1\",\"0.215\",\"0.4\",\"0.495\",\"9.0\"\n";
        let figures = figures(text).unwrap();
        let all = [figures.per_second, figures.p50_ms, figures.p99_ms];
        assert_eq!(all, [121_017.5, 0.215, 0.495]);
    }
}
