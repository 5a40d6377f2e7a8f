//! Guards processes: servers end with the process that started them, and a clock steps for a child
//! alone.
//! child alone.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use leafid_testbed::FakeClock;

/// The command of the testbed as a child process.
struct Bed {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Bed {
    fn start(word: &str, prepare: impl Fn(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leafid-testbed"));
        command
            .arg(word)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        prepare(&mut command);
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Asks for the clocks: wall, boot time and monotonic, in milliseconds.
    fn clocks(&mut self) -> [i64; 3] {
        self.input.write_all(b"\n").unwrap();
        let line = self.read_line();
        let numbers: Vec<i64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// Kills the process that started a server, and waits until the server is gone too.
fn check_dies_with_its_parent(word: &str) {
    let mut bed = Bed::start(word, |_| ());
    let url = bed.read_line();
    let (_, address) = url.rsplit_once("127.0.0.1:").unwrap();
    let port: u16 = address.split('/').next().unwrap().parse().unwrap();
    assert!(listens(port), "{url}");
    bed.child.kill().unwrap();
    bed.child.wait().unwrap();
    // The kernel ends the server asynchronously.
    let is_gone = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        !listens(port)
    });
    assert!(is_gone, "{url} outlives the process that started it");
}

#[test]
fn servers_of_keys_die_with_their_parent() {
    for word in ["redis", "etcd", "zookeeper"] {
        check_dies_with_its_parent(word);
    }
}

#[test]
fn databases_die_with_their_parent() {
    for word in ["mariadb", "postgres"] {
        check_dies_with_its_parent(word);
    }
}

/// Guards that a step reaches the wall clock of a running child at once, and no other clock.
#[test]
fn a_clock_steps_for_a_running_child() {
    const MINUTE_MS: i64 = 60_000;
    let clock = FakeClock::new();
    let mut bed = Bed::start("clocks", |command| clock.apply(command));
    let mut before = bed.clocks();
    let mut offset_ms = 0;
    // Back, further back, far ahead, and right again.
    for next_ms in [-3_600_000, -7_200_500, 86_400_000, 0] {
        clock.offset(f64::from(next_ms) / 1000.0);
        let after = bed.clocks();
        let [wall, boot, monotonic] = [0, 1, 2].map(|i| after[i] - before[i]);
        let real = 0..MINUTE_MS;
        assert!(real.contains(&boot), "{before:?} {after:?}");
        assert!(real.contains(&monotonic), "{before:?} {after:?}");
        let step = i64::from(next_ms - offset_ms);
        assert!(real.contains(&(wall - step)), "{before:?} {after:?}");
        (before, offset_ms) = (after, next_ms);
    }
    let left_over = format!("/dev/shm/faketime_shm_{}", bed.child.id());
    assert!(
        Path::new(&left_over).exists(),
        "libfaketime has another place"
    );
    drop(bed);
    drop(clock);
    assert!(!Path::new(&left_over).exists(), "{left_over} stays");
}

/// Guards that a child sees the offset from its first moment, and that children of another clock
/// do not.
#[test]
fn every_clock_is_its_own() {
    let [right, wrong] = [FakeClock::new(), FakeClock::new()];
    wrong.offset(-1e9);
    let wall = |clock: &FakeClock| Bed::start("clocks", |command| clock.apply(command)).clocks()[0];
    let apart = wall(&right) - wall(&wrong);
    assert!(
        (999_940_000_000..=1_000_000_000_000).contains(&apart),
        "{apart}"
    );
}
