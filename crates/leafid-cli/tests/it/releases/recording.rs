//! `Recording`: what a server of one version wrote and answered, in a store or registry of one
//! kind; and the checks of a server that finds it.

use std::fs;
use std::path::{Path, PathBuf};

use leafid::SystemClock;
use serde_json::{Value, json};

use super::place::Place;
use super::{journal, read, tables};
use crate::server_process::{Server, run, until};
use crate::snowflake_load::now_ms;

/// Tags of every kind; digits in a name would not be compared.
const TAGS: [&str; 8] = [
    r#"{"tag":"order","description":"Orders of the shop","step":2000}"#,
    r#"{"tag":"fixed","policy":{"name":"fixed"},"step":500,"start":"7000"}"#,
    r#"{"tag":"small","limit":"js53","policy":{"name":"cover","cover_seconds":900,"step_max":5000}}"#,
    r#"{"tag":"sale","format":"SO-{date %Y%m%d}-{number width=8}{check luhn}"}"#,
    r#"{"tag":"invoice","format":"I{date %Y}-{number width=6 restart=year}"}"#,
    r#"{"tag":"event","kind":"uuid7"}"#,
    r#"{"tag":"flake","kind":"snowflake"}"#,
    GONE,
];
/// The one that is deleted.
const GONE: &str = r#"{"tag":"gone"}"#;
const NAMES: [&str; 8] = [
    "order", "fixed", "small", "sale", "invoice", "event", "flake", "gone",
];
/// Answers that are not kept: they change while a server runs.
const PASSING: [&str; 4] = ["live", "updated", "max_id", "warnings"];

pub(super) struct Recording {
    /// Of the place.
    pub(super) name: &'static str,
    pub(super) written: String,
    pub(super) facts: String,
    journal: String,
    /// Of SQLite.
    mark: Option<String>,
}

/// A server that has found or been given its worker id.
fn start(place: &dyn Place, folder: &Path, data: &Path) -> Server {
    let settings = place.settings();
    let mut arguments: Vec<&str> = settings.iter().map(String::as_str).collect();
    arguments.extend(["--data-dir", data.to_str().unwrap()]);
    let server = Server::start(folder, &arguments);
    until("worker id", || {
        (server.json("/v1/worker")["stage"] == "holding").then_some(())
    });
    server
}

fn ids(server: &Server, tag: &str) -> Vec<String> {
    let answer = server.json(&format!("/v1/tags/{tag}/ids?count=3"));
    let ids = answer["ids"].as_array();
    let ids = ids.unwrap_or_else(|| panic!("no ids of {tag}: {answer}"));
    ids.iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}

/// What is kept of the state of a tag.
fn tag(server: &Server, name: &str) -> Value {
    let mut tag = server.json(&format!("/v1/tags/{name}"));
    for field in PASSING {
        tag.as_object_mut().unwrap().remove(field);
    }
    tag
}

impl Recording {
    /// Lets a server of this version write, kills it, and reads what is there.
    pub(super) fn make(place: &dyn Place, folder: &Path) -> Self {
        tables::create(place);
        let data = folder.join("leafid-data");
        let server = start(place, folder, &data);
        let mut facts = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "recorded_ms": now_ms(&SystemClock::new()),
            "worker": server.json("/v1/worker")["worker"],
        });
        let (_, flake) = server.get("/api/snowflake/get/order");
        facts["snowflake"] = flake.into();
        if place.has_tags() {
            use_tags(folder, &server, &mut facts);
        }
        server.kill();
        let journal = journal::read(&data.join("worker.journal"));
        let here = folder.display().to_string();
        let mark = place.name() == "sqlite";
        Self {
            name: place.name(),
            written: place.written(folder),
            facts: format!("{facts:#}\n"),
            journal: journal.replace(&here, "FOLDER"),
            mark: mark.then(|| read(&data.join("leafid.db-mark"))),
        }
    }

    pub(super) fn read(release: &Path, name: &'static str) -> Self {
        let folder = release.join(name);
        let mark = folder.join("leafid.db-mark");
        Self {
            name,
            written: read(&folder.join("written.txt")),
            facts: read(&folder.join("facts.json")),
            journal: read(&folder.join("worker.journal")),
            mark: mark.exists().then(|| read(&mark)),
        }
    }

    pub(super) fn write(&self, release: &Path) {
        let folder = release.join(self.name);
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("written.txt", &self.written);
        write("facts.json", &self.facts);
        write("worker.journal", &self.journal);
        if let Some(mark) = &self.mark {
            write("leafid.db-mark", mark);
        }
    }

    /// All that a server of another version reads.
    pub(super) fn files(&self) -> Vec<String> {
        let mark = self.mark.clone().unwrap_or_default();
        vec![self.written.clone(), self.journal.clone(), mark]
    }

    /// Puts it in place, with the times of leases moved as if the server was killed just now.
    pub(super) fn put(&self, place: &dyn Place, folder: &Path) {
        let facts = Facts::parse(&self.facts);
        let later_ms = facts.later_ms();
        let until = journal::field(&self.journal, "until_ms").unwrap();
        assert!(
            self.written.contains(&until.to_string()),
            "{}",
            self.written
        );
        let moved = (until + later_ms).to_string();
        place.put(&self.written.replace(&until.to_string(), &moved));
        let data = folder.join("leafid-data");
        fs::create_dir_all(&data).unwrap();
        let journal = data.join("worker.journal");
        journal::put(&self.journal, &journal, &place.location(), later_ms);
        if let Some(mark) = &self.mark {
            fs::write(data.join("leafid.db-mark"), mark).unwrap();
        }
    }
}

/// Creates and uses tags, and deletes one.
fn use_tags(folder: &Path, server: &Server, facts: &mut Value) {
    for body in TAGS {
        post(server, "/v1/tags", body);
    }
    for name in NAMES {
        facts["issued"][name] = ids(server, name).into();
    }
    for name in &NAMES[..NAMES.len() - 1] {
        facts["tags"][name] = tag(server, name);
    }
    run(folder, &["tag", "delete", "gone", "--server", &server.url]).ok();
    // The table is written after the answer.
    until("row of the deletion", || {
        let (_, changes) = server.get("/v1/audit");
        changes.contains("tag deleted").then_some(())
    });
}

fn post(server: &Server, path: &str, body: &str) {
    let request = ureq::post(format!("{}{path}", server.url)).content_type("application/json");
    let answer = request.send(body);
    assert!(answer.is_ok(), "{body}: {answer:?}");
}

/// What a server of a release answered.
pub(super) struct Facts(Value);

impl Facts {
    pub(super) fn parse(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap())
    }

    /// How long ago it was.
    fn later_ms(&self) -> u64 {
        now_ms(&SystemClock::new()) - self.0["recorded_ms"].as_u64().unwrap()
    }

    /// A server without a data folder: it knows each tag, goes on above all ids, and leaves the
    /// worker id to its holder.
    pub(super) fn check_a_new_server(&self, place: &dyn Place, folder: &Path) {
        let data = PathBuf::from(folder).join("of-a-new-server");
        let server = start(place, folder, &data);
        let worker = &server.json("/v1/worker")["worker"];
        assert_ne!(*worker, self.0["worker"], "the worker id is leased");
        let workers = server.json("/v1/workers")["workers"].clone();
        let is_holder = |row: &&Value| row["worker"] == self.0["worker"] && row["held"] == true;
        assert!(
            workers
                .as_array()
                .unwrap()
                .iter()
                .any(|row| is_holder(&row)),
            "{workers}"
        );
        if place.has_tags() {
            self.check_tags(&server);
        }
        server.stop();
    }

    /// The server of the release, updated: it has its worker id again.
    pub(super) fn check_the_same_server(&self, place: &dyn Place, folder: &Path) {
        let server = start(place, folder, &folder.join("leafid-data"));
        let worker = &server.json("/v1/worker")["worker"];
        assert_eq!(*worker, self.0["worker"], "{}", server.log());
        let (_, id) = server.get("/api/snowflake/get/order");
        let issued = self.0["snowflake"].as_str().unwrap();
        assert!(
            id.parse::<u64>().unwrap() > issued.parse().unwrap(),
            "{id} after {issued}"
        );
        server.stop();
    }

    fn check_tags(&self, server: &Server) {
        for (name, then) in self.0["tags"].as_object().unwrap() {
            let now = tag(server, name);
            for (field, value) in then.as_object().unwrap() {
                assert_eq!(now[field], *value, "{field} of {name}: {now}");
            }
        }
        post(server, "/v1/tags", GONE);
        for name in NAMES {
            self.check_above(server, name);
        }
        let (_, changes) = server.get("/v1/audit?limit=1000");
        for body in TAGS {
            let tag: Value = serde_json::from_str(body).unwrap();
            let subject = format!(r#""subject":{}"#, tag["tag"]);
            assert!(changes.contains(&subject), "{subject}: {changes}");
        }
    }

    /// Its next ids are above all that were issued.
    fn check_above(&self, server: &Server, name: &str) {
        let issued: Vec<String> = serde_json::from_value(self.0["issued"][name].clone()).unwrap();
        // The next period of a calendar counter begins at 1.
        let year = &issued[0][1..];
        let counter = match name == "invoice" {
            true => format!("invoice@{}", &year[..4]),
            false => name.to_owned(),
        };
        let last = number(issued.last().unwrap(), name);
        let next = ids(server, &counter);
        for id in &next {
            assert!(number(id, name) > last, "{id} of {name} after {issued:?}");
        }
    }
}

/// What ascends in an id.
fn number(id: &str, tag: &str) -> u128 {
    let digits = match tag {
        // The last is a check digit.
        "sale" => &id[id.len() - 9..id.len() - 1],
        // By the name of its period it answers plain numbers.
        "invoice" => id.rsplit('-').next().unwrap(),
        // The front of a UUID of version 7 is its time.
        "event" => return u128::from_str_radix(&id.replace('-', ""), 16).unwrap(),
        _ => id,
    };
    digits.parse().unwrap()
}
