//! Guards the web console as people use it: in a real browser, on real servers under load. The
//! scenarios are in `tests/clients/console`; pictures of the pages are kept beside the build.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use leafid_testbed::{Postgres, free_port};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::clients::{Program, clients, install_node};
use crate::server_process::{SECRET, Server, ids, run};

/// Starts a scenario on a server.
fn start(scenario: &str, server: &Server, more: Value) -> Program {
    let mut facts = more;
    facts["url"] = json!(server.url);
    facts["shots"] = json!(pictures().join(scenario));
    let folder = clients().installed("console", &[], install_node);
    let program = folder.join("run.js").to_str().unwrap().to_owned();
    let words = ["node".to_owned(), program, scenario.to_owned()];
    Program::start(&[&words[..], &[facts.to_string()]].concat())
}

fn play(scenario: &str, server: &Server, more: Value) {
    start(scenario, server, more).finish();
}

/// The pictures of the pages, for people.
fn pictures() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("console-pictures")
}

/// Ids taken all the while, some hundred a second.
struct Load {
    is_over: Arc<AtomicBool>,
    taking: Option<JoinHandle<()>>,
}

impl Load {
    fn on(server: &Server) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, url) = (Arc::clone(&is_over), server.url.clone());
        let take = move || {
            let agent = ureq::Agent::new_with_defaults();
            while !over.load(Ordering::Relaxed) {
                let answer = agent
                    .post(format!("{url}/v1/tags/order/ids"))
                    .send_json(json!({ "count": 10 }));
                let body = answer.and_then(|mut answer| answer.body_mut().read_to_string());
                assert_eq!(body.map(|body| ids(&body).len()).unwrap_or_default(), 10);
                thread::sleep(Duration::from_millis(20));
            }
        };
        let taking = Some(thread::spawn(take));
        Self { is_over, taking }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(taking) = self.taking.take() {
            let ended = taking.join();
            assert!(ended.is_ok() || thread::panicking(), "the load failed");
        }
    }
}

/// A database with tables.
fn database(folder: &Path, postgres: &Postgres) -> String {
    let store = postgres.create_database().url;
    run(folder, &["store", "init", "--store", &store]).ok();
    store
}

/// Two servers on one database, which know each other.
fn cluster(folder: &Path, postgres: &Postgres) -> [Server; 2] {
    let store = database(folder, postgres);
    [(); 2].map(|()| {
        let address = format!("127.0.0.1:{}", free_port());
        let name = address.replace(':', "-");
        let own = folder.join(name);
        std::fs::create_dir(&own).unwrap();
        let arguments = ["--http", &address, "--worker-address", &address];
        let more = ["--store", &store, "--create-tags"];
        Server::start_at(&own, &[arguments.as_slice(), &more].concat())
    })
}

fn servers_of(cluster: &[Server; 2]) -> Value {
    json!({ "servers": cluster.each_ref().map(Server::address) })
}

#[test]
fn the_pages_show_what_the_metrics_say() {
    let (folder, postgres) = (tempdir().unwrap(), Postgres::start());
    let cluster = cluster(folder.path(), &postgres);
    let _load = Load::on(&cluster[0]);
    play("values", &cluster[0], servers_of(&cluster));
}

/// Also: nothing is loaded from elsewhere, no script breaks the policy, and axe finds nothing serious.
#[test]
fn every_page_is_usable_in_the_dark_and_on_a_phone() {
    let (folder, postgres) = (tempdir().unwrap(), Postgres::start());
    let cluster = cluster(folder.path(), &postgres);
    let _load = Load::on(&cluster[0]);
    play("looks", &cluster[0], servers_of(&cluster));
    play("chinese", &cluster[0], servers_of(&cluster));
}

#[test]
fn a_tag_is_created_changed_throttled_and_deleted() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    play("change_a_tag", &server, json!({}));
    play("decode", &server, json!({}));
}

#[test]
fn no_name_of_a_tag_is_code() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    play("hostile_names", &server, json!({}));
}

#[test]
fn a_token_sees_what_it_may_change() {
    let folder = tempdir().unwrap();
    let (admin, reader) = (
        format!("{SECRET}-of-admin-of-all"),
        format!("{SECRET}-of-a-reader"),
    );
    let access = format!(
        "[[token]]\nname = \"ops\"\nsecret = \"{admin}\"\nadmin = true\n\n\
         [[token]]\nname = \"reader\"\nsecret = \"{reader}\"\nscope = \"read\"\n"
    );
    std::fs::write(folder.path().join("access.toml"), access).unwrap();
    let server = Server::start(folder.path(), &["--access-file", "access.toml"]);
    let agent = ureq::Agent::new_with_defaults();
    let taken = agent
        .post(format!("{}/v1/tags/order/ids", server.url))
        .header("authorization", format!("Bearer {admin}"))
        .send_json(json!({ "count": 5 }));
    assert!(taken.is_ok(), "{taken:?}");
    play(
        "tokens",
        &server,
        json!({ "admin": admin, "reader": reader }),
    );
}

#[test]
fn pages_survive_their_server() {
    let folder = tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let arguments = ["--http", &address];
    let server = Server::start_at(folder.path(), &arguments);
    let mut program = start("outage", &server, json!({}));
    program.read_until("shown");
    server.kill();
    program.go_on();
    program.read_until("away");
    let server = Server::start_at(folder.path(), &arguments);
    program.go_on();
    program.finish();
    server.stop();
}

#[test]
fn an_outage_of_the_store_is_shown() {
    let (folder, postgres) = (tempdir().unwrap(), Postgres::start());
    let store = database(folder.path(), &postgres);
    let arguments = ["--store", &store, "--create-tags"];
    let server = Server::start(folder.path(), &arguments);
    server.get("/v1/tags/order/ids");
    let mut program = start("store_outage", &server, json!({}));
    program.read_until("shown");
    postgres.stop();
    program.go_on();
    program.read_until("down");
    postgres.start_again();
    program.go_on();
    program.finish();
}

/// Guards that the table stays usable with as many tags as a store may hold.
#[test]
fn a_million_tags_are_paged_and_searched() {
    const INSERT: &str = "\
import sqlite3
store = sqlite3.connect('leafid-data/leafid.db')
rows = (('tag-%07d' % number,) for number in range(1000000))
store.executemany('INSERT INTO leaf_alloc (biz_tag, max_id, step, update_time) VALUES (?, 1, 1000, 0)', rows)
store.commit()
assert store.execute('SELECT count(*) FROM leaf_alloc').fetchone() == (1000000,)
";
    let folder = tempdir().unwrap();
    Server::start(folder.path(), &[]).stop();
    let mut python = Command::new("python3");
    python.args(["-c", INSERT]).current_dir(folder.path());
    assert!(python.status().unwrap().success());
    let server = Server::start(folder.path(), &[]);
    for number in 0..200 {
        let (status, _) = server.get(&format!("/v1/tags/tag-{number:07}/ids"));
        assert_eq!(status, 200);
    }
    play("million", &server, json!({}));
}

/// Guards that nothing of the pages is needed from elsewhere: the port of a server is enough.
#[test]
fn the_greeting_names_the_console() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    assert!(server.greeting.contains("console"), "{}", server.greeting);
    assert!(TcpStream::connect(server.address()).is_ok());
    assert_eq!(server.get("/console").0, 200);
}
