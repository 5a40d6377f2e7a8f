//! `ZooKeeper`: a ZooKeeper server of its own.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use crate::child::{RunAs, ServerProcess, find_program, free_port, new_folder, usual_places};
use crate::fake_clock::FakeClock;
use crate::server::server_methods;

/// Not the package `zookeeper`, which brings a desktop's Java.
const PACKAGE: &str = "libzookeeper-java";
const JAVA_PACKAGE: &str = "default-jre-headless";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A ZooKeeper server on a free port of 127.0.0.1, alone, with its files in a temporary folder.
///
/// Every write is flushed before it is answered (`forceSync=yes`).
///
/// ```no_run
/// let server = leafid_testbed::shared_zookeeper();
/// assert_eq!(server.ask("ruok"), "imok");
/// ```
#[derive(Debug)]
pub struct ZooKeeper {
    process: ServerProcess,
}

server_methods!(ZooKeeper, stopped by "TERM");

/// The server that all tests of this process share; each takes its own paths.
#[must_use]
pub fn shared_zookeeper() -> &'static ZooKeeper {
    static SHARED: OnceLock<ZooKeeper> = OnceLock::new();
    SHARED.get_or_init(ZooKeeper::start)
}

impl ZooKeeper {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// When it does not come up; the message has the end of its log, or the package to install.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more lines in its settings, such as `tickTime=200`.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with(settings: &[&str]) -> Self {
        Self::start_process(prepare(settings))
    }

    /// Starts a server whose wall clock is this one.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_at(clock: &FakeClock) -> Self {
        let mut process = prepare(&[]);
        process.set_environment(clock.environment().into());
        Self::start_process(process)
    }

    fn start_process(process: ServerProcess) -> Self {
        let server = Self { process };
        server.start_again();
        server
    }

    /// Where a program finds this server.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same behind another port, such as that of a [`Proxy`](crate::Proxy).
    #[must_use]
    pub fn url_at(&self, port: u16) -> String {
        format!("zookeeper://127.0.0.1:{port}")
    }

    /// What the server answers to a word of four letters, such as `srvr` or `mntr`.
    ///
    /// # Panics
    ///
    /// When it does not answer.
    #[must_use]
    pub fn ask(&self, word: &str) -> String {
        self.try_ask(word)
            .unwrap_or_else(|error| panic!("{self:?} does not answer {word}: {error}"))
    }

    fn try_ask(&self, word: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port()))?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        stream.write_all(word.as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    fn is_ready(&self) -> bool {
        // A server that still reads its files answers `ruok` already, and `srvr` without a mode.
        let answer = self.try_ask("srvr");
        answer.is_ok_and(|answer| answer.contains("Mode: standalone"))
    }
}

fn prepare(settings: &[&str]) -> ServerProcess {
    let folder = new_folder("leafid-zookeeper-");
    let java = find_program(&usual_places("java"), JAVA_PACKAGE);
    let mut process = ServerProcess::new(folder, free_port(), RunAs::Caller, java);
    write_settings(&process, settings);
    process.set_arguments(java_arguments());
    process
}

fn write_settings(process: &ServerProcess, more: &[&str]) {
    let data = process.folder.join("data");
    let mut settings = vec![
        format!("dataDir={}", data.display()),
        format!("clientPort={}", process.port),
        "clientPortAddress=127.0.0.1".to_owned(),
        "admin.enableServer=false".to_owned(),
        "4lw.commands.whitelist=*".to_owned(),
        // All tests come from one address, for which the default is 60 connections.
        "maxClientCnxns=0".to_owned(),
    ];
    settings.extend(more.iter().map(|&line| line.to_owned()));
    let file = process.folder.join("zoo.cfg");
    fs::write(&file, settings.join("\n"))
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
}

fn java_arguments() -> Vec<String> {
    let jar = |name: &str| -> PathBuf {
        find_program(&[Path::new("/usr/share/java").join(name)], PACKAGE)
    };
    // The first names all others it needs; the second writes the log to standard error.
    let classes = [jar("zookeeper.jar"), jar("slf4j-simple.jar")];
    let classes = classes.map(|path| path.display().to_string()).join(":");
    let arguments = [
        "-Xmx128m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-Dzookeeper.forceSync=yes",
        "-Dzookeeper.jmx.log4j.disable=true",
        "-cp",
        &classes,
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        "zoo.cfg",
    ];
    arguments.map(str::to_owned).to_vec()
}
