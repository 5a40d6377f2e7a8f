//! Guards `leafid health`: what a probe learns from the exit code and the one line, and that it
//! never waits long.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;

use leafid_testbed::{Authority, free_port};
use tempfile::tempdir;

use crate::server_process::{Run, Server, command, finish, run, until};

fn health(folder: &Path, server: &str, more: &[&str]) -> Run {
    run(folder, &[&["health", "--server", server], more].concat())
}

#[test]
fn a_ready_server_is_ready_and_alive() {
    let folder = tempdir().unwrap();
    let access = "[[token]]\nname = \"ops\"\nsecret = \"s3cret-0123456789abcdef\"\nadmin = true\n";
    std::fs::write(folder.path().join("access.toml"), access).unwrap();
    // It needs no token.
    let server = Server::start(folder.path(), &["--access-file", "access.toml"]);
    assert_eq!(health(folder.path(), &server.url, &[]).ok(), "ready\n");
    assert_eq!(
        health(folder.path(), &server.url, &["--live"]).ok(),
        "alive\n"
    );
    // Without a scheme, and from the environment.
    assert_eq!(health(folder.path(), server.address(), &[]).ok(), "ready\n");
    let mut variable = command(folder.path(), &["health"]);
    variable.env("LEAFID_SERVER", &server.url);
    assert_eq!(finish(&mut variable).ok(), "ready\n");
    server.stop();
}

/// Guards a container whose image sets the address for `leafid serve` only.
#[test]
fn the_settings_of_the_server_name_its_address() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let port = server.port("http");
    let mut variable = command(folder.path(), &["health"]);
    variable.env("LEAFID_HTTP", format!("0.0.0.0:{port}"));
    assert_eq!(finish(&mut variable).ok(), "ready\n");
    let settings = format!("http = \"[::]:{}\"\n", free_port());
    std::fs::write(folder.path().join("leafid.toml"), settings).unwrap();
    run(folder.path(), &["health"]).check_failed(1, "no answer", "leafid serve");
    let settings = format!("http = \"127.0.0.1:{port}\"\n");
    std::fs::write(folder.path().join("other.toml"), settings).unwrap();
    let named = ["health", "--config", "other.toml"];
    assert_eq!(run(folder.path(), &named).ok(), "ready\n");
    std::fs::write(folder.path().join("other.toml"), "http = \"127.0.0.1:0\"\n").unwrap();
    run(folder.path(), &named).check_failed(2, "any free port", "--server URL");
    server.stop();
}

#[test]
fn a_server_without_its_store_is_alive_and_not_ready() {
    let folder = tempdir().unwrap();
    let store = format!("mysql://leaf@127.0.0.1:{}/leaf", free_port());
    let server = Server::start_unready(folder.path(), &["--store", &store]);
    let line = until("the reason", || {
        let run = health(folder.path(), &server.url, &[]);
        assert_eq!((run.code, run.errors.as_str()), (1, ""), "{run:?}");
        run.out.contains("store: failing").then_some(run.out)
    });
    assert!(
        line.starts_with("not ready: driver: waiting for the store; store: failing for"),
        "{line}"
    );
    assert!(line.contains("memory: holds no ids"), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert_eq!(
        health(folder.path(), &server.url, &["--live"]).ok(),
        "alive\n"
    );
    server.stop();
}

#[test]
fn what_does_not_answer_is_not_waited_for() {
    let folder = tempdir().unwrap();
    for more in [&[][..], &["--live"]] {
        let nothing = format!("http://127.0.0.1:{}", free_port());
        health(folder.path(), &nothing, more).check_failed(1, "no answer", "--server URL");
        // The system accepts the connection, and nobody ever answers.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let silent = format!("http://{}", silent.local_addr().unwrap());
        let timeout = [more, &["--timeout", "1"]].concat();
        health(folder.path(), &silent, &timeout).check_failed(1, "timeout", "--server URL");
    }
    health(folder.path(), "x", &["--timeout", "0"]).check_usage();
}

#[test]
fn another_program_is_not_a_ready_server() {
    let folder = tempdir().unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", other.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in other.incoming() {
            let mut stream = stream.unwrap();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nhi\n";
            stream.write_all(answer).unwrap();
            // Read it, so that the system does not reset the connection.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    for more in [&[][..], &["--live"]] {
        health(folder.path(), &url, more).check_failed(
            1,
            "does not answer as a leafid",
            "--server",
        );
    }
}

#[test]
fn a_server_with_tls_is_asked_by_https() {
    let folder = tempdir().unwrap();
    let authority = Authority::new();
    authority.write(folder.path(), "ca");
    authority
        .issue(["127.0.0.1"])
        .write(folder.path(), "server");
    let tls = ["--tls-cert", "server.pem", "--tls-key", "server.key"];
    let server = Server::start(folder.path(), &tls);
    let trusting = ["--ca-file", "ca.pem"];
    assert_eq!(
        health(folder.path(), &server.url, &trusting).ok(),
        "ready\n"
    );
    let stranger = health(folder.path(), &server.url, &[]);
    stranger.check_failed(1, "UnknownIssuer", "--ca-file FILE");
    // The settings say that it has TLS.
    let mut variables = command(folder.path(), &["health"]);
    variables.env("LEAFID_HTTP", format!("0.0.0.0:{}", server.port("https")));
    variables.env("LEAFID_TLS_CERT", "server.pem");
    variables.env("LEAFID_TLS_KEY", "server.key");
    variables.env("LEAFID_CA_FILE", "ca.pem");
    assert_eq!(finish(&mut variables).ok(), "ready\n");
    server.stop();
}
