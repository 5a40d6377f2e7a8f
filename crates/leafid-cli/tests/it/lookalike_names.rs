//! Guards against names of tags that could pass for something else: a log line, or another tag. No
//! such tag can be created, by any call; existing ones continue, and are shown with invisible
//! characters escaped.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;

use leafid::Tag;
use leafid::store::TagSpec;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::server_process::{Server, run};

/// One that reverses the text after it, one that begins a line, and one like another tag.
const OLD: [&str; 3] = [
    "order\u{202e}desrever",
    "a\u{2028}2026-11-22T00:00:00.000000Z ERROR leafid: alarm",
    "pay\u{200b}",
];
const INVISIBLE: [char; 3] = ['\u{202e}', '\u{2028}', '\u{200b}'];

/// A folder whose embedded store has these tags, as SQL by hand creates them.
fn with_old_tags() -> TempDir {
    let folder = tempdir().unwrap();
    let path = folder.path().join("leafid-data").join("leafid.db");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let url = leafid_stores::StoreUrl::sqlite(path);
    let options = leafid_stores::StoreOptions::default();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let store = leafid_stores::open(&url, &options).await.unwrap();
        for name in OLD {
            let mut spec = TagSpec::new(Tag::new(name).unwrap());
            spec.description = Some(format!("of\nname {name}"));
            store.create(&spec).await.unwrap();
        }
    });
    folder
}

fn check_shown(text: &str) {
    assert!(!text.contains(INVISIBLE), "{text:?}");
    assert!(text.contains(r"\u{") || text.contains(r"\\u{"), "{text:?}");
}

fn encoded(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// Status and code of an attempt to create a tag over HTTP.
fn create(server: &Server, name: &str) -> (u16, Value) {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent = ureq::Agent::from(config.build());
    let post = agent.post(format!("{}/v1/tags", server.url));
    let mut answer = post.send_json(json!({ "tag": name })).unwrap();
    let problem: Value = answer.body_mut().read_json().unwrap();
    (answer.status().as_u16(), problem["code"].clone())
}

/// The answer to a command of the Redis protocol.
fn redis(server: &Server, words: [&str; 2]) -> String {
    let mut addresses = server.greeting.split("redis://").skip(1);
    let address = addresses.next().unwrap().split(',').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let bulk = words.map(|word| format!("${}\r\n{word}\r\n", word.len()));
    write!(stream, "*2\r\n{}", bulk.concat()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

#[test]
fn no_way_creates_a_tag_with_an_invisible_character() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    for name in OLD {
        assert_eq!(create(&server, name), (400, "bad_tag".into()), "{name:?}");
        let (status, text) = server.get(&format!("/v1/tags/{}/ids", encoded(name)));
        assert_eq!(status, 404, "{text}");
        let (status, text) = server.get(&format!("/api/segment/get/{}", encoded(name)));
        assert_eq!(status, 500, "{text}");
        let answer = redis(&server, ["INCR", name]);
        assert!(answer.starts_with('-'), "{answer:?}");
        check_shown(&answer);
        let asked = ["tag", "create", name, "--server", &server.url];
        let refused = run(folder.path(), &asked);
        refused.check_failed(2, "must not contain invisible characters", "choose a name");
    }
    assert_eq!(server.json("/v1/tags")["tags"], json!([]));
    server.stop();
    for name in OLD {
        let behind = ["tag", "create", name, "--data-dir", "leafid-data"];
        run(folder.path(), &behind).check_failed(2, "invisible characters", "");
        let taken = ["next", name, "--data-dir", "leafid-data"];
        assert_eq!(run(folder.path(), &taken).code, 1, "{name:?}");
    }
    let list = ["tag", "list", "--json", "--data-dir", "leafid-data"];
    assert_eq!(run(folder.path(), &list).json()["tags"], json!([]));
}

#[test]
fn tags_with_invisible_characters_still_work_and_are_shown_escaped() {
    let folder = with_old_tags();
    for format in ["text", "json"] {
        let arguments = ["--log", "debug", "--log-format", format];
        let server = Server::start(folder.path(), &arguments);
        for name in OLD {
            let (status, text) = server.get(&format!("/v1/tags/{}/ids", encoded(name)));
            assert_eq!(status, 200, "{text}");
            assert_eq!(redis(&server, ["INCR", name]).get(..1), Some(":"));
            let (status, problem) = server.get(&format!("/v1/tags/{}x", encoded(name)));
            assert_eq!(status, 404);
            check_shown(&problem);
        }
        let mut expected = OLD;
        expected.sort_unstable();
        assert_eq!(listed(&server), expected, "as they are, to programs");
        // A series keeps the name that programs know.
        let series = format!("leafid_ids_issued_total{{tag=\"{}\"}}", OLD[0]);
        assert!(server.metric(&series) >= 2.0);
        check_shown(&server.get("/cache").1);
        check_shown(&server.get("/db").1);
        check_commands(folder.path(), &["--server", &server.url]);
        let log = server.log();
        check_shown(&log);
        let is_line = |line: &str| line.starts_with(['2', '{']);
        assert!(log.lines().all(is_line), "{log}");
        server.stop();
    }
    check_commands(folder.path(), &["--data-dir", "leafid-data"]);
}

/// All tags, from a page for each.
fn listed(server: &Server) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    while names.len() <= OLD.len() {
        let after = names.last().map(|last| format!("&after={}", encoded(last)));
        let page = server.json(&format!("/v1/tags?limit=1{}", after.unwrap_or_default()));
        names.extend(page["tags"][0]["tag"].as_str().map(str::to_owned));
        if page["next"].is_null() {
            break;
        }
    }
    names
}

fn check_commands(folder: &Path, target: &[&str]) {
    let ask = |words: &[&str]| run(folder, &[words, target].concat());
    let table = ask(&["tag", "list"]).ok();
    check_shown(&table);
    assert_eq!(table.lines().count(), 4, "{table}");
    check_shown(&ask(&["tag", "list", "-n", "1"]).ok());
    for name in OLD {
        check_shown(&ask(&["tag", "show", name]).ok());
        let unknown = ask(&["tag", "delete", &format!("{name}x")]);
        assert!(!unknown.errors.contains(INVISIBLE), "{unknown:?}");
    }
}

/// Guards that a name adds nothing to a log line but itself.
#[test]
fn a_name_with_quotes_is_one_field_of_the_log() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let name = "a\" is_admin=\"yes";
    assert_eq!(create(&server, name).0, 201);
    let (status, text) = server.get(&format!("/v1/tags/{}/ids", encoded(name)));
    assert_eq!(status, 200, "{text}");
    let log = server.log();
    assert!(log.contains(r#"tag="a\" is_admin=\"yes""#), "{log}");
    assert!(!log.contains(r#" is_admin="yes"#), "{log}");
    server.stop();
}
