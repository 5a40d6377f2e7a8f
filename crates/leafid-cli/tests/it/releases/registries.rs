//! The keys of Redis and etcd and the tree of ZooKeeper, a line of JSON each.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leafid_testbed::{Etcd, Redis, ZooKeeper};
use serde_json::{Value, json};
use zookeeper_client::{Acls, Client, CreateMode};

use super::place::Place;

/// A server that keeps its worker id there, and nothing else.
fn settings(url: &str) -> Vec<String> {
    ["--registry", url].map(str::to_owned).to_vec()
}

fn lines(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(super) struct RedisKeys(Redis);

impl RedisKeys {
    pub(super) fn new() -> Self {
        Self(Redis::start())
    }
}

impl Place for RedisKeys {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn settings(&self) -> Vec<String> {
        settings(&self.0.url())
    }

    fn has_tags(&self) -> bool {
        false
    }

    /// The commands that write the same.
    fn written(&self, _: &Path) -> String {
        let keys = self.0.command(&["KEYS", "*"]);
        let mut keys: Vec<&str> = keys.lines().collect();
        keys.sort_unstable();
        let mut text = String::new();
        for key in keys {
            let command = match self.0.command(&["TYPE", key]).trim() {
                "hash" => {
                    let fields = self.0.command(&["HGETALL", key]);
                    let fields = fields.lines().map(Value::from);
                    ["HSET", key]
                        .into_iter()
                        .map(Value::from)
                        .chain(fields)
                        .collect()
                }
                "string" => json!(["SET", key, self.0.command(&["GET", key]).trim_end()]),
                other => panic!("{key} is of a type that no release wrote: {other}"),
            };
            text.push_str(&format!("{command}\n"));
        }
        text
    }

    fn put(&self, written: &str) {
        for command in lines(written) {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            self.0.command(&words);
        }
    }

    fn location(&self) -> String {
        self.0.url()
    }
}

pub(super) struct EtcdKeys(Etcd);

impl EtcdKeys {
    pub(super) fn new() -> Self {
        Self(Etcd::start())
    }
}

impl Place for EtcdKeys {
    fn name(&self) -> &'static str {
        "etcd"
    }

    fn settings(&self) -> Vec<String> {
        settings(&self.0.url())
    }

    fn has_tags(&self) -> bool {
        false
    }

    fn written(&self, _: &Path) -> String {
        let all = json!({ "key": "AA==", "range_end": "AA==" });
        let answer = self.0.call("kv/range", &all);
        let decoded = |value: &Value| {
            let bytes = STANDARD.decode(value.as_str().unwrap()).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let rows = answer["kvs"].as_array().unwrap();
        let lines = rows
            .iter()
            .map(|row| json!([decoded(&row["key"]), decoded(&row["value"])]));
        lines.map(|line| format!("{line}\n")).collect()
    }

    fn put(&self, written: &str) {
        for row in lines(written) {
            let [key, value] = [0, 1].map(|index: usize| STANDARD.encode(&row[index]));
            self.0
                .call("kv/put", &json!({ "key": key, "value": value }));
        }
    }

    fn location(&self) -> String {
        self.0.url()
    }
}

pub(super) struct ZooKeeperTree(ZooKeeper);

impl ZooKeeperTree {
    pub(super) fn new() -> Self {
        Self(ZooKeeper::start())
    }

    fn with_client<T>(&self, work: impl AsyncFnOnce(Client) -> T) -> T {
        let servers = format!("127.0.0.1:{}", self.0.port());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async { work(Client::connect(&servers).await.unwrap()).await })
    }
}

impl Place for ZooKeeperTree {
    fn name(&self) -> &'static str {
        "zookeeper"
    }

    fn settings(&self) -> Vec<String> {
        settings(&self.0.url())
    }

    fn has_tags(&self) -> bool {
        false
    }

    fn written(&self, _: &Path) -> String {
        self.with_client(async |client| {
            let mut paths = vec!["/snowflake".to_owned()];
            let mut text = String::new();
            while let Some(path) = paths.pop() {
                let (content, _) = client.get_data(&path).await.unwrap();
                let content = String::from_utf8(content).unwrap();
                text.push_str(&format!("{}\n", json!([path, content])));
                let mut children = client.list_children(&path).await.unwrap();
                children.sort_unstable_by(|a, b| b.cmp(a));
                paths.extend(children.iter().map(|child| format!("{path}/{child}")));
            }
            text
        })
    }

    fn put(&self, written: &str) {
        self.with_client(async |client| {
            let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
            for row in lines(written) {
                let made = client.create(&row[0], row[1].as_bytes(), &options).await;
                made.unwrap();
            }
        });
    }

    fn location(&self) -> String {
        self.0.url()
    }
}
