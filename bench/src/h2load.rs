//! h2load as load: unary gRPC calls.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::cpu;
use crate::load::Tally;

/// h2load, and the body of its requests.
pub(crate) struct H2Load {
    folder: TempDir,
}

impl H2Load {
    /// For ids of a tag whose name is one letter.
    pub(crate) fn new(tag: u8) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Not compressed, and the length in four bytes; then a `NextRequest`: field 1, one byte.
        let frame = [0, 0, 0, 0, 3, 0x0a, 1, tag];
        fs::write(folder.path().join("body"), frame).expect("a file in a temporary folder");
        Self { folder }
    }

    /// Calls a method for so long, in whole seconds and at least one.
    pub(crate) fn run(
        &self,
        address: SocketAddr,
        connections: usize,
        in_flight: usize,
        time: Duration,
    ) -> Tally {
        let seconds = time.as_secs().max(1);
        let cpu = cpu::of_ended_children();
        let body = self.folder.path().join("body");
        let output = Command::new("h2load")
            .args(["-t", "1", "-c", &connections.to_string()])
            .args(["-m", &in_flight.to_string(), "-D", &seconds.to_string()])
            .args(["-H", "content-type: application/grpc", "-H", "te: trailers"])
            .arg(format!("--data={}", body.display()))
            .arg(format!("http://{address}/leafid.v1.Ids/Next"))
            .output()
            .expect("install nghttp2-client");
        let text = String::from_utf8_lossy(&output.stdout);
        let said = Said::read(&text).unwrap_or_else(|| panic!("h2load says: {text}"));
        // A call that failed has a status of 200 too, and no message.
        let is_right = said.failed == 0 && said.body_len >= said.succeeded * 7;
        assert!(is_right, "calls failed: {text}");
        let mut tally = Tally::new();
        tally.answers = said.succeeded;
        tally.wall = Duration::from_secs(seconds);
        tally.load_cpu = cpu::of_ended_children().saturating_sub(cpu);
        let ns = u64::try_from(said.mean.as_nanos()).unwrap_or(u64::MAX);
        tally.waits_ns.saturating_record(ns);
        tally
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Said {
    succeeded: u64,
    failed: u64,
    body_len: u64,
    /// All that it says of latencies beside the extremes.
    mean: Duration,
}

impl Said {
    fn read(text: &str) -> Option<Self> {
        let line = |start: &str| text.lines().find_map(|line| line.strip_prefix(start));
        let requests = line("requests: ")?;
        let count = |what: &str| {
            let mut parts = requests.split(", ");
            parts.find_map(|part| part.strip_suffix(what)?.trim().parse().ok())
        };
        let (_, body_len) = line("traffic: ")?
            .strip_suffix(") data")?
            .rsplit_once('(')?;
        let mean = line("time for request: ")?.split_whitespace().nth(2)?;
        Some(Self {
            succeeded: count(" succeeded")?,
            failed: count(" failed")? + count(" errored")? + count(" timeout")?,
            body_len: body_len.parse().ok()?,
            mean: crate::wrk::duration(mean)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_words_are_understood() {
        let text = "\
finished in 1.00s, 149824.00 req/s, 5.74MB/s
requests: 149824 total, 150080 started, 149824 done, 149824 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 149900 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 5.74MB (6018000) total, 1.86MB (1950000) headers (space savings 91.30%), 1.43MB (1498240) data
                     min         max         mean         sd        +/- sd
time for request:      345us      5.21ms      1.63ms       150us    81.00%
";
        let said = Said {
            succeeded: 149_824,
            failed: 0,
            body_len: 1_498_240,
            mean: Duration::from_micros(1630),
        };
        assert_eq!(Said::read(text), Some(said));
    }
}
