//! The layer of Leaf's own `leaf.properties`, so that the file of a Leaf server can be used as is.
//!
//! A server that starts from it behaves like Leaf: Leaf's step rule, no tags created on first use,
//! and port 8080 on every interface. A flag or a variable overrides each of these.

use std::path::Path;

use leafid_stores::{FILE_LEN_MAX, read_file};

use super::jdbc::{self, Credentials};
use super::layers::Layers;
use super::origin::Origin;
use super::properties::{self, Property};
use super::setting::Setting;
use super::suggest::suggestion;

const SERVERS: &str = "leaf.snowflake.zk.address";
const KEYS: [&str; 8] = [
    "leaf.name",
    "leaf.segment.enable",
    "leaf.jdbc.url",
    "leaf.jdbc.username",
    "leaf.jdbc.password",
    "leaf.snowflake.enable",
    SERVERS,
    "leaf.snowflake.port",
];

pub(super) fn read(path: &Path, layers: &mut Layers) {
    let parsed = read_file(path, FILE_LEN_MAX)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))
        .and_then(|(bytes, _)| {
            properties::parse(&bytes).map_err(|problem| format!("{}:{problem}", path.display()))
        });
    match parsed {
        Ok(properties) => LeafFile { path, properties }.assign(layers),
        Err(mistake) => layers.mistakes.push(mistake),
    }
}

struct LeafFile<'a> {
    path: &'a Path,
    properties: Vec<Property>,
}

impl LeafFile<'_> {
    /// As in Java, the last of several equal keys wins.
    fn find(&self, key: &str) -> Option<&Property> {
        self.properties.iter().rfind(|property| property.key == key)
    }

    /// Like `Properties.getProperty`, but `None` for an empty value.
    fn value(&self, key: &str) -> Option<&str> {
        let property = self.find(key)?;
        (!property.value.trim().is_empty()).then_some(property.value.as_str())
    }

    fn origin(&self, key: &str) -> Origin {
        Origin::File {
            path: self.path.to_owned(),
            line: self.find(key).map(|property| property.line),
        }
    }

    fn assign(&self, layers: &mut Layers) {
        for (key, text) in [
            ("http", "0.0.0.0:8080"),
            ("policy", "leaf"),
            ("create-tags", "false"),
        ] {
            self.set(layers, key, text, "");
        }
        if self.set_mode(layers, "segment", "leaf.jdbc.url") {
            self.assign_store(layers);
        }
        if self.set_mode(layers, "snowflake", SERVERS) {
            self.assign_registry(layers);
        }
        self.note_unknown(layers);
    }

    /// Sets one of our keys from one of Leaf's.
    fn set(&self, layers: &mut Layers, key: &str, text: &str, from: &str) {
        if let Some(setting) = Setting::find(key) {
            layers.assign(setting, vec![text.to_owned()], self.origin(from));
        }
    }

    /// Sets whether a mode is on, and returns it. Leaf's code takes a missing key for `true`, and
    /// then does not start without a database or a ZooKeeper; here a file that does not say where
    /// that is has the mode off.
    fn set_mode(&self, layers: &mut Layers, mode: &str, place: &str) -> bool {
        let key = format!("leaf.{mode}.enable");
        let is_on = match self.value(&key) {
            Some(text) => text.eq_ignore_ascii_case("true"),
            None => self.value(place).is_some(),
        };
        self.set(layers, mode, &is_on.to_string(), &key);
        is_on
    }

    fn assign_store(&self, layers: &mut Layers) {
        let origin = self.origin("leaf.jdbc.url");
        let Some(jdbc) = self.value("leaf.jdbc.url") else {
            let mistake = format!("leaf.segment.enable is true, but {origin} has no leaf.jdbc.url");
            layers.mistakes.push(mistake);
            return;
        };
        let credentials = Credentials {
            user: self.value("leaf.jdbc.username"),
            password: self.value("leaf.jdbc.password"),
        };
        match jdbc::store_urls(jdbc.trim(), credentials) {
            Ok(found) => {
                if !found.ignored.is_empty() {
                    let names = found.ignored.join(", ");
                    layers.notes.push(format!(
                        "parameters of leaf.jdbc.url that have no effect here ({origin}): {names}"
                    ));
                }
                self.set(layers, "store", &found.urls.join(" "), "leaf.jdbc.url");
            }
            Err(problem) => layers
                .mistakes
                .push(format!("leaf.jdbc.url (from {origin}): {problem}")),
        }
    }

    fn assign_registry(&self, layers: &mut Layers) {
        if let Some(name) = self.value("leaf.name") {
            self.set(layers, "worker-pool", name.trim(), "leaf.name");
        }
        if let Some(list) = self.value(SERVERS) {
            let list: String = list.split_whitespace().collect();
            self.set(layers, "registry", &format!("zookeeper://{list}"), SERVERS);
        } else {
            let origin = self.origin("leaf.snowflake.enable");
            layers.notes.push(format!(
                "leaf.snowflake.enable is true ({origin}) without {SERVERS}: worker ids are leased \
                 where the store is, independently of Leaf's ZooKeeper"
            ));
        }
        if let Some(port) = self.value("leaf.snowflake.port") {
            layers.leaf_port = port.trim().parse().ok();
            layers.notes.push(format!(
                "leaf.snowflake.port ({}) only says where workerID.properties is; to take over \
                 the number that Leaf had in ZooKeeper, stop Leaf and set worker-address to its \
                 IP:PORT there",
                self.origin("leaf.snowflake.port")
            ));
        }
    }

    /// Leaf ignores unknown keys without a word; here they are noted.
    fn note_unknown(&self, layers: &mut Layers) {
        for property in &self.properties {
            let key = property.key.as_str();
            if KEYS.contains(&key) {
                continue;
            }
            let origin = self.origin(key);
            let next = suggestion(key, KEYS.into_iter(), || "see docs/config.md".to_owned());
            layers.notes.push(format!(
                "unknown key {key} in {origin} has no effect: {next}"
            ));
        }
    }
}
