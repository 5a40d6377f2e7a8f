//! Runs the binary: once for an answer, or as a server. All output is searched for the tests'
//! password.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use leafid::{Clock, SystemClock};
use serde_json::Value;
use ureq::tls::TlsConfig;

/// How every password of the tests begins, also percent-encoded.
pub(crate) const SECRET: &str = "s3cret";

/// The binary, in a folder, with no settings from outside.
pub(crate) fn command<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leafid"));
    command.args(arguments).current_dir(folder);
    for (name, _) in std::env::vars_os() {
        // What systemd and OpenTelemetry say to the program that runs the tests is not for their
        // servers.
        let of_others = ["NOTIFY_SOCKET", "WATCHDOG_", "LISTEN_", "OTEL_"];
        let name_text = name.to_string_lossy();
        if name_text.starts_with("LEAFID_")
            || of_others.iter().any(|start| name_text.starts_with(start))
        {
            command.env_remove(name);
        }
    }
    // The front ends beside HTTP on free ports too, so that servers of tests do not meet.
    if arguments
        .first()
        .is_some_and(|first| first.as_ref() == "serve")
    {
        command.env("LEAFID_RESP", "127.0.0.1:0");
        command.env("LEAFID_GRPC", "127.0.0.1:0");
    }
    command.stdin(Stdio::null());
    command
}

/// The result of a run of the binary.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) errors: String,
}

/// Runs the binary to its end.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Run {
    finish(&mut command(folder, arguments))
}

pub(crate) fn finish(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    let run = Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        errors: String::from_utf8(output.stderr).unwrap(),
    };
    check_secrecy(&run.out);
    check_secrecy(&run.errors);
    run
}

fn check_secrecy(text: &str) {
    assert!(!text.contains(SECRET), "a password was printed: {text}");
}

impl Run {
    /// The output of a run that must succeed.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// A run that succeeds and prints one such note.
    pub(crate) fn check_note(&self, note: &str) {
        let is_note = |line: &&str| line.starts_with("note: ") && line.contains(note);
        let count = self.errors.lines().filter(is_note).count();
        assert_eq!((self.code, count), (0, 1), "{self:?}");
    }

    /// A run whose command line must be refused.
    pub(crate) fn check_usage(&self) {
        assert_eq!(self.code, 2, "{self:?}");
        assert!(self.errors.contains("--help"), "{self:?}");
    }

    /// A run that must fail with this exit code, and print both of these.
    pub(crate) fn check_failed(&self, code: i32, error: &str, next: &str) {
        assert_eq!(self.code, code, "{self:?}");
        let line = |start: &str, part: &str| {
            let mut lines = self.errors.lines();
            lines.any(|line| line.starts_with(start) && line.contains(part))
        };
        assert!(line("error: ", error), "{self:?}");
        assert!(line("next: ", next), "{self:?}");
    }
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    /// Kept open, so that the server can write to it.
    _out: BufReader<ChildStdout>,
    pub(crate) greeting: String,
    pub(crate) url: String,
    log: PathBuf,
    agent: ureq::Agent,
}

impl Server {
    /// Starts on a free port and waits until it is ready.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, &[])
    }

    /// As [`start`](Self::start), with variables in its environment.
    pub(crate) fn start_with(
        folder: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = command(folder, &["serve", "--http", "127.0.0.1:0"]);
        command.args(arguments).envs(variables.iter().copied());
        let server = Self::launch(command, folder);
        server.wait_until_ready();
        server
    }

    /// As [`start`](Self::start), at the address in the arguments.
    pub(crate) fn start_at(folder: &Path, arguments: &[&str]) -> Self {
        let command = command(folder, &[&["serve"], arguments].concat());
        let server = Self::launch(command, folder);
        server.wait_until_ready();
        server
    }

    /// Started by a shell that first runs `ulimit` with these words.
    pub(crate) fn start_limited(folder: &Path, limit: &str, arguments: &[&str]) -> Self {
        let limited = format!("ulimit {limit}; exec \"$0\" \"$@\"");
        let arguments = [&["serve", "--http", "127.0.0.1:0"], arguments].concat();
        let program = command(folder, &arguments);
        let mut shell = Command::new("sh");
        shell.args(["-c", &limited]).arg(program.get_program());
        shell.args(program.get_args()).current_dir(folder);
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let server = Self::launch(shell, folder);
        server.wait_until_ready();
        server
    }

    /// As [`start`](Self::start), without waiting until it is ready.
    pub(crate) fn start_unready(folder: &Path, arguments: &[&str]) -> Self {
        Self::spawn(folder, arguments, |_| ())
    }

    /// As [`start_unready`](Self::start_unready); `prepare` can change the command.
    pub(crate) fn spawn(
        folder: &Path,
        arguments: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = command(folder, &["serve", "--http", "127.0.0.1:0"]);
        prepare(command.args(arguments));
        Self::launch(command, folder)
    }

    /// As [`start`](Self::start), with the log going elsewhere.
    pub(crate) fn start_logging_to(folder: &Path, log: impl Into<Stdio>) -> Self {
        let mut command = command(
            folder,
            &["serve", "--http", "127.0.0.1:0", "--log", "debug"],
        );
        let server = Self::launch_logging(&mut command, folder, Some(log.into()));
        server.wait_until_ready();
        server
    }

    /// Starts a command and waits for its greeting.
    pub(crate) fn launch(mut command: Command, folder: &Path) -> Self {
        Self::launch_logging(&mut command, folder, None)
    }

    fn launch_logging(command: &mut Command, folder: &Path, elsewhere: Option<Stdio>) -> Self {
        let (_, log) = tempfile::NamedTempFile::new_in(folder)
            .unwrap()
            .keep()
            .unwrap();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(elsewhere.unwrap_or_else(|| File::create(&log).unwrap().into()))
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        // The last of the suggested commands.
        while !greeting.contains("/readyz") {
            let len = out.read_line(&mut greeting).unwrap();
            let errors = || std::fs::read_to_string(&log).unwrap();
            assert!(len > 0, "no greeting: {greeting}{}", errors());
        }
        check_secrecy(&greeting);
        let url = greeting
            .split_whitespace()
            .find(|word| word.starts_with("http://") || word.starts_with("https://"));
        let url = url.unwrap().trim_end_matches(',').to_owned();
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // Certificates have tests of their own.
            .tls_config(TlsConfig::builder().disable_verification(true).build())
            .build();
        Self {
            child,
            _out: out,
            url,
            greeting,
            log,
            agent: agent.into(),
        }
    }

    pub(crate) fn wait_until_ready(&self) {
        for _ in 0..500 {
            if self.get("/readyz").0 == 200 {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("not ready: {}", self.log());
    }

    /// Status and body.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.try_get(path).unwrap()
    }

    pub(crate) fn try_get(&self, path: &str) -> Result<(u16, String), ureq::Error> {
        let mut answer = self.agent.get(format!("{}{path}", self.url)).call()?;
        let body = answer.body_mut().read_to_string()?;
        Ok((answer.status().as_u16(), body))
    }

    /// Status and body, with the secret of a token.
    pub(crate) fn get_as(&self, path: &str, secret: &str) -> (u16, String) {
        let request = self.agent.get(format!("{}{path}", self.url));
        let request = request.header("authorization", format!("Bearer {secret}"));
        let mut answer = request.call().unwrap();
        let body = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), body)
    }

    /// Status and body of a POST without a body.
    pub(crate) fn post(&self, path: &str) -> (u16, String) {
        let url = format!("{}{path}", self.url);
        let post = self.agent.post(url).content_type("application/json");
        let mut answer = post.send_empty().unwrap();
        let body = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), body)
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path).1).unwrap()
    }

    /// The value of a metric, by its name and labels as they are written.
    pub(crate) fn metric(&self, series: &str) -> f64 {
        let (_, text) = self.get("/metrics");
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        let value = value.map(|value| value.parse().unwrap());
        value.unwrap_or_else(|| panic!("no {series}: {text}"))
    }

    pub(crate) fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// The port of a protocol, by how its URLs begin: `http`, `redis` or `grpc`, with TLS or not.
    pub(crate) fn port(&self, scheme: &str) -> u16 {
        let mut words = self.greeting.split_whitespace();
        let url = words.find(|word| word.starts_with(scheme)).unwrap();
        let (_, port) = url.trim_end_matches(',').rsplit_once(':').unwrap();
        port.parse().unwrap()
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// The most memory that it ever held, in KiB.
    pub(crate) fn peak_kib(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap();
        let mut lines = status.lines();
        let peak = lines.find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        check_secrecy(&self.log());
        status
    }

    /// Ends it as a service manager does.
    pub(crate) fn stop(mut self) {
        self.signal("TERM");
        assert_eq!(self.wait().code(), Some(0), "{}", self.log());
    }

    pub(crate) fn kill(mut self) {
        self.signal("KILL");
        self.wait();
    }
}

impl Drop for Server {
    /// Whatever a test is about, no server may panic.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = self.log();
        if !std::thread::panicking() {
            assert!(!log.contains("panicked at"), "{log}");
        }
    }
}

/// How long anything may take before it counts as stuck; far more than it needs.
const WAIT_MAX: Duration = Duration::from_secs(90);

/// Waits until something appears, and panics with its name if it never does.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = SystemClock::new();
    let end = clock.now() + WAIT_MAX;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(clock.now() < end, "no {what} within {WAIT_MAX:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Reads all that comes, up to the end.
pub(crate) fn read_all(mut from: impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

/// The ids in an answer such as `{"ids":["1","2"]}`. Reads digits only, because tests read
/// millions of them.
pub(crate) fn ids(body: &str) -> Vec<u64> {
    let words = body.split('"');
    words
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .map(|word| word.parse().unwrap())
        .collect()
}
