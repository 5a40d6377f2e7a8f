//! `EtcdLeases`: worker ids in etcd. One key for each worker id and one for the layout, below
//! `/leafid/POOL/`. How a call reaches etcd is in `etcd/session.rs`.
//!
//! A call begins with a read, on each server in turn until one answers, and continues with that
//! one. So a server that hangs is skipped before anything was written; once a change was sent, no
//! other server is asked. All reads are linearizable, and a change is a transaction on the revision
//! that was read.

mod session;

use std::sync::{Arc, Weak};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use leafid::WorkerId;
use leafid::store::{
    BoxFuture, LeaseRecord, LeaseStore, LeaseSwap, StoreError, StoreReport, StoreResult, Transport,
    new_identity,
};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::call::Calls;
use crate::dial::Server;
use crate::fail_over::first_of;
use crate::kept_connection::{KeptConnection, Question};
use crate::lease_options::place_of;
use crate::options::Patience;
use crate::timeout::within;
use crate::transport::transport_of;
use crate::url::StoreUrl;
use crate::{StoreOptions, lease_row};
use session::Session;

const PORT: u16 = 2379;

pub(crate) struct EtcdLeases {
    servers: Vec<Server>,
    calls: Calls,
    options: StoreOptions,
    rows: String,
    layout: String,
    identity: String,
    location: String,
    /// The connection of reads of one row. Authentication costs etcd a tenth of a second of CPU,
    /// which is too much for a call that comes every few seconds.
    kept: Arc<KeptConnection<Session>>,
    /// Itself, for what goes on in the background.
    this: Weak<Self>,
}

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    kvs: Vec<Pair>,
}

/// A key and its value, in base64. etcd leaves out what is empty or 0.
#[derive(Deserialize)]
struct Pair {
    key: String,
    #[serde(default)]
    value: String,
    mod_revision: String,
}

#[derive(Deserialize)]
struct Outcome {
    #[serde(default)]
    succeeded: bool,
}

#[derive(Deserialize)]
struct Status {
    version: String,
    header: Header,
}

#[derive(Deserialize)]
struct Header {
    cluster_id: String,
}

impl EtcdLeases {
    pub(crate) fn new(
        servers: &[Url],
        url: &StoreUrl,
        pool: &str,
        options: &StoreOptions,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            servers: servers.iter().map(|url| Server::new(url, PORT)).collect(),
            calls: Calls::new(url, options),
            options: *options,
            rows: format!("/leafid/{pool}/workers/"),
            layout: format!("/leafid/{pool}/layout"),
            identity: format!("/leafid/{pool}/identity"),
            location: place_of(url, pool),
            kept: KeptConnection::new(options, servers.len()),
            this: this.clone(),
        })
    }

    /// The first server that answers this request, and its answer. Only for requests that change
    /// nothing. The answer of an only server is waited for as long as any other.
    async fn ask(
        &self,
        patience: Patience,
        method: &str,
        question: &Value,
    ) -> Result<(Session, Value), StoreError> {
        let options = self.options.with_patience(patience);
        let connect_timeout = options.connect_timeout_of(self.servers.len());
        let timeout = match self.servers.len() {
            1 => options.statement_timeout,
            _ => connect_timeout,
        };
        let attempts = self.servers.iter().map(|server| {
            let attempt = async move {
                let name = &server.name;
                let late = || format!("{name} gave no connection within {connect_timeout:?}");
                let mut session = within(connect_timeout, Session::open(server), late).await?;
                let answer = session.call(method, question).await?;
                Ok((session, answer))
            };
            (&server.name, attempt)
        });
        first_of(attempts, timeout).await
    }

    async fn read_one(&self, key: &str) -> Result<(Session, Option<Pair>), StoreError> {
        let (session, answer) = self
            .ask(Patience::Usual, "kv/range", &json!({ "key": encode(key) }))
            .await?;
        let range: Range = parse(answer)?;
        Ok((session, range.kvs.into_iter().next()))
    }

    /// The value under this key; `text`, if there is none yet.
    async fn keep(&self, key: &str, text: &str) -> Result<String, StoreError> {
        let (mut session, found) = self.read_one(key).await?;
        if let Some(pair) = found {
            return decode(&pair.value);
        }
        if write(&mut session, key, text, None).await? {
            return Ok(text.to_owned());
        }
        // Another caller was first, and the value never changes.
        match self.read_one(key).await? {
            (_, Some(pair)) => decode(&pair.value),
            (_, None) => Err(StoreError::unavailable(
                "the key was removed meanwhile",
                key.to_owned(),
            )),
        }
    }

    async fn read_all(&self) -> Result<Vec<LeaseRecord>, StoreError> {
        // The end of a key range: the first key that does not have this prefix.
        let end = format!("{}0", self.rows.trim_end_matches('/'));
        let question = json!({ "key": encode(&self.rows), "range_end": encode(&end) });
        let (_, answer) = self.ask(Patience::Usual, "kv/range", &question).await?;
        let range: Range = parse(answer)?;
        let row = |pair: &Pair| {
            let key = decode(&pair.key)?;
            let worker = key.strip_prefix(&self.rows).unwrap_or(&key);
            lease_row::read(worker, &decode(&pair.value)?)
        };
        range.kvs.iter().map(row).collect()
    }

    async fn write_row(&self, swap: &LeaseSwap) -> Result<bool, StoreError> {
        let worker = swap.record.worker.to_string();
        let key = format!("{}{worker}", self.rows);
        let (mut session, found) = self.read_one(&key).await?;
        let row = match &found {
            Some(pair) => Some(lease_row::read(&worker, &decode(&pair.value)?)?),
            None => None,
        };
        if row.map(|row| row.key()) != swap.expected {
            return Ok(false);
        }
        let row = lease_row::write(&swap.record)?;
        write(&mut session, &key, &row, found.as_ref()).await
    }

    fn transport(&self) -> Option<Transport> {
        let hosts = self.servers.iter().map(Server::host);
        let is_verified = self.servers.iter().all(Server::is_verified);
        transport_of(hosts, is_verified, "write etcd+https:// in its URL")
    }

    async fn read_status(&self) -> Result<StoreReport, StoreError> {
        let (_, answer) = self
            .ask(Patience::Usual, "maintenance/status", &json!({}))
            .await?;
        let status: Status = parse(answer)?;
        Ok(StoreReport {
            product: format!("etcd {}", status.version),
            location: self.calls.location.clone(),
            identity: format!("cluster {}", status.header.cluster_id),
            has_own_table: true,
            missing: Vec::new(),
            transport: self.transport(),
            // etcd flushes every write before it answers; that this was disabled cannot be detected
            // from here.
            weaknesses: Vec::new(),
        })
    }
}

/// The question for the row of a worker id.
struct RowQuestion<'a> {
    leases: &'a EtcdLeases,
    worker: String,
}

impl RowQuestion<'_> {
    fn range(&self) -> Value {
        json!({ "key": encode(&format!("{}{}", self.leases.rows, self.worker)) })
    }

    fn row(&self, answer: Value) -> Result<Option<LeaseRecord>, StoreError> {
        let range: Range = parse(answer)?;
        let pair = range.kvs.first();
        let row = pair.map(|pair| lease_row::read(&self.worker, &decode(&pair.value)?));
        row.transpose()
    }
}

impl Question for RowQuestion<'_> {
    type Connection = Session;
    type Answer = Option<LeaseRecord>;

    async fn again(&self, session: &mut Session) -> Result<Option<LeaseRecord>, StoreError> {
        self.row(session.call("kv/range", &self.range()).await?)
    }

    async fn anew(&self, patience: Patience) -> Result<(Session, Option<LeaseRecord>), StoreError> {
        let (session, answer) = self.leases.ask(patience, "kv/range", &self.range()).await?;
        Ok((session, self.row(answer)?))
    }

    fn renewal(
        &self,
        patience: Patience,
    ) -> Option<BoxFuture<'static, Result<Session, StoreError>>> {
        let (leases, worker) = (self.leases.this.upgrade()?, self.worker.clone());
        Some(Box::pin(async move {
            let leases = &leases;
            let (session, _) = RowQuestion { leases, worker }.anew(patience).await?;
            Ok(session)
        }))
    }
}

/// Writes a key unless it changed since it was read; `None`: unless it exists.
async fn write(
    session: &mut Session,
    key: &str,
    value: &str,
    found: Option<&Pair>,
) -> Result<bool, StoreError> {
    let revision = found.map_or("0", |pair| &pair.mod_revision);
    let is_unchanged = json!({ "target": "MOD", "key": encode(key), "mod_revision": revision });
    let put = json!({ "request_put": { "key": encode(key), "value": encode(value) } });
    let transaction = json!({ "compare": [is_unchanged], "success": [put] });
    let answer = session
        .call("kv/txn", &transaction)
        .await
        .map_err(|error| match error {
            StoreError::Unavailable { message, source } => StoreError::Unavailable {
                message: format!("{message}; whether the change was made is unknown"),
                source,
            },
            error => error,
        })?;
    Ok(parse::<Outcome>(answer)?.succeeded)
}

fn encode(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

fn decode(text: &str) -> Result<String, StoreError> {
    let bytes = BASE64_STANDARD.decode(text).map_err(strange)?;
    String::from_utf8(bytes).map_err(strange)
}

fn parse<T: for<'a> Deserialize<'a>>(answer: Value) -> Result<T, StoreError> {
    serde_json::from_value(answer).map_err(strange)
}

fn strange(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::unavailable("the answer is not one of etcd's", error)
}

impl LeaseStore for EtcdLeases {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        Box::pin(
            self.calls
                .bounded("bind the layout", self.keep(&self.layout, layout)),
        )
    }

    fn identity(&self) -> StoreResult<'_, String> {
        Box::pin(self.calls.bounded("read the identity", async {
            self.keep(&self.identity, &new_identity()).await
        }))
    }

    fn location(&self) -> String {
        self.location.clone()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        Box::pin(self.calls.bounded("read the worker ids", self.read_all()))
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        let what = format!("read the row of worker id {worker}");
        let question = RowQuestion {
            leases: self,
            worker: worker.to_string(),
        };
        Box::pin(async move { self.calls.ask(&what, &self.kept, &question).await })
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        Box::pin(async move {
            let what = format!("swap worker id {}", swap.record.worker);
            self.calls.bounded(&what, self.write_row(swap)).await
        })
    }

    fn report<'a>(&'a self, _record: &'a LeaseRecord, _now_ms: u64) -> StoreResult<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// etcd has no clock that its members agree on.
    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        Box::pin(async { Ok(None) })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(
            self.calls
                .bounded("inspect the registry", self.read_status()),
        )
    }
}
