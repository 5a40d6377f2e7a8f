//! Guards the front end of the Redis protocol against real client libraries: with their defaults,
//! over RESP2 and over RESP3, each of them sees what it would see of Redis, and no id repeats.
//!
//! The programs are in `tests/clients`. They print what they saw, and this checks it.

mod program;
mod transcript;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;

use leafid_testbed::Proxy;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::server_process::{SECRET, Server, run};
use program::Library;
pub(crate) use program::{Program, clients, install_node};
use transcript::Transcript;

/// The first id that is too large for a JavaScript number.
const LARGE: u64 = (1 << 53) + 1;

/// A test for each library and each way to set it up.
macro_rules! check_libraries {
    ($($module:ident $library:ident)*) => {
        $(mod $module {
            use super::{Library, Setup, check};

            #[test]
            fn with_its_defaults() {
                check(Library::$library, Setup::Default);
            }

            #[test]
            fn over_resp2_with_a_password() {
                check(Library::$library, Setup::Resp2);
            }

            #[test]
            fn over_resp3_with_a_password() {
                check(Library::$library, Setup::Resp3);
            }
        })*
    };
}

check_libraries! {
    redis_py RedisPy
    node_redis NodeRedis
    ioredis Ioredis
    go_redis GoRedis
    jedis Jedis
    lettuce Lettuce
}

/// The configuration of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setup {
    /// With only the address.
    Default,
    Resp2,
    Resp3,
}

impl Setup {
    /// The argument of a program.
    fn protocol(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Resp2 => "2",
            Self::Resp3 => "3",
        }
    }

    /// The name of the connection; with it comes a password.
    fn name(self) -> Option<&'static str> {
        (self != Self::Default).then_some("shop")
    }
}

/// A server in a folder, with tags of its own, which creates none on first use.
fn start(folder: &Path, more: &[&str]) -> (Server, u16) {
    let large = LARGE.to_string();
    let tags = [&["order"][..], &["user"], &["large", "--start", &large]];
    for tag in tags {
        let words = [&["tag", "create", "--data-dir", "ids"][..], tag].concat();
        run(folder, &words).ok();
    }
    let words = [&["--data-dir", "ids", "--create-tags=false"], more].concat();
    let server = Server::start(folder, &words);
    let (_, protocol) = server.greeting.split_once(", redis://127.0.0.1:").unwrap();
    let port = protocol.split(|sign: char| !sign.is_ascii_digit()).next();
    let port = port.unwrap().parse().unwrap();
    (server, port)
}

/// Runs the library's program, and cuts its connections in between.
fn check(library: Library, setup: Setup) {
    let folder = tempdir().unwrap();
    let password = format!("{SECRET}-of-the-shop-and-more");
    let mut access = ["--access-file", "access.toml"].as_slice();
    match setup.name() {
        Some(name) => write_access_file(folder.path(), name, &password),
        None => access = &[],
    }
    let (server, port) = start(folder.path(), access);
    let proxy = Proxy::new(port);
    let address = format!("127.0.0.1:{}", proxy.port());
    let mut words = vec!["check", &address, setup.protocol()];
    if let Some(name) = setup.name() {
        words.extend([name, &password]);
    }
    let mut program = library.start(&words);
    let mut lines = program.read_until("large get");
    proxy.cut();
    program.go_on();
    lines.extend(program.finish());
    let sight = Transcript::new(library, lines);
    check_connection(&sight, setup);
    check_ids(&sight);
    check_errors(&sight);
    if setup.name().is_some() {
        check_password(&sight);
    }
    server.stop();
}

/// One token, whose secret is the password. Only its owner may read such a file.
fn write_access_file(folder: &Path, name: &str, password: &str) {
    let path = folder.join("access.toml");
    let token = format!("[[token]]\nname = \"{name}\"\nsecret = \"{password}\"\n");
    fs::write(&path, token).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn check_connection(sight: &Transcript, setup: Setup) {
    let protocol = if setup == Setup::Resp2 { "2" } else { "3" };
    assert_eq!(sight.protocol(), protocol, "{sight:?}");
    let name = json!(setup.name());
    sight.check("name", &name);
    sight.check("name after the cut", &name);
    assert!(sight.has_value("ping") && sight.has_value("select"));
}

/// All ids of one tag are consecutive, whichever command took them.
fn check_ids(sight: &Transcript) {
    sight.check("incr", &json!("1"));
    sight.check("incrby", &json!("11"));
    sight.check("get", &json!("11"));
    sight.check("get unknown", &Value::Null);
    sight.check("next", &json!("12"));
    sight.check("next many", &json!(["13", "14", "15"]));
    sight.check("range", &json!(["16", "19"]));
    let hundred: Vec<String> = (20..120).map(|id: u64| id.to_string()).collect();
    sight.check("pipeline", &json!(hundred));
    sight.check("mixed pipeline", &json!(["120", "1", "125", "125"]));
    sight.check("transaction", &json!(["128", "2", "133", "133"]));
    sight.check("incr after the cut", &json!("134"));
    sight.check("large incr", &json!(LARGE.to_string()));
    let [second, third] = [1, 2].map(|more| (LARGE + more).to_string());
    sight.check("large next", &json!([second, third]));
    sight.check("large get", &json!(third));
}

/// Errors arrive as the library's own type, with our words.
fn check_errors(sight: &Transcript) {
    let refused = ["SET", "would repeat ids"];
    let [before, error, after] = sight.three("refused in pipeline");
    assert_eq!((before, after), (&json!("126"), &json!("127")));
    sight.check_error(error, &refused);
    // Some libraries report the error of the command, others that of the transaction.
    let whole = sight.error("refused in transaction");
    if whole["text"].as_str().unwrap().contains("EXECABORT") {
        sight.check_error(whole, &["previous errors"]);
    } else {
        sight.check_error(whole, &refused);
    }
    sight.check_error(sight.error("set"), &refused);
    sight.check_error(sight.error("delete"), &["DEL", "would repeat ids"]);
    sight.check_error(sight.error("unknown tag"), &["unknown_tag", "\"nothing\""]);
    let unknown = "unknown command 'FROBNICATE', with args beginning with: 'order'";
    sight.check_error(sight.error("unknown command"), &[unknown]);
    let other = sight.error("select another");
    sight.check_error(other, &["DB index is out of range"]);
}

fn check_password(sight: &Transcript) {
    let wrong = "invalid username-password pair or user is disabled";
    sight.check_refusal(sight.error("wrong password"), &[wrong]);
    let none = sight.error("no password");
    let said = if none["text"].as_str().unwrap().contains("HELLO") {
        "HELLO must be called with the client already authenticated"
    } else {
        "Authentication required"
    };
    sight.check_refusal(none, &[said]);
}

/// Guards uniqueness over all libraries at once, across segments: each id goes to one of them only.
#[test]
fn all_libraries_together_never_take_an_id_twice() {
    const ROUNDS: usize = 40;
    let folder = tempdir().unwrap();
    let (server, port) = start(folder.path(), &[]);
    let address = format!("127.0.0.1:{port}");
    let taken: Vec<Vec<u64>> = thread::scope(|scope| {
        let take = |library: Library| {
            let rounds = ROUNDS.to_string();
            let words = ["take", &address, "default", "order", &rounds];
            let lines = library.start(&words).finish();
            Transcript::new(library, lines).ids()
        };
        let threads = Library::ALL.map(|library| scope.spawn(move || take(library)));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    let all: BTreeSet<u64> = taken.iter().flatten().copied().collect();
    let count = Library::ALL.len() * ROUNDS * 33;
    assert_eq!(taken.iter().map(Vec::len).sum::<usize>(), count);
    assert_eq!(all.len(), count, "an id came twice");
    let [first, last] = [all.first(), all.last()].map(|id| *id.unwrap());
    assert_eq!(first, 1);
    // A range that does not fit into the rest of a segment skips that.
    let lost = usize::try_from(last).unwrap() - count;
    assert!(
        lost < 1000,
        "{lost} ids between others were given to nobody"
    );
    server.stop();
}
