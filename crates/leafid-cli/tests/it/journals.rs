//! Guards on the real binary what a journal is good for: with a lease from elsewhere, a copied
//! folder or a removed file no server issues another one's ids; a journal that cannot be written
//! for a while stops ids for that while only; and a server that is killed again and again issues.

use std::collections::HashSet;
use std::fs;
use std::net::TcpStream;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::{Command, Stdio};

use leafid::{Layout, SystemClock};
use leafid_testbed::{Postgres, Redis};
use serde_json::Value;
use tempfile::tempdir;

use crate::server_process::{Server, run, until};
use crate::snowflake_load::{Callers, Given, Told, now_ms};

/// How many ids are taken of each server, if it issues any.
const IDS: usize = 20_000;

/// Starts a server with this `data-dir`.
fn start(folder: &Path, data: &str, arguments: &[&str]) -> Server {
    let own = ["--data-dir", data, "--segment=false"];
    Server::start_unready(folder, &[&own[..], arguments].concat())
}

fn worker(server: &Server) -> Value {
    server.json("/v1/worker")
}

fn is_holding(server: &Server) -> bool {
    worker(server)["stage"] == "holding"
}

fn held(server: &Server) -> u64 {
    until("worker id", || {
        let worker = worker(server);
        let holds = worker["stage"] == "holding";
        holds.then(|| worker["worker"].as_u64()).flatten()
    })
}

/// Takes some ids, and ends the server as a power cut does.
fn use_up(server: Server) -> Vec<u64> {
    held(&server);
    let callers = Callers::start(&server);
    callers.wait_for_ids(1000);
    server.kill();
    ids(&callers.stop())
}

fn ids(told: &Told) -> Vec<u64> {
    told.given.iter().map(|given| given.id).collect()
}

/// Asks until each caller has this many ids, or was refused.
fn take(callers: &[Callers], count: usize) {
    for callers in callers {
        until("answers", || {
            let told = callers.told();
            (told.given.len() >= count || !told.refused.is_empty()).then_some(())
        });
    }
}

/// Checks that no id repeats; returns how many there are.
fn check_unique(ids: &[u64]) -> usize {
    let distinct: HashSet<&u64> = ids.iter().collect();
    let twice = ids.len() - distinct.len();
    assert_eq!(twice, 0, "{twice} of {} ids twice", ids.len());
    ids.len()
}

/// Two servers with leases of other registries are started with one that is down, and then it comes
/// back.
fn check_elsewhere(former: [&[&str]; 2]) {
    let redis = Redis::start();
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let names = ["a", "b"];
    let mut all = Vec::new();
    for (name, arguments) in names.iter().zip(former) {
        // Ids with one number of two registries may be equal; only the ids from now on are
        // compared.
        use_up(start(folder, name, arguments));
    }
    redis.kill();
    let url = redis.url();
    let servers = names.map(|name| start(folder, name, &["--registry", &url]));
    for server in &servers {
        until("answer of the start", || {
            (worker(server)["stage"] != "starting").then_some(())
        });
    }
    let callers = servers.each_ref().map(Callers::start);
    // For longer than a restart is ahead of its clock.
    take(&callers, 4 * IDS);
    redis.start_again();
    for server in &servers {
        held(server);
    }
    let given = |callers: &Callers| callers.told().given.len();
    until("ids", || {
        callers.iter().all(|one| given(one) >= IDS).then_some(())
    });
    for callers in callers {
        all.extend(ids(&callers.stop()));
    }
    let count = check_unique(&all);
    println!("{count} ids of two servers, none twice");
    servers.into_iter().for_each(Server::stop);
}

#[test]
fn worker_ids_set_by_hand_are_no_right_in_a_registry() {
    let given: &[&str] = &["--registry", "none", "--worker-id", "0"];
    check_elsewhere([given, given]);
}

#[test]
fn leases_of_two_files_are_no_right_in_a_registry() {
    check_elsewhere([
        &["--registry", "sqlite:first.db"],
        &["--registry", "sqlite:second.db"],
    ]);
}

/// Guards a registry whose URL differs from the former one's only in its options: another schema of
/// the same database, which is down when the server starts.
#[test]
fn leases_of_two_schemas_are_no_right_in_one_another() {
    let postgres = Postgres::start();
    let database = postgres.create_database();
    let [first, second] = ["a", "b"].map(|schema| {
        let create = format!("CREATE SCHEMA {schema} AUTHORIZATION leafid");
        postgres.sql(&database.name, &create);
        format!("{}?options=-csearch_path%3D{schema}", database.url)
    });
    let folder = tempdir().unwrap();
    let folder = folder.path();
    for url in [&first, &second] {
        run(folder, &["store", "init", "--store", url]).ok();
    }
    let moved = start(folder, "a", &["--registry", &first]);
    let stays = start(folder, "b", &["--registry", &second]);
    // Two registries: both may assign the same number, and the ids of the first are not compared.
    assert_eq!(held(&moved), held(&stays));
    moved.kill();
    postgres.kill();
    let moved = start(folder, "a", &["--registry", &second]);
    until("answer of the start", || {
        (worker(&moved)["stage"] != "starting").then_some(())
    });
    let servers = [moved, stays];
    let callers = servers.each_ref().map(Callers::start);
    take(&callers, 4 * IDS);
    servers.into_iter().for_each(Server::kill);
    let all: Vec<u64> = callers
        .into_iter()
        .flat_map(|one| ids(&one.stop()))
        .collect();
    println!("{} ids, none twice", check_unique(&all));
}

/// Guards a registry whose address is in the environment: with another address it is another
/// registry.
#[test]
fn a_lease_behind_an_address_of_the_environment_is_no_right_behind_another() {
    let (postgres, other) = (Postgres::start(), Postgres::start());
    let database = postgres.create_database();
    let folder = tempdir().unwrap();
    let folder = folder.path();
    run(folder, &["store", "init", "--store", &database.url]).ok();
    let url = format!("postgres:///{}", database.name);
    let start_at = |host: &str, server: &Postgres| {
        let own = ["--data-dir", "a", "--segment=false", "--registry", &url];
        Server::spawn(folder, &own, |command| {
            let [password, _] = server.passwords();
            command.env("PGHOST", host).env("PGUSER", "leafid");
            command.env("PGPORT", server.port().to_string());
            command.env("PGPASSWORD", password);
        })
    };
    use_up(start_at("127.0.0.1", &postgres));
    postgres.kill();
    other.kill();
    let same = start_at("127.0.0.1", &postgres);
    held(&same);
    same.kill();
    for (host, server) in [("127.0.0.1", &other), ("127.0.0.2", &postgres)] {
        let moved = start_at(host, server);
        until("answer of the start", || {
            (worker(&moved)["stage"] != "starting").then_some(())
        });
        let callers = Callers::start(&moved);
        callers.wait_for_refusals(1);
        let given = callers.stop().given.len();
        println!("{given} ids of a lease from elsewhere");
        assert_eq!(given, 0, "{}", worker(&moved));
        moved.kill();
    }
}

/// Guards two copies of one folder that start at once, with the registry up and down.
#[test]
fn two_copies_of_one_folder_start_at_once() {
    for is_up in [true, false] {
        let redis = Redis::start();
        let url = redis.url();
        let folder = tempdir().unwrap();
        let folder = folder.path();
        let mut all = use_up(start(folder, "a", &["--registry", &url]));
        fs::create_dir(folder.join("b")).unwrap();
        for file in fs::read_dir(folder.join("a")).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), folder.join("b").join(file.file_name())).unwrap();
        }
        if !is_up {
            redis.kill();
        }
        let servers = ["a", "b"].map(|name| start(folder, name, &["--registry", &url]));
        until("worker id", || servers.iter().any(is_holding).then_some(()));
        let callers = servers.each_ref().map(Callers::start);
        take(&callers, IDS);
        // A refused caller waits for each answer.
        servers.into_iter().for_each(Server::kill);
        for callers in callers {
            all.extend(ids(&callers.stop()));
        }
        let count = check_unique(&all);
        println!("registry up: {is_up}: {count} ids, none twice");
    }
}

/// Guards a second server in the folder of a running one: with the lock of former versions deleted
/// it does not start, and with the journal deleted the first one stops issuing.
#[test]
fn a_folder_whose_files_were_deleted_is_not_shared() {
    let given = ["--registry", "none", "--worker-id", "7"];
    for is_journal_deleted in [false, true] {
        let folder = tempdir().unwrap();
        let folder = folder.path();
        let first = start(folder, "a", &given);
        held(&first);
        let first_callers = Callers::start(&first);
        first_callers.wait_for_ids(1000);
        let _in_former_versions = fs::remove_file(folder.join("a/worker.journal.lock"));
        if is_journal_deleted {
            fs::remove_file(folder.join("a/worker.journal")).unwrap();
            let refused = first_callers.wait_for_refusals(1);
            assert!(refused.body.contains("was removed"), "{}", refused.body);
        }
        let second = catch_unwind(|| start(folder, "a", &given));
        let mut all = Vec::new();
        if let Ok(second) = &second {
            let callers = Callers::start(second);
            callers.wait_for_ids(IDS);
            all.extend(ids(&callers.stop()));
        }
        first.kill();
        all.extend(ids(&first_callers.stop()));
        println!("{} ids, none twice", check_unique(&all));
        assert_eq!(second.is_ok(), is_journal_deleted);
    }
}

/// Guards readiness while the journal is missing and segment ids are served too: another server can
/// issue snowflake ids, this one cannot. It continues when the file is back.
#[test]
fn a_server_without_its_journal_is_not_ready() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let server = Server::start(folder, &["--data-dir", "a"]);
    held(&server);
    let (journal, aside) = (folder.join("a/worker.journal"), folder.join("aside"));
    fs::rename(&journal, &aside).unwrap();
    until("refusal", || {
        (server.get("/api/snowflake/get/x").0 != 200).then_some(())
    });
    let (status, text) = server.get("/readyz?verbose");
    assert_eq!(status, 503, "{text}");
    assert!(
        text.contains("was removed while this server uses it"),
        "{text}"
    );
    assert_eq!(server.get("/livez").0, 200);
    fs::rename(&aside, &journal).unwrap();
    until("id", || {
        (server.get("/api/snowflake/get/x").0 == 200).then_some(())
    });
    server.wait_until_ready();
    server.stop();
}

/// Guards that a server whose descriptors are all in use continues to write its journal.
#[test]
fn no_descriptor_is_left_for_the_journal() {
    const FILES: &str = "96";
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let times = ["--worker-step", "100ms", "--journal-ahead", "500ms"];
    let own = ["--data-dir", "a", "--segment=false", "--threads", "1"];
    let server = Server::spawn(folder, &[&own[..], &times].concat(), |command| {
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -n {FILES} && exec \"$0\" \"$@\"")]);
        limited.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => limited.env(name, value),
                None => limited.env_remove(name),
            };
        }
        limited.current_dir(folder).stdin(Stdio::null());
        *command = limited;
    });
    held(&server);
    let callers = Callers::start(&server);
    callers.wait_for_ids(1000);
    let flood: Vec<TcpStream> = (0..200)
        .map_while(|_| TcpStream::connect(server.address()).ok())
        .collect();
    let flooded_ms = now_ms(&SystemClock::new());
    // Beyond what the journal allowed before.
    until("ids of later times", || {
        let told = callers.told();
        let last_ms = told.given.last().map_or(0, Given::unix_ms);
        let is_over = !told.refused.is_empty() || last_ms > flooded_ms + 3000;
        is_over.then_some(())
    });
    drop(flood);
    let told = callers.stop();
    println!("{} ids, {} refused", told.given.len(), told.refused.len());
    told.check_nothing_refused();
    assert!(is_holding(&server), "{}", server.log());
    server.stop();
}

/// Guards a crash loop: a server that is killed right after its first id issues at each start, and
/// its ids do not run away from the clock.
#[test]
fn a_crash_loop_issues() {
    let redis = Redis::start();
    let url = redis.url();
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let (mut all, mut ahead_ms) = (Vec::new(), Vec::new());
    for _ in 0..12 {
        let server = start(folder, "a", &["--registry", &url]);
        let (status, body) = until("answer of the start", || {
            let is_known = worker(&server)["stage"] != "starting";
            is_known.then(|| server.get("/api/snowflake/get/x"))
        });
        assert_eq!(status, 200, "start {}: {body}", all.len() + 1);
        let id: u64 = body.parse().unwrap();
        let unix_ms = Layout::LEAF.decompose(id).unix_ms;
        ahead_ms.push(unix_ms - now_ms(&SystemClock::new()).cast_signed());
        all.push(id);
        server.kill();
    }
    println!("ahead of the clock by {ahead_ms:?} ms");
    check_unique(&all);
    assert!(all.is_sorted());
    assert!(ahead_ms.iter().all(|ahead| *ahead < 4_500), "{ahead_ms:?}");
}
