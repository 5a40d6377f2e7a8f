//! Guards the promise on a full disk, on the real binary: a server whose file system is full
//! refuses segments and says so, continues with snowflake ids, and recovers as soon as there is
//! room. The disk is a small file system in a namespace of its own, which needs no privileges.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use leafid::{Layout, SystemClock};
use tempfile::tempdir;

use crate::server_process::{Run, Server, command, finish, ids, until};
use crate::snowflake_load::now_ms;

const BATCH: &str = "/v1/tags/order/ids?count=1000";
const SNOWFLAKE: &str = "/api/snowflake/get/x";
/// How far the journal allows ids, so that later ids prove that it was written while the disk was
/// full.
const SETTINGS: [&str; 7] = [
    "--allow-weak-store",
    "--policy=fixed",
    "--step=1000",
    "--worker-step=100ms",
    "--journal-ahead=500ms",
    "--threads=1",
    "--log=info",
];
const LATER_MS: u64 = 2_000;

/// A disk of 2 MiB, which exists as long as this.
struct Disk {
    keeper: Child,
    /// The input whose end stops the process that holds the namespace.
    _input: ChildStdin,
    /// The folder, as a process in the namespace sees it.
    folder: PathBuf,
}

impl Disk {
    fn new(folder: PathBuf) -> Self {
        fs::create_dir(&folder).unwrap();
        let mount = "mount -t tmpfs -o size=2m tmpfs \"$0\" && echo mounted && exec cat";
        let mut keeper = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", mount])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(keeper.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "mounted\n", "no namespace with a mount of its own");
        Self {
            _input: keeper.stdin.take().unwrap(),
            keeper,
            folder,
        }
    }

    /// Runs a command in the namespace.
    fn enter(&self, command: &mut Command) {
        let mut entering = Command::new("nsenter");
        let keeper = self.keeper.id().to_string();
        entering.args(["--user", "--mount", "--preserve-credentials", "--target"]);
        entering
            .arg(keeper)
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => entering.env(name, value),
                None => entering.env_remove(name),
            };
        }
        let folder = command.get_current_dir().map(Path::to_owned);
        entering.current_dir(folder.unwrap()).stdin(Stdio::null());
        *command = entering;
    }

    fn start(&self, folder: &Path) -> Server {
        let data = self.folder.to_str().unwrap();
        let own = ["--data-dir", data];
        let arguments = [&own[..], &SETTINGS].concat();
        Server::spawn(folder, &arguments, |command| self.enter(command))
    }

    fn run<S: AsRef<OsStr>>(&self, folder: &Path, arguments: &[S]) -> Run {
        let mut command = command(folder, arguments);
        self.enter(&mut command);
        finish(&mut command)
    }

    /// Uses up all room, and what others free of it, until told to stop.
    fn fill(&self) -> Filler {
        let root = format!("/proc/{}/root", self.keeper.id());
        let inside = self.folder.strip_prefix("/").unwrap();
        let path = Path::new(&root).join(inside).join("filler");
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .unwrap();
        fill_up(&mut file);
        let is_stopped: Arc<AtomicBool> = Arc::default();
        let told = Arc::clone(&is_stopped);
        let thread = thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                fill_up(&mut file);
                thread::sleep(Duration::from_millis(1));
            }
        });
        Filler {
            path,
            is_stopped,
            thread,
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _killed = self.keeper.kill();
        let _ended = self.keeper.wait();
    }
}

/// A process that fills the disk.
struct Filler {
    path: PathBuf,
    is_stopped: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Filler {
    /// Frees all room.
    fn stop(self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        fs::remove_file(self.path).unwrap();
    }
}

fn fill_up(file: &mut File) {
    for len in [65_536, 4_096, 1] {
        while file.write(&vec![b'x'; len]).is_ok() {}
    }
}

/// All issued ids of either kind.
#[derive(Default)]
struct Given(HashSet<u64>);

impl Given {
    fn add(&mut self, ids: Vec<u64>) {
        for id in ids {
            assert!(self.0.insert(id), "{id} came twice");
        }
    }

    /// Takes ids until a batch is refused; returns the error.
    fn take_until_refused(&mut self, server: &Server) -> String {
        until("refusal", || match server.get(BATCH) {
            (200, body) => {
                self.add(ids(&body));
                None
            }
            (status, body) => {
                assert_eq!(status, 503, "{body}");
                Some(body)
            }
        })
    }

    fn take(&mut self, server: &Server) {
        let body = until("batch", || {
            let (status, body) = server.get(BATCH);
            (status == 200).then_some(body)
        });
        self.add(ids(&body));
    }

    /// Takes a snowflake id, as soon as the server holds a worker id: it is ready before, and a
    /// claim needs room on the disk.
    fn take_first_snowflake(&mut self, server: &Server) {
        let id = until("snowflake id", || {
            let (status, body) = server.get(SNOWFLAKE);
            (status == 200).then_some(body)
        });
        self.add(vec![id.parse().unwrap()]);
    }

    /// Takes snowflake ids until they carry later times than the journal allowed before, none of
    /// them refused.
    fn take_snowflakes(&mut self, server: &Server) {
        let later_ms = now_ms(&SystemClock::new()) + LATER_MS;
        until("later snowflake ids", || {
            let (status, body) = server.get(SNOWFLAKE);
            assert_eq!(status, 200, "{body}");
            let id: u64 = body.parse().unwrap();
            self.add(vec![id]);
            let unix_ms = Layout::LEAF.decompose(id).unix_ms.unsigned_abs();
            (unix_ms > later_ms).then_some(())
        });
    }
}

#[test]
fn a_full_disk_costs_segments_only_while_it_is_full() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let disk = Disk::new(folder.join("disk"));
    let mut given = Given::default();
    let mut server = disk.start(folder);
    for is_killed in [false, true] {
        server.wait_until_ready();
        given.take(&server);
        given.take_first_snowflake(&server);
        let filler = disk.fill();
        let refusal = given.take_until_refused(&server);
        assert!(refusal.contains("the disk is full"), "{refusal}");
        given.take_snowflakes(&server);
        let (status, text) = server.get("/readyz?verbose");
        assert_eq!(status, 503, "{text}");
        assert!(text.contains("the disk is full"), "{text}");
        if is_killed {
            server.kill();
            let data = disk.folder.to_str().unwrap();
            let next = ["next", "order", "--data-dir", data, "--allow-weak-store"];
            let run = disk.run(folder, &next);
            assert!(run.errors.contains("the disk is full"), "{run:?}");
            filler.stop();
            server = disk.start(folder);
        } else {
            filler.stop();
        }
        given.take(&server);
        server.wait_until_ready();
        given.take_snowflakes(&server);
    }
    let log = server.log();
    assert!(!log.contains("panicked"), "{log}");
    println!("{} ids, none twice", given.0.len());
    server.stop();
}

/// Guards: a limit on the size of files refuses segments like a full disk, and does not end the
/// process with a signal.
#[test]
fn a_limit_on_the_size_of_files_refuses_segments() {
    let folder = tempdir().unwrap();
    let settings = ["--allow-weak-store", "--policy=fixed", "--step=1"];
    // In units of 512 bytes: more than the files have at first.
    let server = Server::start_limited(folder.path(), "-f 400", &settings);
    // A server is ready without a worker id, and it needs the disk to claim one.
    until("a worker id", || {
        (server.get(SNOWFLAKE).0 == 200).then_some(())
    });
    let mut answers = (0..2000).map(|_| server.get("/v1/tags/order/ids").0);
    assert!(answers.any(|status| status != 200), "no limit was met");
    assert_eq!(server.get(SNOWFLAKE).0, 200);
    server.stop();
}
