//! `Library`: a client library of the Redis protocol, and the program in `tests/clients` that uses
//! it, with the steps by which its language is installed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use leafid_testbed::{Clients, entries, go_build, install_python, run};
use serde_json::Value;

/// How long a step may take before the program counts as stuck; far more than it needs.
const WAIT_MAX: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    RedisPy,
    NodeRedis,
    Ioredis,
    GoRedis,
    Jedis,
    Lettuce,
}

impl Library {
    pub(super) const ALL: [Self; 6] = [
        Self::RedisPy,
        Self::NodeRedis,
        Self::Ioredis,
        Self::GoRedis,
        Self::Jedis,
        Self::Lettuce,
    ];

    /// Starts its program with these arguments.
    pub(super) fn start(self, arguments: &[&str]) -> Program {
        let mut words = self.command_line();
        words.extend(arguments.iter().map(|&word| word.to_owned()));
        Program::start(&words)
    }

    fn command_line(self) -> Vec<String> {
        let clients = clients();
        let in_folder = |folder: &Path, name: &str| folder.join(name).to_str().unwrap().to_owned();
        match self {
            Self::RedisPy => {
                let folder = clients.installed("python", &[], install_python);
                let program = in_folder(&clients.source("python"), "redis_py.py");
                vec![in_folder(&folder, "bin/python"), program]
            }
            Self::NodeRedis | Self::Ioredis => {
                let name = if self == Self::NodeRedis {
                    "node_redis.js"
                } else {
                    "ioredis.js"
                };
                let folder = clients.installed("node", &[], install_node);
                vec!["node".to_owned(), in_folder(&folder, name)]
            }
            Self::GoRedis => {
                let folder = clients.installed("go", &[], install_go);
                vec![in_folder(&folder, "clients")]
            }
            Self::Jedis | Self::Lettuce => {
                let folder = clients.installed("java", &[], install_java);
                let classes = in_folder(&folder, "classes");
                let path = format!("{classes}:{}", in_folder(&folder, "jars/*"));
                // The quick compiler is enough for a program that is over in a second.
                let words = ["java", "-XX:TieredStopAtLevel=1", "-cp", &path];
                let mut words: Vec<String> = words.map(str::to_owned).into();
                words.push(format!("{self:?}Program"));
                words
            }
        }
    }
}

/// A running program.
pub(crate) struct Program {
    words: String,
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Program {
    /// Starts a command line.
    pub(crate) fn start(words: &[String]) -> Self {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Self {
            words: words.join(" "),
            input: child.stdin.take().unwrap(),
            lines: lines(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Its output up to this step; the step must come.
    pub(crate) fn read_until(&mut self, step: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        while seen.last().is_none_or(|line: &Value| line["step"] != step) {
            let line = self.line();
            let line = line.unwrap_or_else(|| panic!("{}: no {step} after {seen:?}", self.words));
            seen.push(line);
        }
        seen
    }

    /// Lets it continue.
    pub(crate) fn go_on(&mut self) {
        self.input.write_all(b"\n").unwrap();
        self.input.flush().unwrap();
    }

    /// Its output up to its end, which must be successful.
    pub(crate) fn finish(mut self) -> Vec<Value> {
        let mut seen = Vec::new();
        while let Some(line) = self.line() {
            seen.push(line);
        }
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}: {status} after {seen:?}", self.words);
        seen
    }

    /// The next line; `None` at the end.
    fn line(&mut self) -> Option<Value> {
        let line = match self.lines.recv_timeout(WAIT_MAX) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => panic!("{} is stuck", self.words),
        };
        let parsed = serde_json::from_str(&line);
        Some(parsed.unwrap_or_else(|error| panic!("{error}: {line}")))
    }
}

/// The lines of an output as they arrive, for waiting with a time-out.
fn lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).lines();
        lines
            .map_while(Result::ok)
            .all(|line| sender.send(line).is_ok())
    });
    receiver
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The programs of this crate, installed in cargo's folder for tests.
pub(crate) fn clients() -> Clients {
    Clients::new(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients"),
        concat!(env!("CARGO_TARGET_TMPDIR"), "/clients"),
    )
}

/// Packages are found beside the program that uses them, so it is copied.
pub(crate) fn install_node(source: &Path, folder: &Path) {
    for path in entries(source) {
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--silent", "--ignore-scripts", "--no-audit"]);
    run(npm.current_dir(folder));
}

fn install_go(source: &Path, folder: &Path) {
    let mut go = go_build(source);
    go.arg("-o").arg(folder.join("clients"));
    // Without what only a debugger reads: quicker to build.
    run(go.args(["-ldflags", "-s -w", "."]));
}

fn install_java(source: &Path, folder: &Path) {
    let mut output = "-DoutputDirectory=".to_owned();
    output += folder.join("jars").to_str().unwrap();
    let mut maven = Command::new("mvn");
    maven.args(["--quiet", "--batch-mode", "dependency:copy-dependencies"]);
    run(maven.arg(output).current_dir(source));
    let mut javac = Command::new("javac");
    javac.args(["-Xlint:all", "-Werror", "-cp"]);
    javac.arg(folder.join("jars/*")).arg("-d");
    javac.arg(folder.join("classes"));
    run(javac.args(entries(&source.join("src/main/java"))));
}
