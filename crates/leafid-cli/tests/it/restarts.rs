//! Guards the first minute with the server: ids from nothing, restarts, signals.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use leafid::{Clock, SystemClock};
use leafid_testbed::{Proxy, shared_mariadb};
use serde_json::Value;
use tempfile::tempdir;

use crate::server_process::{Server, command, finish, ids, read_all, run, until};

#[test]
fn a_new_tag_gives_1_2_3() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    for expected in ["1", "2", "3"] {
        let answer = server.get("/api/segment/get/order");
        assert_eq!(answer, (200, expected.to_owned()));
    }
    let (_, body) = server.get("/v1/tags/order/ids?count=3");
    assert_eq!(ids(&body), [4, 5, 6]);
    server.stop();
}

/// Guards the greeting: its lines to try must work as they stand.
#[test]
fn the_greeting_has_lines_that_work() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let greeting = server.greeting.clone();
    assert!(
        greeting.contains("listens on http://127.0.0.1:"),
        "{greeting}"
    );
    let lines: Vec<&str> = greeting
        .lines()
        .filter(|line| line.contains("curl "))
        .collect();
    assert_eq!(lines.len(), 4, "{greeting}");
    for line in lines {
        let path = line.trim().trim_start_matches("curl ").trim_matches('\'');
        let path = path.trim_start_matches(&server.url);
        assert_eq!(server.get(path).0, 200, "{line}");
    }
    server.stop();
}

/// Guards uniqueness across crashes: issued ids are never issued again.
#[test]
fn a_killed_server_never_repeats_an_id() {
    let folder = tempdir().unwrap();
    let given = Mutex::new(HashSet::new());
    for round in 0..4 {
        let server = Server::start(folder.path(), &[]);
        let largest = given.lock().unwrap().iter().max().copied().unwrap_or(0);
        let (_, first) = server.get("/api/segment/get/order");
        let first: u64 = first.parse().unwrap();
        assert!(first > largest, "{first} after {largest} in round {round}");
        assert!(given.lock().unwrap().insert(first));
        thread::scope(|scope| {
            for caller in 0..4 {
                let (server, given) = (&server, &given);
                scope.spawn(move || take_until_it_dies(server, caller, given));
            }
            thread::sleep(Duration::from_millis(300));
            server.signal("KILL");
        });
        server.kill();
    }
    assert!(
        given.lock().unwrap().len() > 1000,
        "there was hardly any load"
    );
}

fn take_until_it_dies(server: &Server, caller: usize, given: &Mutex<HashSet<u64>>) {
    let count = [1, 7, 100, 1000][caller];
    let path = format!("/v1/tags/order/ids?count={count}");
    while let Ok((200, body)) = server.try_get(&path) {
        let mut given = given.lock().unwrap();
        for id in ids(&body) {
            assert!(given.insert(id), "{id} came twice");
        }
    }
}

/// Guards the way a service is stopped: a request whose first half has arrived is answered in full.
#[test]
fn a_signal_lets_requests_in_flight_finish() {
    for name in ["TERM", "INT"] {
        let folder = tempdir().unwrap();
        let mut server = Server::start(folder.path(), &[]);
        let mut callers: Vec<TcpStream> = (0..20).map(|_| half_a_request(&server)).collect();
        // The server must have read the first halves before it is told to stop.
        thread::sleep(Duration::from_millis(300));
        server.signal(name);
        thread::sleep(Duration::from_millis(100));
        for caller in &mut callers {
            caller.write_all(b"t\":2}").unwrap();
        }
        let mut all = HashSet::new();
        for caller in callers {
            let answer = read_all(caller);
            assert!(answer.starts_with("HTTP/1.1 200"), "{name}: {answer}");
            let body = answer.split("\r\n\r\n").nth(1).unwrap();
            all.extend(ids(body));
        }
        assert_eq!(all.len(), 40);
        assert_eq!(server.wait().code(), Some(0), "{}", server.log());
    }
}

fn half_a_request(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = "POST /v1/tags/order/ids HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                connection: close\r\ncontent-length: 11\r\n\r\n{\"coun";
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Guards against a hanging caller: the second signal does not wait for it.
#[test]
fn a_second_signal_ends_at_once() {
    let folder = tempdir().unwrap();
    let mut server = Server::start(folder.path(), &["--shutdown-grace", "10m"]);
    let _caller = half_a_request(&server);
    thread::sleep(Duration::from_millis(300));
    server.signal("TERM");
    thread::sleep(Duration::from_millis(300));
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(1), "{}", server.log());
}

/// Guards that a stop takes no longer than `shutdown-grace`, although a caller hangs and the registry
/// too, and that it says what became of the worker id.
#[test]
fn a_stop_has_one_deadline() {
    let folder = tempdir().unwrap();
    let proxy = Proxy::new(shared_mariadb().port());
    let database = shared_mariadb().create_database();
    run(folder.path(), &["store", "init", "--store", &database.url]).ok();
    let url = shared_mariadb().url_at(proxy.port(), &database.name);
    let words = ["--registry", &url, "--shutdown-grace", "4s"];
    let mut server = Server::start(folder.path(), &words);
    until("worker id", || {
        (server.json("/v1/worker")["stage"] == "holding").then_some(())
    });
    let _caller = half_a_request(&server);
    proxy.delay(Duration::from_secs(60));
    thread::sleep(Duration::from_millis(300));
    let clock = SystemClock::new();
    let began = clock.now();
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0), "{}", server.log());
    let took = clock.now().saturating_sub(began);
    // It would be 7 s with one wait after the other; a part of 4 s is for a busy machine.
    assert!(took < Duration::from_millis(5500), "{took:?}");
    let log = server.log();
    assert!(log.contains("stays leased until 2"), "{log}");
    assert!(log.contains("it was not given back in time"), "{log}");
}

#[test]
fn a_port_in_use_is_named_with_what_to_do() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let arguments = ["serve", "--data-dir", "other", "--http", server.address()];
    let second = finish(&mut command(folder.path(), &arguments));
    let error = format!("cannot listen on {}", server.address());
    second.check_failed(1, &error, "choose another address with --http ADDR");
    server.stop();
}

/// Guards that with the log off only the addresses are printed, which a program that started it on
/// free ports needs.
#[test]
fn with_the_log_off_only_the_addresses_are_printed() {
    let folder = tempdir().unwrap();
    let arguments = ["serve", "--http", "127.0.0.1:0", "--log", "off"];
    let mut child = command(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut greeting = String::new();
    out.read_line(&mut greeting).unwrap();
    assert!(
        greeting.contains("listens on http://127.0.0.1:"),
        "{greeting}"
    );
    let id = child.id().to_string();
    let told = Command::new("kill").args(["-s", "TERM", &id]).status();
    assert!(told.unwrap().success());
    assert_eq!(read_all(out), "");
    let ended = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
    assert_eq!(ended.status.code(), Some(0));
}

/// Guards that a program which reads the log as JSON learns why the server did not start.
#[test]
fn what_ends_the_start_is_reported_in_the_format_of_the_log() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut arguments = vec!["serve", "--data-dir", "other", "--http", server.address()];
    arguments.extend(["--log-format", "json"]);
    let second = finish(&mut command(folder.path(), &arguments));
    assert_eq!(second.code, 1);
    let lines = second.errors.lines();
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = lines.last().unwrap();
    let message = last["fields"]["message"].as_str().unwrap();
    let wanted = format!("cannot listen on {}", server.address());
    assert!(message.starts_with(&wanted), "{last}");
    assert_eq!(last["level"], "ERROR");
    assert!(last["fields"]["next"].as_str().unwrap().contains("--http"));
    server.stop();
}

/// Guards the same for settings that cannot be read.
#[test]
fn mistakes_in_settings_are_reported_in_the_format_of_the_log() {
    let folder = tempdir().unwrap();
    let mistakes = ["serve", "--http", "nowhere", "--step", "0"];
    let told = |more: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&mistakes[..], more].concat();
        let run = finish(command(folder.path(), &arguments).envs(variables.iter().copied()));
        assert_eq!(run.code, 1, "{run:?}");
        run.errors
    };
    for errors in [
        told(&["--log-format", "json"], &[]),
        told(&[], &[("LEAFID_LOG_FORMAT", "json")]),
    ] {
        let lines = errors.lines().map(serde_json::from_str::<Value>);
        let lines: Vec<Value> = lines.collect::<Result<_, _>>().expect(&errors);
        assert_eq!(lines.len(), 2, "{errors}");
        for line in lines {
            assert_eq!(line["level"], "ERROR", "{line}");
        }
    }
    assert!(told(&[], &[]).starts_with("error: http is \"nowhere\""));
    assert!(told(&["--log-format", "xml"], &[]).starts_with("error: "));
}
