//! Runs an example as its own test: the test starts itself anew, in an empty folder, and that
//! process runs `main`. Checks that the documents show the example as it is.
#![allow(dead_code, reason = "not every example needs everything")]

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::{env, fs};

use tempfile::TempDir;

/// Marks the process that was started to run the example.
const RUN: &str = "LEAFID_TEST_RUN_EXAMPLE";

/// An example that runs.
pub(crate) struct Example {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// On a disk, and gone with this.
    _folder: TempDir,
}

impl Example {
    /// Starts the example of the test with this name; `None` in the process that ran it.
    pub(crate) fn start(
        test: &str,
        main: impl FnOnce() -> Result<(), Box<dyn Error>>,
        variables: &[(&str, &str)],
    ) -> Option<Self> {
        if env::var_os(RUN).is_some() {
            main().expect("the example runs");
            return None;
        }
        let program = env::current_exe().expect("this program");
        let folder = program.parent().expect("it is in a folder");
        let folder = tempfile::tempdir_in(folder).expect("a folder");
        let mut child = Command::new(&program)
            .args(["--exact", test, "--nocapture"])
            .env(RUN, "1")
            .envs(variables.iter().copied())
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdout = child.stdout.take().expect("it is piped");
        Some(Self {
            child,
            stdout: BufReader::new(stdout),
            _folder: folder,
        })
    }

    /// The rest of the first line after `label`.
    pub(crate) fn read(&mut self, label: &str) -> String {
        let mut line = String::new();
        while self.stdout.read_line(&mut line).expect("text") > 0 {
            if let Some((_, value)) = line.split_once(label) {
                return value.trim().to_owned();
            }
            line.clear();
        }
        panic!("the example ended without {label:?}");
    }

    /// The body of its answer to a POST.
    pub(crate) fn post(&self, address: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let length = "Content-Length: 0\r\nConnection: close";
        let request = format!("POST {path} HTTP/1.1\r\nHost: x\r\n{length}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        body.to_owned()
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &process]).status();
        assert!(sent.expect("kill starts").success());
    }

    /// Waits for its end, which must be successful.
    pub(crate) fn finish(mut self) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("text");
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{rest}");
    }
}

impl Drop for Example {
    /// A service runs until it is stopped.
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Checks that a document shows an example as it is, without its comment and its tests.
pub(crate) fn check_shown(example: &str, document: &str) {
    let (_, code) = example.split_once("\n\n").expect("code below the comment");
    let (code, _) = code.split_once("\n#[cfg(test)]").expect("tests at the end");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(document)).expect("the document is there");
    let block = format!("```rust,no_run\n{code}```");
    assert!(text.contains(&block), "copy the example into {document}");
}
