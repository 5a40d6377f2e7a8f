//! The layer of Leaf's own `leaf.properties`, so that a Leaf server's file can be used as it is.
//!
//! A server that starts from it behaves as Leaf: Leaf's step rule, no tags made on first use, and
//! port 8080 on every interface. Each of these can be overridden by a flag or a variable.

use std::path::Path;

use leafid_stores::{FILE_LEN_MAX, read_file};

use super::jdbc::{self, Credentials};
use super::layers::Layers;
use super::origin::Origin;
use super::properties::{self, Property};
use super::setting::Setting;
use super::suggest::nearest;

const KEYS: [&str; 8] = [
    "leaf.name",
    "leaf.segment.enable",
    "leaf.jdbc.url",
    "leaf.jdbc.username",
    "leaf.jdbc.password",
    "leaf.snowflake.enable",
    "leaf.snowflake.zk.address",
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
    /// As in Java, the last of several equal keys counts.
    fn find(&self, key: &str) -> Option<&Property> {
        self.properties.iter().rfind(|property| property.key == key)
    }

    /// As `Properties.getProperty`, but nothing for an empty value.
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
        let mut set = |key: &str, text: &str, origin: Origin| {
            if let Some(setting) = Setting::find(key) {
                layers.assign(setting, vec![text.to_owned()], origin);
            }
        };
        let whole_file = self.origin("");
        set("http", "0.0.0.0:8080", whole_file.clone());
        set("policy", "leaf", whole_file.clone());
        set("create-tags", "false", whole_file);
        let snowflake = self.is_snowflake_on();
        let origin = self.origin("leaf.snowflake.enable");
        set("snowflake", &snowflake.to_string(), origin);
        let segment = self.is_segment_on();
        set(
            "segment",
            &segment.to_string(),
            self.origin("leaf.segment.enable"),
        );
        if segment {
            self.assign_store(layers);
        }
        if snowflake {
            self.assign_registry(layers);
        }
        self.note_unknown(layers);
    }

    /// Leaf's code takes a missing key for `true`, and then does not start without a database;
    /// here a file that names no database has segments off.
    fn is_segment_on(&self) -> bool {
        match self.value("leaf.segment.enable") {
            Some(text) => text.eq_ignore_ascii_case("true"),
            None => self.value("leaf.jdbc.url").is_some(),
        }
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
        match (
            jdbc::store_urls(jdbc.trim(), credentials),
            Setting::find("store"),
        ) {
            (Ok(found), Some(setting)) => {
                if !found.ignored.is_empty() {
                    let names = found.ignored.join(", ");
                    layers.notes.push(format!(
                        "parameters of leaf.jdbc.url without effect here ({origin}): {names}"
                    ));
                }
                layers.assign(setting, found.urls, origin);
            }
            (Err(problem), _) => layers
                .mistakes
                .push(format!("leaf.jdbc.url (from {origin}): {problem}")),
            (Ok(_), None) => {}
        }
    }

    /// As with segments, a file that names no ZooKeeper does not ask for them.
    fn is_snowflake_on(&self) -> bool {
        match self.value("leaf.snowflake.enable") {
            Some(text) => text.eq_ignore_ascii_case("true"),
            None => self.value("leaf.snowflake.zk.address").is_some(),
        }
    }

    fn assign_registry(&self, layers: &mut Layers) {
        let mut set = |key: &str, text: String, from: &str| {
            if let Some(setting) = Setting::find(key) {
                layers.assign(setting, vec![text], self.origin(from));
            }
        };
        if let Some(name) = self.value("leaf.name") {
            set("worker-pool", name.trim().to_owned(), "leaf.name");
        }
        let servers = "leaf.snowflake.zk.address";
        if let Some(list) = self.value(servers) {
            let list: String = list.split_whitespace().collect();
            set("registry", format!("zookeeper://{list}"), servers);
        } else {
            let origin = self.origin("leaf.snowflake.enable");
            layers.notes.push(format!(
                "leaf.snowflake.enable is true ({origin}) without leaf.snowflake.zk.address: \
                 worker ids are leased where the store is, apart from those of Leaf's ZooKeeper"
            ));
        }
        if let Some(port) = self.value("leaf.snowflake.port") {
            layers.leaf_port = port.trim().parse().ok();
            layers.notes.push(format!(
                "leaf.snowflake.port ({}) only says where workerID.properties is; to take over the number that Leaf \
                 had in ZooKeeper, stop Leaf and set worker-address to its IP:PORT there",
                self.origin("leaf.snowflake.port")
            ));
        }
    }

    /// Leaf passes over what it does not know, and so do we, but not silently.
    fn note_unknown(&self, layers: &mut Layers) {
        for property in &self.properties {
            let key = property.key.as_str();
            if KEYS.contains(&key) {
                continue;
            }
            let origin = self.origin(key);
            let meant = nearest(key, KEYS.into_iter());
            let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
            layers.notes.push(format!(
                "unknown key {key} in {origin} has no effect{meant}"
            ));
        }
    }
}
