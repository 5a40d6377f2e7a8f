//! `ServerProcess`: one server as a child process that cannot outlive the test.
//!
//! Two things see to that. The kernel kills a server when the thread that started it ends
//! (`setpriv --pdeathsig`), so all are started by one thread that never ends. And a small shell,
//! whose standard input ends with the test process, removes the folder after it.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

pub(crate) const POLL: Duration = Duration::from_millis(20);
pub(crate) const POLLS_MAX: u32 = 1500;

/// An empty database on one of the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    /// Its name.
    pub name: String,
    /// Its URL, with user and password.
    pub url: String,
}

/// A free TCP port.
///
/// # Panics
///
/// When the machine has none.
#[must_use]
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .unwrap_or_else(|error| panic!("cannot find a free port: {error}"))
        .port()
}

/// The user that runs the server program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunAs {
    /// The user that runs the test.
    Caller,
    /// The user `postgres`, for a server that refuses root.
    PostgresUser,
}

/// One server, its folder and its port. All methods take `&self`, so that a static can hold it.
pub(crate) struct ServerProcess {
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
    run_as: RunAs,
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(&'static str, OsString)>,
    child: Mutex<Option<Child>>,
    /// Ends with this process, and then removes the folder.
    sweeper: Mutex<Option<Child>>,
}

impl fmt::Debug for ServerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerProcess")
            .field("program", &self.program)
            .field("folder", &self.folder)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl ServerProcess {
    pub(crate) fn new(folder: PathBuf, port: u16, run_as: RunAs, program: PathBuf) -> Self {
        let sweeper = Mutex::new(Some(sweep_at_exit(&folder)));
        Self {
            folder,
            port,
            run_as,
            program,
            arguments: Vec::new(),
            environment: Vec::new(),
            child: Mutex::new(None),
            sweeper,
        }
    }

    pub(crate) fn set_arguments(&mut self, arguments: Vec<String>) {
        self.arguments = arguments;
    }

    pub(crate) fn set_environment(&mut self, environment: Vec<(&'static str, OsString)>) {
        self.environment = environment;
    }

    /// Starts the program and waits until `is_ready`.
    pub(crate) fn start(&self, is_ready: impl Fn() -> bool) {
        let mut slot = lock(&self.child);
        assert!(slot.is_none(), "{self:?} runs already");
        for _ in 0..POLLS_MAX {
            let child = slot.get_or_insert_with(|| self.spawn());
            if matches!(child.try_wait(), Ok(Some(_))) {
                // PostgreSQL refuses to start while a killed predecessor's children still end.
                if !self.log().contains("is still in use") {
                    break;
                }
                *slot = None;
            } else if TcpStream::connect(("127.0.0.1", self.port)).is_ok() && is_ready() {
                return;
            }
            thread::sleep(POLL);
        }
        panic!(
            "{self:?} does not come up; its log ends with:\n{}",
            self.log()
        );
    }

    fn spawn(&self) -> Child {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.log_path())
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", self.log_path().display()));
        let mut command = Command::new("setpriv");
        command.args(user_arguments(self.run_as));
        command.args(["--pdeathsig", "KILL", "--"]);
        command.arg(&self.program).args(&self.arguments);
        command.current_dir(&self.folder).process_group(0);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        spawn_for_good(command)
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    fn log(&self) -> String {
        let log = fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// A copy of the files; the server must not run.
    pub(crate) fn backup(&self) -> TempDir {
        assert!(lock(&self.child).is_none(), "{self:?} still runs");
        let backup = tempfile::tempdir();
        let backup = backup.unwrap_or_else(|error| panic!("cannot make a folder: {error}"));
        copy_files(&self.folder, backup.path());
        backup
    }

    /// Puts a copy in place of the files; the server must not run.
    pub(crate) fn put_back(&self, backup: &TempDir) {
        assert!(lock(&self.child).is_none(), "{self:?} still runs");
        run(Command::new("find")
            .arg(&self.folder)
            .args(["-mindepth", "1", "-delete"]));
        copy_files(backup.path(), &self.folder);
    }

    /// Sends a signal (`KILL`, `STOP`, ...) to the server and its children, the server first, so
    /// that it starts no more.
    pub(crate) fn signal(&self, signal: &str) {
        if let Some(child) = lock(&self.child).as_ref() {
            let mut kill = Command::new("kill");
            kill.args(["-s", signal, "--", &child.id().to_string()]);
            kill.args(children_of(child.id()));
            // A child may have ended meanwhile.
            let _ = kill.stderr(Stdio::null()).status();
        }
    }

    /// Ends the server by a signal to its first process, and waits for it.
    pub(crate) fn end_by(&self, signal: &str) {
        if signal == "KILL" {
            self.signal("KILL");
        }
        if let Some(mut child) = lock(&self.child).take() {
            // A stopped process would not see the signal before it is continued.
            let id = child.id().to_string();
            let _ = Command::new("kill")
                .args(["-s", signal, &id])
                .stderr(Stdio::null())
                .status();
            let _ = Command::new("kill")
                .args(["-s", "CONT", &id])
                .stderr(Stdio::null())
                .status();
            let _ = child.wait();
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.end_by("KILL");
        if let Some(mut sweeper) = lock(&self.sweeper).take() {
            drop(sweeper.stdin.take());
            let _ = sweeper.wait();
        }
    }
}

/// The processes started by that one. PostgreSQL's are no group: each has a session of its own.
fn children_of(parent: u32) -> Vec<String> {
    let is_child = |process: &String| {
        // "pid (name) state parent ..."; the name may have spaces and brackets.
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        after_name.split(' ').nth(1) == Some(&parent.to_string())
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(is_child)
        .collect()
}

/// What `setpriv` needs to become that user.
fn user_arguments(run_as: RunAs) -> &'static [&'static str] {
    match run_as {
        RunAs::Caller => &[],
        RunAs::PostgresUser => &["--reuid=postgres", "--regid=postgres", "--init-groups"],
    }
}

/// A command that runs as that user.
pub(crate) fn command_as(run_as: RunAs, program: &Path) -> Command {
    if run_as == RunAs::Caller {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(user_arguments(run_as)).arg("--").arg(program);
    command
}

/// Starts a command from the thread that never ends, so that the kernel's death signal comes
/// with the end of this process and not with the end of some test's thread.
fn spawn_for_good(command: Command) -> Child {
    type Order = (Command, Sender<std::io::Result<Child>>);
    static STARTER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, inbox) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, reply) in inbox {
                let _ = reply.send(command.spawn());
            }
        });
        Mutex::new(orders)
    });
    let (reply, answer) = channel();
    let text = format!("{command:?}");
    lock(starter)
        .send((command, reply))
        .expect("the starter thread never ends");
    answer
        .recv()
        .expect("the starter thread never ends")
        .unwrap_or_else(|error| panic!("cannot start {text}: {error}"))
}

/// A shell that waits for the end of this process and then removes the folder.
fn sweep_at_exit(folder: &Path) -> Child {
    Command::new("sh")
        .args([
            "-c",
            "cat; rm -rf \"$1\" || { sleep 1; rm -rf \"$1\"; }",
            "sweeper",
        ])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start a shell: {error}"))
}

/// A new temporary folder, which the sweeper removes.
pub(crate) fn new_folder(prefix: &str) -> PathBuf {
    tempfile::Builder::new()
        .prefix(prefix)
        .tempdir()
        .unwrap_or_else(|error| panic!("cannot make a temporary folder: {error}"))
        .keep()
}

/// Where a program of that name may be.
pub(crate) fn usual_places(name: &str) -> Vec<PathBuf> {
    ["/usr/sbin", "/usr/bin", "/usr/local/bin"]
        .map(|folder| Path::new(folder).join(name))
        .to_vec()
}

/// The first of these programs that exists.
pub(crate) fn find_program(candidates: &[PathBuf], package: &str) -> PathBuf {
    candidates
        .iter()
        .find(|path| path.exists())
        .cloned()
        .unwrap_or_else(|| {
            panic!("none of {candidates:?} exists: install it with `apt-get install {package}`")
        })
}

pub(crate) fn is_root() -> bool {
    run(Command::new("id").arg("-u")).trim() == "0"
}

/// With owners, rights and times.
fn copy_files(from: &Path, to: &Path) {
    run(Command::new("cp").arg("-a").arg(from.join(".")).arg(to));
}

/// Runs a command to its end, which must be successful, and returns its output.
///
/// # Panics
///
/// When it cannot be started, or fails; with all that it wrote.
pub fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| {
        panic!("cannot start {command:?}: {error}; ./test installs what is missing")
    });
    let written = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?} failed: {written}{errors}"
    );
    written.trim_end().to_owned()
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
