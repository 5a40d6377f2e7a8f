//! Guards the listening sockets that systemd passes: they are used, who reaches them is known, and
//! nothing is guessed about others.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use leafid_testbed::{free_port, run};
use tempfile::tempdir;

use crate::server_process::{Run, Server, command, finish};

/// Becomes a program that has sockets from descriptor 3 on. Its arguments: a list of NAME=KIND, then
/// the program. The ports go to the file `ports`.
const PASS: &str = r#"
import fcntl, os, socket, sys
def opened(kind):
    if kind == "file":
        return os.open(".", os.O_RDONLY)
    if kind in ("unix", "udp"):
        family = socket.AF_UNIX if kind == "unix" else socket.AF_INET
        one = socket.socket(family, socket.SOCK_STREAM if kind == "unix" else socket.SOCK_DGRAM)
        one.bind("unix.socket" if kind == "unix" else ("127.0.0.1", 0))
        if kind == "unix":
            one.listen()
    else:
        one = socket.socket()
        one.bind(("0.0.0.0" if kind == "open" else "127.0.0.1", 0))
        if kind != "bound":
            one.listen()
        with open("ports", "a") as ports:
            ports.write("%d\n" % one.getsockname()[1])
    return one.detach()
pairs = [pair.split("=") for pair in sys.argv[1].split(",") if pair]
# First out of the way of the numbers that they are to have.
fds = [fcntl.fcntl(opened(kind), fcntl.F_DUPFD, 50) for _, kind in pairs]
for number, fd in enumerate(fds):
    os.dup2(fd, 3 + number)
    os.close(fd)
own = {"LISTEN_PID": os.getpid(), "LISTEN_FDS": len(fds)}
own["LISTEN_FDNAMES"] = ":".join(name for name, _ in pairs)
for name, value in own.items():
    os.environ.setdefault(name, str(value))
os.execv(sys.argv[2], sys.argv[2:])
"#;

/// The same command, to which these sockets are passed.
fn passing(command: &Command, sockets: &str) -> Command {
    let mut python = Command::new("python3");
    python
        .args(["-c", PASS, sockets])
        .arg(command.get_program());
    python.args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => python.env(name, value),
            None => python.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        python.current_dir(folder);
    }
    python
}

fn start(folder: &Path, sockets: &str, arguments: &[&str]) -> Server {
    let server = Server::spawn(folder, arguments, |command| {
        *command = passing(command, sockets);
    });
    server.wait_until_ready();
    server
}

/// A start that has to fail.
fn refused(folder: &Path, sockets: &str, variables: &[(&str, &str)]) -> Run {
    let mut serve = command(folder, &["serve", "--http", "127.0.0.1:0"]);
    serve.envs(variables.iter().copied());
    finish(&mut passing(&serve, sockets))
}

#[test]
fn passed_sockets_replace_the_addresses() {
    let folder = tempdir().unwrap();
    // The port of HTTP could not be bound; the Redis protocol would be off.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let arguments = ["--resp", "off", "--allowed-hosts", "localhost"];
    let server = Server::spawn(folder.path(), &arguments, |serve| {
        let mut other = command(folder.path(), &["serve", "--http", &taken]);
        other.args(arguments);
        *serve = passing(&other, "http=tcp,grpc=tcp,resp=tcp");
    });
    server.wait_until_ready();
    let ports = fs::read_to_string(folder.path().join("ports")).unwrap();
    let ports: Vec<u16> = ports.lines().map(|port| port.parse().unwrap()).collect();
    let served = ["http", "grpc", "redis"].map(|scheme| server.port(scheme));
    assert_eq!(ports, served, "{}", server.greeting);
    let id = run(Command::new("curl")
        .args(["-sS", "--fail", "--max-time", "60"])
        .arg(format!(
            "http://127.0.0.1:{}/api/segment/get/order",
            ports[0]
        )));
    assert_eq!(id, "1");
    let mut redis = TcpStream::connect(("127.0.0.1", ports[2])).unwrap();
    redis.write_all(b"INCR order\r\nQUIT\r\n").unwrap();
    let mut answer = String::new();
    redis.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, ":2\r\n+OK\r\n");
    server.stop();
}

#[test]
fn a_protocol_without_a_socket_binds_its_address() {
    let folder = tempdir().unwrap();
    let server = start(folder.path(), "http=tcp", &[]);
    for scheme in ["redis", "grpc"] {
        TcpStream::connect(("127.0.0.1", server.port(scheme))).unwrap();
    }
    server.stop();
}

#[test]
fn systemds_own_tool_starts_a_server_at_the_first_connection() {
    let folder = tempdir().unwrap();
    let port = free_port();
    let leafid = command(folder.path(), &["serve"]);
    let mut tool = Command::new("systemd-socket-activate")
        .args(["--listen", &format!("127.0.0.1:{port}"), "--fdname=http"])
        .arg(leafid.get_program())
        .args(["serve", "--resp", "off", "--grpc", "off"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The connection that starts the server is answered by it.
    let retry = ["--retry-connrefused", "--retry", "60", "--retry-delay", "1"];
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--fail", "--max-time", "90"]).args(retry);
    let alive = run(curl.arg(format!("http://127.0.0.1:{port}/livez")));
    assert_eq!(alive, "ok");
    // The tool has become the server.
    let stopped = Command::new("kill").arg(tool.id().to_string()).status();
    assert!(stopped.unwrap().success());
    assert_eq!(tool.wait().unwrap().code(), Some(0));
}

#[test]
fn other_sockets_end_the_start() {
    let folder = tempdir().unwrap();
    let check = |sockets: &str, error: &str, next: &str| {
        refused(folder.path(), sockets, &[]).check_failed(1, error, next);
    };
    let (name_it, listen) = ("FileDescriptorName=http", "ListenStream=");
    check("leafid.socket=tcp", "named \"leafid.socket\"", name_it);
    check("http=tcp,=tcp", "named \"\"", name_it);
    check(
        "http=tcp,http=tcp",
        "two sockets named http",
        "one for each",
    );
    check("http=udp", "not a valid tcp socket", listen);
    check("resp=unix", "not a valid tcp socket", listen);
    check("grpc=file", "not a socket", listen);
    check("http=bound", "does not listen", listen);
    let nameless = [("LISTEN_FDNAMES", "")];
    let nameless = refused(folder.path(), "http=tcp", &nameless);
    nameless.check_failed(1, "LISTEN_FDS is 1, but LISTEN_FDNAMES has 0", name_it);
    let miscounted = [("LISTEN_FDS", "4000000000")];
    let miscounted = refused(folder.path(), "http=tcp", &miscounted);
    miscounted.check_failed(1, "LISTEN_FDS is 4000000000", name_it);
    // The next number is no socket.
    let missing = [("LISTEN_FDS", "2"), ("LISTEN_FDNAMES", "http:resp")];
    let missing = refused(folder.path(), "http=tcp", &missing);
    missing.check_failed(1, "the socket resp", listen);
}

#[test]
fn the_sockets_of_another_process_are_left_alone() {
    let folder = tempdir().unwrap();
    let server = Server::spawn(folder.path(), &[], |command| {
        command.env("LISTEN_PID", "1").env("LISTEN_FDNAMES", "x");
        *command = passing(command, "http=tcp");
    });
    server.wait_until_ready();
    let passed = fs::read_to_string(folder.path().join("ports")).unwrap();
    assert_ne!(passed.trim(), server.port("http").to_string());
    server.stop();
}

/// Guards that a socket unit does not open a server that its settings keep to this machine.
#[test]
fn a_passed_socket_that_others_reach_needs_authentication() {
    let folder = tempdir().unwrap();
    let open = refused(folder.path(), "http=open", &[]);
    open.check_failed(
        1,
        "(from a socket of systemd), which other machines can reach",
        "",
    );
    let server = start(folder.path(), "http=open", &["--insecure"]);
    assert!(server.greeting.contains("0.0.0.0:"), "{}", server.greeting);
    server.stop();
}
