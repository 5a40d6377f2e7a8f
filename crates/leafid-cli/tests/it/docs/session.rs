//! `Session`: the folder of a page, the server that the page has started, and its commands.
//!
//! A page names default ports and the database `db1`. Here, `serve` listens on free ports, and in
//! all other commands the default ports, `localhost`, that database and the Redis server on its
//! default port are replaced by those of the test. Nothing else of a command is changed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use leafid_testbed::{LEAF_ALLOC, Redis, install_python, shared_mariadb};
use tempfile::{TempDir, tempdir};

use super::page::commands;
use crate::clients::clients;
use crate::server_process::{SECRET, Server, command};

/// The secret behind the hash in docs/access.md.
const ADMIN: &str = "4e8a1c7d90b2f3561e7c4a8b5d9f0236";
const PROPERTIES: &str = "leaf.properties";
/// Digits from here on are a snowflake id, which is another one each time.
const VARYING_LEN: usize = 16;

pub(super) struct Session {
    /// Before the folder, which has to outlive it.
    server: Option<Server>,
    folder: TempDir,
    /// `NAME=value` of earlier commands.
    variables: Vec<(String, String)>,
    /// The MariaDB database of the page, once it has been named.
    database: Option<String>,
    redis: Option<Redis>,
    password: String,
    /// Prints which commands run, for when one fails.
    page: String,
}

impl Session {
    pub(super) fn new(page: &str) -> Self {
        let folder = tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let session = Self {
            server: None,
            folder,
            variables: Vec::new(),
            database: None,
            redis: None,
            password: format!("{SECRET}-of-leaf"),
            page: page.to_owned(),
        };
        // What pages name but do not show.
        session.write("leaf.password", &session.password);
        session.write("ops.secret", ADMIN);
        session
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Writes a file that only its owner reads.
    pub(super) fn write(&self, name: &str, text: &str) {
        write(&self.work().join(name), text, 0o600);
    }

    /// Runs the commands of a script.
    pub(super) fn check_script(&mut self, script: &str, place: &str) {
        for command in commands(script) {
            let (command, expected) = match command.split_once("# => ") {
                Some((command, expected)) => (command, Some(expected)),
                None => (command.as_str(), None),
            };
            let (is_ok, printed) = self.run(command);
            let is_ok = is_ok && !printed.starts_with("(error)");
            assert!(is_ok, "{place}: {command}: {printed}");
            if let Some(expected) = expected {
                check_output(&printed, expected, command, place);
            }
        }
    }

    /// Runs commands and compares the output of each. One that must fail shows its error.
    pub(super) fn check_conversation(&mut self, text: &str, place: &str) {
        assert!(text.starts_with("$ "), "{place}: {text}");
        for part in format!("\n{text}").split("\n$ ").skip(1) {
            let (command, expected) = part.split_once('\n').unwrap_or((part, ""));
            let (_, printed) = self.run(command);
            check_output(&printed, expected, command, place);
        }
    }

    /// Runs a command; returns whether it succeeded, and its output.
    fn run(&mut self, text: &str) -> (bool, String) {
        if let Some((name, value)) = assignment(text) {
            self.variables.push((name.to_owned(), value.to_owned()));
            return (true, String::new());
        }
        if is_serve(text) {
            self.serve(text);
            return (true, String::new());
        }
        let text = self.local(text);
        self.write_properties(&text);
        self.write_programs();
        let mut shell = Command::new("sh");
        shell.args(["-c", &text]).current_dir(self.work());
        shell.stdin(Stdio::null()).envs(self.environment(&text));
        let output = shell.output().unwrap();
        if text.starts_with("kill \"") {
            let mut server = self.server.take().unwrap();
            assert_eq!(server.wait().code(), Some(0), "{}", server.log());
        }
        let printed = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(printed).unwrap())
    }

    /// Starts the server of the page, in place of the one before.
    fn serve(&mut self, text: &str) {
        self.stop();
        let text = self.local(text.split(" #").next().unwrap());
        self.write_properties(&text);
        let (_, flags) = text.split_once("serve").unwrap();
        let mut serve = command(&self.work(), &["serve"]);
        serve.env("LEAFID_HTTP", "127.0.0.1:0");
        serve.envs(self.environment(&text));
        let before = text.split_whitespace();
        serve.envs(before.map_while(assignment));
        let flags = [":8080", ":8081", ":6380", ":50051"]
            .iter()
            .fold(flags.to_owned(), |flags, port| flags.replace(port, ":0"));
        // A shell takes the quotes away.
        serve.args(flags.split_whitespace().map(|flag| flag.trim_matches('\'')));
        let server = Server::launch(serve, &self.work());
        // Only a client with a certificate could ask.
        if !flags.contains("--tls-client-ca") {
            server.wait_until_ready();
        }
        self.server = Some(server);
    }

    pub(super) fn stop(&mut self) {
        self.server.take().into_iter().for_each(Server::stop);
    }

    /// The same text with the addresses of the test.
    fn local(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        if text.contains("db1:3306/leaf") {
            let place = self.database();
            text = text.replace("db1:3306/leaf", &place);
        }
        let Some(server) = &self.server else {
            return text;
        };
        let port = |scheme: &str| server.port(scheme).to_string();
        if !is_serve(&text) {
            text = text.replace(":8080", &format!(":{}", port("http")));
            text = text.replace("-p 6380", &format!("-p {}", port("redis")));
            text = text.replace(":50051", &format!(":{}", port("grpc")));
        }
        text
    }

    /// The location of the page's database: an empty one, and a user with a password.
    fn database(&mut self) -> String {
        let password = &self.password;
        let place = self.database.get_or_insert_with(|| {
            let server = shared_mariadb();
            let name = server.create_database().name;
            let user = format!(
                "CREATE USER IF NOT EXISTS leaf@'%' IDENTIFIED BY '{password}'; \
                 GRANT ALL ON {name}.* TO leaf@'%'"
            );
            server.sql("mysql", &user);
            format!("127.0.0.1:{}/{name}", server.port())
        });
        place.clone()
    }

    /// Before a command that reads Leaf's settings: Leaf's table with a tag, and the file itself
    /// with the address and the password of the test.
    fn write_properties(&mut self, command: &str) {
        let path = self.work().join(PROPERTIES);
        let text = fs::read_to_string(&path).unwrap();
        if !command.contains(PROPERTIES) || !text.contains("db1:3306") {
            return;
        }
        let text = self.local(&text).replace("PASSWORD", &self.password);
        self.write(PROPERTIES, &text);
        let place = self.database();
        let (_, name) = place.split_once('/').unwrap();
        let table = LEAF_ALLOC.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS");
        let row = "INSERT IGNORE INTO leaf_alloc (biz_tag, step) VALUES ('order', 2000)";
        shared_mariadb().sql(name, &format!("{table}; {row}"));
    }

    fn environment(&self, text: &str) -> Vec<(String, String)> {
        let path = std::env::var("PATH").unwrap();
        let bin = self.folder.path().join("bin");
        let mut variables = self.variables.clone();
        variables.push(("PATH".to_owned(), format!("{}:{path}", bin.display())));
        if text.contains("mysql://") && !text.contains("jdbc") {
            variables.push(("LEAFID_STORE_PASSWORD".to_owned(), self.password.clone()));
        }
        if let Some(server) = &self.server {
            variables.push(("LEAFID_SERVER".to_owned(), server.url.clone()));
        }
        variables
    }

    /// Programs in front of those of the machine: the binary of this build, and clients that
    /// report errors by their exit code.
    fn write_programs(&mut self) {
        let bin = self.folder.path().join("bin");
        let program = |name: &str, text: &str| {
            let text = format!("#!/bin/sh\n{text}\n");
            write(&bin.join(name), &text, 0o700);
        };
        let leafid = env!("CARGO_BIN_EXE_leafid");
        program("leafid", &format!("exec {leafid} \"$@\""));
        program("cargo", &format!("shift 3; exec {leafid} \"$@\""));
        program("curl", "exec /usr/bin/curl -sS --fail-with-body \"$@\"");
        let id = self.server.as_ref().map_or(0, Server::id);
        program("pidof", &format!("echo {id}"));
        if self.page == "docs/grpc.md" {
            let python = clients().installed("grpcurl", &[], install_python);
            let (python, source) = (python.display(), clients().source("grpcurl"));
            let source = source.display();
            program(
                "grpcurl",
                &format!("exec {python}/bin/python {source}/grpcurl.py \"$@\""),
            );
        }
        let registry = match self.page.as_str() {
            "docs/registries.md" => {
                let redis = self.redis.get_or_insert_with(Redis::start);
                redis.url().replace("redis://:", "redis://default:")
            }
            _ => String::new(),
        };
        let client = "/usr/bin/redis-cli --no-raw";
        let text = match registry.as_str() {
            "" => format!("exec {client} \"$@\" 2>&1"),
            url => format!("exec {client} -u '{url}' \"$@\" 2>&1"),
        };
        program("redis-cli", &text);
    }
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// `NAME=value`, and nothing behind it.
fn assignment(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let is_name = |sign: u8| sign.is_ascii_uppercase() || sign == b'_';
    let is_all = name.bytes().all(is_name) && !value.contains(char::is_whitespace);
    is_all.then_some((name, value))
}

fn is_serve(text: &str) -> bool {
    let mut words = text
        .split_whitespace()
        .skip_while(|word| assignment(word).is_some());
    let program = words.next();
    match program {
        Some("leafid") => words.next() == Some("serve"),
        Some("cargo") => words.eq(["run", "--release", "--", "serve"]),
        _ => false,
    }
}

fn check_output(printed: &str, expected: &str, command: &str, place: &str) {
    let (seen, wanted) = (shape(printed), shape(expected));
    assert_eq!(seen, wanted, "{place}: what `{command}` prints");
}

/// Hides what differs between two runs: snowflake ids and runs of white space.
fn shape(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let mut shape = String::new();
    let mut digits = String::new();
    for sign in text.chars().chain(['\n']) {
        if sign.is_ascii_digit() {
            digits.push(sign);
            continue;
        }
        match digits.len() < VARYING_LEN {
            true => shape.push_str(&digits),
            false => shape.push('N'),
        }
        digits.clear();
        shape.push(sign);
    }
    shape.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_compared_but_for_snowflake_ids() {
        assert_eq!(shape("a  2124074991795306838\n"), "a N");
        assert_eq!(shape("[\"12\"]"), "[\"12\"]");
    }

    #[test]
    fn a_server_is_distinguished_from_other_commands() {
        assert!(is_serve("leafid serve --http 0.0.0.0:8080"));
        assert!(is_serve("LEAFID_HTTP=0.0.0.0:8080 leafid serve"));
        assert!(is_serve("cargo run --release -- serve"));
        assert!(!is_serve("leafid store init"));
    }
}
