//! Guards the access file, its reload at SIGHUP, and the commands that send a token.

mod rotation;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::tempdir;

use crate::server_process::{Run, SECRET, Server, command, finish, run, until};

/// As `SECRET` begins, every output of the binary is searched for it.
fn secret(name: &str) -> String {
    format!("{SECRET}-of-{name}-and-more")
}

fn token(name: &str, more: &str) -> String {
    format!(
        "[[token]]\nname = \"{name}\"\nsecret = \"{}\"\n{more}\n",
        secret(name)
    )
}

fn write(folder: &Path, text: &str) {
    let path = folder.join("access.toml");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Creates tags, which only an admin can do on a server with tokens.
fn create(folder: &Path, tags: &[&str]) {
    for tag in tags {
        run(folder, &["tag", "create", tag, "--data-dir", "leafid-data"]).ok();
    }
}

/// Runs a command against a server, with the secret of a token in the environment.
fn as_token(name: &str, server: &Server, arguments: &[&str]) -> Run {
    let folder = tempdir().unwrap();
    let arguments = [arguments, &["--server", &server.url]].concat();
    finish(command(folder.path(), &arguments).env("LEAFID_TOKEN", secret(name)))
}

fn reload(server: &Server, told: &str) {
    let before = server.log().matches(told).count();
    server.signal("HUP");
    until(told, || {
        (server.log().matches(told).count() > before).then_some(())
    });
}

#[test]
fn mistakes_in_the_file_stop_the_start() {
    let folder = tempdir().unwrap();
    write(
        folder.path(),
        &format!("{}\n[[quota]]\ntga = 'a'\n", token("a", "admn = true")),
    );
    for words in [&["serve"][..], &["config", "check"]] {
        let arguments = [words, &["--access-file", "access.toml"]].concat();
        let failed = run(folder.path(), &arguments);
        let mistake = "access.toml:4: unknown key admn: did you mean admin?";
        failed.check_failed(1, mistake, "docs/");
        failed.check_failed(1, "access.toml:7: unknown key tga: did you mean tag?", "");
        failed.check_failed(1, "access.toml:6: a quota has no ids_per_second", "");
    }
    let missing = run(folder.path(), &["serve", "--access-file", "nowhere.toml"]);
    missing.check_failed(
        1,
        "cannot read the access file nowhere.toml: No such file",
        "docs/",
    );
    // Commands that only need the store do not need the file to be readable.
    let next = ["next", "order", "--data-dir", "ids"];
    let next = finish(command(folder.path(), &next).env("LEAFID_ACCESS_FILE", "nowhere.toml"));
    assert_eq!(next.ok(), "1\n");
}

#[test]
fn commands_show_their_token() {
    let folder = tempdir().unwrap();
    write(
        folder.path(),
        &[token("taker", ""), token("ops", "admin = true")].concat(),
    );
    create(folder.path(), &["order", "leafid-bench"]);
    let server = Server::start(folder.path(), &["--access-file", "access.toml"]);
    let next = ["next", "order", "-n", "2", "--server", &server.url];
    run(folder.path(), &next).check_failed(1, "requires a token", "LEAFID_TOKEN");
    assert_eq!(
        as_token("taker", &server, &["next", "order", "-n", "2"]).ok(),
        "1\n2\n"
    );
    as_token("nobody", &server, &["next", "order"]).check_failed(
        1,
        "token is unknown",
        "--token-file",
    );
    let file = folder.path().join("ops.secret");
    std::fs::write(&file, format!("{}\n", secret("ops"))).unwrap();
    // The file wins over the environment.
    let file = file.to_str().unwrap();
    let ask =
        |words: &[&str]| as_token("taker", &server, &[words, &["--token-file", file]].concat());
    assert!(ask(&["tag", "create", "made"]).ok().contains("made"));
    until("worker id", || {
        let list = ask(&["worker", "list"]).ok();
        list.contains("this server").then_some(())
    });
    as_token("taker", &server, &["tag", "delete", "made"]).check_failed(
        1,
        "may not change anything: that needs an admin's token",
        "admin = true",
    );
    let bench = ["bench", "--seconds", "1", "--json"];
    assert_eq!(as_token("taker", &server, &bench).json()["failures"], 0);
    let empty = as_token(
        "ops",
        &server,
        &["tag", "list", "--token-file", "/dev/null"],
    );
    empty.check_failed(1, "the first line of /dev/null is empty", "secret");
    server.stop();
}

#[test]
fn quotas_are_changed_by_command() {
    let folder = tempdir().unwrap();
    write(
        folder.path(),
        &format!(
            "{}[[quota]]\nserver = true\nids_per_second = 100000\n",
            token("ops", "admin = true")
        ),
    );
    let server = Server::start(folder.path(), &["--access-file", "access.toml"]);
    let ask = |words: &[&str]| as_token("ops", &server, words);
    assert_eq!(
        ask(&["quota", "set", "0", "--tag", "order"]).ok(),
        "quota on tag order: 0 ids a second\n"
    );
    ask(&["next", "order"]).check_failed(1, "the quota of tag \"order\", 0 ids a second", "");
    assert_eq!(ask(&["next", "other"]).ok(), "1\n");
    let set = ask(&["quota", "set", "7", "--token-name", "ops", "--json"]).json();
    assert_eq!(
        set,
        serde_json::json!({ "on": "token", "name": "ops", "ids_per_second": 7 })
    );
    let listed = ask(&["quota", "list"]).ok();
    let rows: Vec<Vec<&str>> = listed
        .lines()
        .map(|row| row.split_whitespace().collect())
        .collect();
    let expected = [
        vec!["ON", "NAME", "IDS", "PER", "SECOND"],
        vec!["server", "-", "100000"],
        vec!["tag", "order", "0"],
        vec!["token", "ops", "7"],
    ];
    assert_eq!(rows, expected);
    assert_eq!(
        ask(&["quota", "remove", "--tag", "order"]).ok(),
        "quota on tag order: none\n"
    );
    assert_eq!(ask(&["next", "order"]).ok(), "1\n");
    let json = ask(&["quota", "remove", "--all", "--json"]).json();
    assert_eq!(json["removed"], "the server");
    ask(&["quota", "set", "1", "--token-name", "nobody"]).check_failed(
        1,
        "no token named",
        "access file",
    );
    ask(&["quota", "set", "1"]).check_usage();
    ask(&["quota", "remove", "--all", "--tag", "order"]).check_usage();
    server.stop();
}

/// An open connection over which one request after the other is sent.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(std::time::Duration::from_secs(20)))
            .unwrap();
        Self(BufReader::new(stream))
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(
            self.0.read_line(&mut line).unwrap() > 0,
            "the connection was closed"
        );
        line.trim_end().to_owned()
    }

    /// The status of an HTTP request.
    fn get(&mut self, path: &str, token: &str) -> String {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
            secret(token)
        );
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        let status = self.line();
        let mut len = 0;
        loop {
            let line = self.line().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                len = value.parse().unwrap();
            }
        }
        std::io::Read::read_exact(&mut self.0, &mut vec![0; len]).unwrap();
        status.split(' ').nth(1).unwrap().to_owned()
    }

    /// The first line of the answer to a Redis command.
    fn redis(&mut self, line: &str) -> String {
        self.0
            .get_mut()
            .write_all(format!("{line}\r\n").as_bytes())
            .unwrap();
        self.line()
    }
}

fn redis_address(server: &Server) -> String {
    let start = server.greeting.split("redis://").nth(1).unwrap();
    let end = start.find([',', ' ', '\n']).unwrap();
    start[..end].to_owned()
}

/// Guards that a reload applies to open connections, and closes none.
#[test]
fn a_hangup_reads_the_file_again_and_drops_no_connection() {
    let folder = tempdir().unwrap();
    write(
        folder.path(),
        &[token("old", ""), token("stays", "")].concat(),
    );
    create(folder.path(), &["order", "stopped"]);
    let server = Server::start(folder.path(), &["--access-file", "access.toml"]);
    assert!(
        server.log().contains("no client can change tags"),
        "{}",
        server.log()
    );
    let path = "/v1/tags/order/ids";
    let mut http = Connection::open(server.address());
    let mut redis = ["old", "stays"].map(|name| {
        let mut redis = Connection::open(&redis_address(&server));
        assert!(redis.redis("INCR order").starts_with("-NOAUTH"));
        assert_eq!(redis.redis(&format!("AUTH {name} {}", secret(name))), "+OK");
        assert!(redis.redis("INCR order").starts_with(':'));
        redis
    });
    assert_eq!(http.get(path, "old"), "200");
    assert_eq!(http.get(path, "new"), "401");

    let quota = "[[quota]]\ntag = 'stopped'\nids_per_second = 0\n";
    let changed = [&token("stays", "admin = true"), &token("new", ""), quota].concat();
    write(folder.path(), &changed);
    reload(&server, "reloaded the access file");
    assert_eq!(http.get(path, "old"), "401");
    assert_eq!(
        (http.get(path, "new"), http.get(path, "stays")),
        ("200".into(), "200".into())
    );
    assert_eq!(http.get("/v1/tags/stopped/ids", "new"), "429");
    let [old, stays] = &mut redis;
    assert!(old.redis("INCR order").starts_with("-NOAUTH"));
    assert!(stays.redis("INCR order").starts_with(':'));
    assert_eq!(old.redis(&format!("AUTH new {}", secret("new"))), "+OK");
    assert!(old.redis("INCR order").starts_with(':'));

    // A mistake, and a file without tokens, change nothing.
    write(folder.path(), "[[token]]\nname = 'x'\nsecret = 'short'\n");
    reload(&server, "access.toml:3: this secret has 5 characters");
    write(folder.path(), "");
    reload(&server, "there are no tokens in it");
    assert_eq!(
        (http.get(path, "new"), http.get(path, "x")),
        ("200".into(), "401".into())
    );
    assert!(stays.redis("INCR order").starts_with(':'));

    // A quota that was set by command stays until the file sets another one.
    assert_eq!(
        as_token("stays", &server, &["quota", "set", "0", "--tag", "order"]).code,
        0
    );
    write(folder.path(), &changed);
    reload(&server, "reloaded the access file");
    assert_eq!(http.get(path, "new"), "429");
    write(
        folder.path(),
        &changed
            .replace("stopped", "order")
            .replace("= 0", "= 1000000"),
    );
    reload(&server, "reloaded the access file");
    assert_eq!(http.get(path, "new"), "200");
    assert_eq!(http.get("/v1/tags/stopped/ids", "new"), "200");

    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(folder.path().join("access.toml"), open).unwrap();
    reload(&server, "(mode 644): chmod 600");
    assert_eq!(http.get(path, "new"), "200");
    server.stop();
}

/// Guards that SIGHUP ends no server, not even one without files to reload.
#[test]
fn a_hangup_ends_no_server() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    for expected in ["1", "2", "3"] {
        server.signal("HUP");
        let answer = server.get("/api/segment/get/order");
        assert_eq!(answer, (200, expected.to_owned()), "{}", server.log());
    }
    server.stop();
}

/// Guards that a certificate which cannot be read, because opening it would block forever, keeps no
/// removed token valid.
#[test]
fn tokens_are_read_again_whatever_the_certificate_does() {
    let folder = tempdir().unwrap();
    let certificate = leafid_testbed::Authority::new().issue(["127.0.0.1"]);
    certificate.write(folder.path(), "server");
    write(
        folder.path(),
        &[token("old", ""), token("stays", "")].concat(),
    );
    create(folder.path(), &["order"]);
    let tls = ["--tls-cert", "server.pem", "--tls-key", "server.key"];
    let arguments = [&["--access-file", "access.toml"][..], &tls].concat();
    let server = Server::start(folder.path(), &arguments);
    let status = |name: &str| server.get_as("/v1/tags/order/ids", &secret(name)).0;
    assert_eq!((status("old"), status("stays")), (200, 200));
    let cert = folder.path().join("server.pem");
    std::fs::remove_file(&cert).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&cert).status();
    assert!(made.unwrap().success());
    write(folder.path(), &token("stays", ""));
    for round in 1..=2 {
        reload(&server, "it is not a regular file");
        assert_eq!(
            (status("old"), status("stays")),
            (401, 200),
            "round {round}"
        );
    }
    // The access file itself may be such a file.
    certificate.write(folder.path(), "new");
    std::fs::rename(folder.path().join("new.pem"), &cert).unwrap();
    std::fs::rename(
        folder.path().join("new.key"),
        folder.path().join("server.key"),
    )
    .unwrap();
    let access = folder.path().join("access.toml");
    std::fs::remove_file(&access).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&access).status();
    assert!(made.unwrap().success());
    reload(&server, "reloaded the certificate");
    assert!(
        server.log().contains("cannot read the access file"),
        "{}",
        server.log()
    );
    assert_eq!((status("old"), status("stays")), (401, 200));
    server.stop();
}

/// Guards that no server is opened to other machines by mistake.
#[test]
fn a_server_without_authentication_is_not_opened_to_the_network() {
    let folder = tempdir().unwrap();
    for (flag, key) in [("--http", "http"), ("--resp", "resp"), ("--grpc", "grpc")] {
        let refused = run(
            folder.path(),
            &["serve", "--http=127.0.0.1:0", flag, "0.0.0.0:0"],
        );
        let refused = match key {
            "http" => run(folder.path(), &["serve", flag, "0.0.0.0:0"]),
            _ => refused,
        };
        let error =
            format!("{key} listens on 0.0.0.0:0 (from {flag}), which other machines can reach");
        refused.check_failed(1, &error, "docs/");
        refused.check_failed(1, "set access-file", "");
    }
    let check = |arguments: &[&str]| {
        let open = ["config", "check", "--http", "0.0.0.0:0"];
        run(folder.path(), &[&open, arguments].concat())
    };
    check(&[]).check_failed(
        1,
        "or set insecure = true (--insecure) if this is intended",
        "",
    );
    let noted = check(&["--insecure"]).ok();
    assert!(noted.contains("note: http listens on 0.0.0.0:0"), "{noted}");
    write(
        folder.path(),
        "[[quota]]\nserver = true\nids_per_second = 5\n",
    );
    check(&["--access-file", "access.toml"]).check_failed(1, "without authentication", "");
    write(folder.path(), &token("ops", "admin = true"));
    let quiet = check(&["--access-file", "access.toml"]).ok();
    assert_eq!(quiet, "the settings are valid\n");
    // Leaf's own file brings the address, and is served as Leaf serves it.
    let leaf = "leaf.segment.enable=false\nleaf.snowflake.enable=false\n";
    std::fs::write(folder.path().join("leaf.properties"), leaf).unwrap();
    let as_leaf = ["config", "check", "--leaf-properties", "leaf.properties"];
    let noted = run(folder.path(), &as_leaf).ok();
    assert!(
        noted.contains("(from leaf.properties), which other machines can reach"),
        "{noted}"
    );
    assert!(noted.contains("as with Leaf; set access-file"), "{noted}");
}
