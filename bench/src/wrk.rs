//! wrk as load.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use crate::cpu;
use crate::load::Tally;

/// Runs wrk with one thread for so long, in whole seconds and at least one.
pub(crate) fn run(address: SocketAddr, path: &str, connections: usize, time: Duration) -> Tally {
    let seconds = time.as_secs().max(1);
    let cpu = cpu::of_ended_children();
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s")])
        .args(["--latency", &format!("http://{address}{path}")])
        .output()
        .expect("install wrk");
    let text = String::from_utf8_lossy(&output.stdout);
    for trouble in ["Non-2xx", "Socket errors"] {
        assert!(!text.contains(trouble), "{text}");
    }
    let mut tally = Tally::new();
    (tally.answers, tally.wall) = totals(&text).unwrap_or_else(|| panic!("wrk says: {text}"));
    tally.load_cpu = cpu::of_ended_children().saturating_sub(cpu);
    // wrk says quantiles, not every wait: each stands for its share.
    for (quantile, weight) in [("50%", 98), ("99%", 2)] {
        let wait = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(quantile));
        let ns = wait.and_then(duration).unwrap_or_default().as_nanos();
        tally
            .waits_ns
            .saturating_record_n(u64::try_from(ns).unwrap_or(u64::MAX), weight);
    }
    tally
}

/// From "  185432 requests in 1.00s, 30.1MB read".
fn totals(text: &str) -> Option<(u64, Duration)> {
    let line = text.lines().find(|line| line.contains(" requests in "))?;
    let (requests, rest) = line.trim().split_once(" requests in ")?;
    let (time, _) = rest.split_once(',')?;
    Some((requests.parse().ok()?, duration(time)?))
}

/// From "169.00us", "1.5ms", "1.00s" or "1.00m".
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(char::is_alphabetic)?);
    let seconds: f64 = number.parse().ok()?;
    let unit = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    Some(Duration::from_secs_f64(seconds * unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_words_are_understood() {
        let text = "  Latency Distribution\n  50%  169.00us\n  185432 requests in 1.50s, 30MB read";
        let totals = totals(text);
        assert_eq!(totals, Some((185_432, Duration::from_millis(1500))));
        assert_eq!(duration(" 2.50ms"), Some(Duration::from_micros(2500)));
        assert_eq!(duration("2.50"), None);
    }
}
