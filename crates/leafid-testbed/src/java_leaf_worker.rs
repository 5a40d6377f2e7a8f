//! `JavaLeafWorker`: takes and keeps a worker id in ZooKeeper as Meituan's Leaf does
//! (`SnowflakeZookeeperHolder`), to stand beside us on one tree.

use std::collections::HashMap;

use serde_json::{Value, json};
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions, Error};

const OPEN: Acls<'static> = Acls::anyone_all();
const FOLDER: CreateOptions<'static> = CreateMode::Persistent.with_acls(OPEN);
const CHILD: CreateOptions<'static> = CreateMode::PersistentSequential.with_acls(OPEN);

/// Why a server of Java Leaf does not start.
#[derive(Debug)]
pub enum RefusedStart {
    /// What ZooKeeper's client says.
    ZooKeeper(Error),
    /// Its last report is ahead of its clock.
    ClockBehind,
    /// The name of a child that Leaf cannot read; no server starts then.
    UnreadableChild(String),
}

impl From<Error> for RefusedStart {
    fn from(error: Error) -> Self {
        Self::ZooKeeper(error)
    }
}

/// A server that has looked whether there is a tree, and has not gone on from there.
#[derive(Debug)]
pub struct JavaLeafStart {
    client: Client,
    forever: String,
    address: String,
    has_tree: bool,
}

/// A stand-in for a Java Leaf server that runs.
#[derive(Debug)]
pub struct JavaLeafWorker {
    client: Client,
    path: String,
    address: String,
    worker: u32,
    last_report_ms: u64,
}

impl JavaLeafWorker {
    /// Starts a server: `servers` is `HOST:PORT` of ZooKeeper's, `name` is `leaf.name`, `address`
    /// is the server's own `IP:PORT`.
    ///
    /// # Errors
    ///
    /// [`RefusedStart`].
    pub async fn start(
        servers: &str,
        name: &str,
        address: &str,
        now_ms: u64,
    ) -> Result<Self, RefusedStart> {
        let start = JavaLeafStart::look(servers, name, address).await?;
        start.go_on(now_ms).await
    }

    /// Its worker id.
    #[must_use]
    pub const fn worker(&self) -> u32 {
        self.worker
    }

    /// Reports its time, as Leaf does every 3 s.
    ///
    /// # Errors
    ///
    /// What ZooKeeper's client says; Leaf only logs it.
    pub async fn report(&mut self, now_ms: u64) -> Result<(), Error> {
        if now_ms < self.last_report_ms {
            return Ok(());
        }
        let report = report(&self.address, now_ms);
        self.client.set_data(&self.path, &report, None).await?;
        self.last_report_ms = now_ms;
        Ok(())
    }
}

impl JavaLeafStart {
    /// The first step: looks whether any server was here before.
    ///
    /// # Errors
    ///
    /// What ZooKeeper's client says.
    pub async fn look(servers: &str, name: &str, address: &str) -> Result<Self, Error> {
        let client = Client::connect(servers).await?;
        let forever = format!("/snowflake/{name}/forever");
        let has_tree = client.check_stat(&forever).await?.is_some();
        Ok(Self {
            client,
            forever,
            address: address.to_owned(),
            has_tree,
        })
    }

    /// All other steps.
    ///
    /// # Errors
    ///
    /// [`RefusedStart`].
    pub async fn go_on(self, now_ms: u64) -> Result<JavaLeafWorker, RefusedStart> {
        if !self.has_tree {
            // The number of the new child is never looked at: it is taken to be 0.
            let (path, _) = self.create_child(now_ms).await?;
            return Ok(self.running(path, 0));
        }
        let (path, worker) = match self.own_child().await? {
            Some(own) => self.check_clock(own, now_ms).await?,
            None => self.create_child(now_ms).await?,
        };
        Ok(self.running(path, worker))
    }

    /// The last of the children that are named after this server.
    async fn own_child(&self) -> Result<Option<(String, u32)>, RefusedStart> {
        let mut children: HashMap<String, (String, u32)> = HashMap::new();
        for name in self.client.list_children(&self.forever).await? {
            // Leaf cuts at each "-" and reads the second part of every child as a number.
            let mut parts = name.split('-');
            let server = parts.next().unwrap_or_default().to_owned();
            let number = parts.next().and_then(|number| number.parse().ok());
            let number = number.ok_or_else(|| RefusedStart::UnreadableChild(name.clone()))?;
            let path = format!("{}/{name}", self.forever);
            children.insert(server, (path, number));
        }
        Ok(children.remove(&self.address))
    }

    async fn check_clock(
        &self,
        (path, worker): (String, u32),
        now_ms: u64,
    ) -> Result<(String, u32), RefusedStart> {
        let (report, _) = self.client.get_data(&path).await?;
        let report: Option<Value> = serde_json::from_slice(&report).ok();
        let reported_ms = report.and_then(|report| {
            // Leaf's reader refuses a report with any other field.
            let fields = report.as_object()?.len();
            report["timestamp"].as_u64().filter(|_| fields == 3)
        });
        let reported_ms = reported_ms.ok_or_else(|| RefusedStart::UnreadableChild(path.clone()))?;
        if reported_ms > now_ms {
            return Err(RefusedStart::ClockBehind);
        }
        Ok((path, worker))
    }

    async fn create_child(&self, now_ms: u64) -> Result<(String, u32), RefusedStart> {
        self.client.mkdir(&self.forever, &FOLDER).await?;
        let prefix = format!("{}/{}-", self.forever, self.address);
        let report = report(&self.address, now_ms);
        let (_, number) = self.client.create(&prefix, &report, &CHILD).await?;
        let path = format!("{prefix}{number}");
        let number = u32::try_from(number.into_i64());
        let number = number.map_err(|_| RefusedStart::UnreadableChild(path.clone()))?;
        Ok((path, number))
    }

    fn running(self, path: String, worker: u32) -> JavaLeafWorker {
        JavaLeafWorker {
            client: self.client,
            path,
            address: self.address,
            worker,
            last_report_ms: 0,
        }
    }
}

fn report(address: &str, now_ms: u64) -> Vec<u8> {
    let (ip, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let report = json!({ "ip": ip, "port": port, "timestamp": now_ms });
    report.to_string().into_bytes()
}
