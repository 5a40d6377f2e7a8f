//! Guards the units of `deploy/systemd`: systemd accepts them, they give the service little, and no
//! call that a server makes is refused to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use leafid_testbed::run;
use tempfile::{TempDir, tempdir};

use crate::server_process::{Server, until};

const SERVICE: &str = "leafid.service";
const SOCKETS: [&str; 3] = ["leafid.socket", "leafid-resp.socket", "leafid-grpc.socket"];
/// systemd finds the program in its own list of folders, such as `/usr/bin`.
const START: &str = "ExecStart=leafid serve\n";
/// SQLite gives its files to the owner of their folder if it runs as root, and the service does not.
const CALLS_OF_ROOT: [&str; 2] = ["fchown", "chown"];

fn deployed(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/systemd");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// The units in a folder, with the binary of this build; the sockets of the other protocols as the
/// comment in that of HTTP says.
fn installed() -> (TempDir, Vec<PathBuf>) {
    let folder = tempdir().unwrap();
    let service = deployed(SERVICE);
    assert!(service.contains(START));
    let built = concat!("ExecStart=", env!("CARGO_BIN_EXE_leafid"), " serve\n");
    let service = service.replace(START, built);
    let http = deployed(SOCKETS[0]);
    let other = |name: &str, port: &str| {
        let named = format!("FileDescriptorName={name}\nService={SERVICE}");
        let other = http.replace("FileDescriptorName=http", &named);
        other.replace(":8080", port)
    };
    let texts = [
        service,
        http.clone(),
        other("resp", ":6380"),
        other("grpc", ":50051"),
    ];
    let names = [SERVICE].into_iter().chain(SOCKETS);
    let paths = names
        .map(|name| folder.path().join(name))
        .collect::<Vec<_>>();
    for (path, text) in paths.iter().zip(texts) {
        fs::write(path, text).unwrap();
    }
    (folder, paths)
}

/// The values of a key of the service.
fn values(key: &str) -> Vec<String> {
    let service = deployed(SERVICE);
    let lines = service.lines();
    let value = |line: &str| Some(line.strip_prefix(key)?.strip_prefix('=')?.to_owned());
    lines.filter_map(value).collect()
}

#[test]
fn systemd_accepts_the_units() {
    let (_folder, paths) = installed();
    let mut verify = Command::new("systemd-analyze");
    let output = verify.args(["verify", "--man=no"]).args(&paths).output();
    let output = output.unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let is_ours = |line: &&str| line.contains("leafid");
    let found: Vec<_> = errors.lines().filter(is_ours).collect();
    assert!(output.status.success() && found.is_empty(), "{errors}");
}

#[test]
fn the_service_is_exposed_to_little() {
    let (_folder, paths) = installed();
    let mut security = Command::new("systemd-analyze");
    // In tenths: 2.0 of 10.
    security.args(["security", "--no-pager", "--offline=true", "--threshold=20"]);
    println!("{}", run(security.arg(&paths[0])));
}

/// Guards what the service is given and how long it may be silent, against a typing error that
/// systemd accepts.
#[test]
fn the_service_has_what_a_server_needs() {
    assert_eq!(values("Type"), ["notify"]);
    assert_eq!(values("StateDirectory"), ["leafid"]);
    assert_eq!(values("Environment"), ["LEAFID_DATA_DIR=%S/leafid"]);
    assert_eq!(values("Restart"), ["always"]);
    assert_eq!(values("WatchdogSec"), ["30s"]);
    assert_eq!(values("ExecReload"), ["kill -HUP $MAINPID"]);
    assert_eq!(values("LimitNOFILE"), ["65536"]);
}

#[test]
fn the_service_may_make_every_call_of_a_server() {
    let allowed = allowed_calls();
    for call in ["accept4", "epoll_wait", "fdatasync", "prlimit64"] {
        assert!(
            allowed.contains(call),
            "{call}: the filter is not read right"
        );
    }
    for call in ["reboot", "ptrace", "setrlimit", "mount"] {
        assert!(
            !allowed.contains(call),
            "{call}: the filter is not read right"
        );
    }
    let made = calls_of_a_server();
    assert!(
        made.contains("accept4") && made.contains("fdatasync"),
        "{made:?}"
    );
    let refused = made
        .iter()
        .filter(|call| !allowed.contains(*call) && !CALLS_OF_ROOT.contains(&call.as_str()));
    assert_eq!(refused.collect::<Vec<_>>(), [&""; 0]);
}

/// What `SystemCallFilter` allows.
fn allowed_calls() -> BTreeSet<String> {
    let mut allowed = calls_of("@default");
    for line in values("SystemCallFilter") {
        let (refuses, groups) = match line.strip_prefix('~') {
            Some(groups) => (true, groups),
            None => (false, line.as_str()),
        };
        for call in groups.split_whitespace().flat_map(calls_of) {
            match refuses {
                true => allowed.remove(&call),
                false => allowed.insert(call),
            };
        }
    }
    allowed
}

/// The calls of a group, and of the groups in it.
fn calls_of(group: &str) -> BTreeSet<String> {
    if !group.starts_with('@') {
        return BTreeSet::from([group.to_owned()]);
    }
    let listed = run(Command::new("systemd-analyze").args(["syscall-filter", group]));
    let members = listed.lines().skip(1).map(str::trim);
    let members = members.filter(|line| !line.is_empty() && !line.starts_with('#'));
    members.flat_map(calls_of).collect()
}

/// What a server calls from its start to its end, as strace sees it.
fn calls_of_a_server() -> BTreeSet<String> {
    let folder = tempdir().unwrap();
    let summary = folder.path().join("calls");
    let server = Server::spawn(folder.path(), &["--threads=2"], |command| {
        let mut traced = Command::new("strace");
        traced
            .args(["-D", "-f", "-qq", "-c", "-U", "name", "-o"])
            .arg(&summary);
        traced.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => traced.env(name, value),
                None => traced.env_remove(name),
            };
        }
        traced.current_dir(folder.path());
        *command = traced;
    });
    server.wait_until_ready();
    for path in ["/api/segment/get/order", "/api/snowflake/get/x", "/metrics"] {
        assert_eq!(server.get(path).0, 200);
    }
    server.signal("HUP");
    server.stop();
    let text = until("summary of strace", || {
        let text = fs::read_to_string(&summary).ok()?;
        text.contains("total").then_some(text)
    });
    let names = text.lines().map(str::trim);
    let is_call = |line: &&str| line.starts_with(|first: char| first.is_ascii_lowercase());
    let names = names
        .filter(is_call)
        .filter(|line| !["syscall", "total"].contains(line));
    names.map(str::to_owned).collect()
}
