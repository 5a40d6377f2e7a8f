//! `RedisLeases`: worker ids in a Redis server. One hash has a field for each worker id, one key
//! has the layout; both have the pool as their hash tag.
//!
//! Each call has a connection of its own: calls are minutes apart, and a connection that was idle
//! for that long is often dead without either side knowing. Only the one that reads our row, every
//! few seconds, is kept for the next read. Changes and reads are scripts, which Redis runs
//! atomically; they refuse on a replica, whose rows may be old.

mod report;

use std::sync::{Arc, Weak};

use leafid::WorkerId;
use leafid::store::{
    BoxFuture, LeaseKey, LeaseRecord, LeaseStore, LeaseSwap, StoreError, StoreReport, StoreResult,
    new_identity,
};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, FromRedisValue, RedisConnectionInfo, RedisError,
    ServerErrorKind, cmd,
};
use tokio::task::JoinSet;
use url::Url;

use crate::call::Calls;
use crate::dial::Server;
use crate::kept_connection::{KeptConnection, Question};
use crate::lease_options::place_of;
use crate::options::Patience;
use crate::timeout::within;
use crate::transport::transport_of;
use crate::url::StoreUrl;
use crate::{StoreOptions, lease_row};

const PORT: u16 = 6379;

/// The beginning of each script.
const ON_PRIMARY: &str = "
if not string.find(redis.call('INFO', 'replication'), 'role:master', 1, true) then
  return redis.error_reply('READONLY this server is a replica')
end
";

/// KEYS: the layout, or the identity. ARGV: its value if there is none.
const KEEP: &str = "
local kept = redis.call('GET', KEYS[1])
if kept then return kept end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1]
";

/// KEYS: the rows.
const LEASES: &str = "return redis.call('HGETALL', KEYS[1])";

/// KEYS: the rows. ARGV: worker id.
const LEASE: &str = "return redis.call('HGET', KEYS[1], ARGV[1])";

/// KEYS: the rows. ARGV: worker id, expected epoch and until_ms or two empty texts, new row.
/// Numbers are compared as strings, because numbers in a script are exact up to 2^53 only.
const SWAP: &str = r#"
local row = redis.call('HGET', KEYS[1], ARGV[1])
local epoch, until_ms = '', ''
if row then
  epoch = string.match(row, '"epoch"%s*:%s*(%d+)')
  until_ms = string.match(row, '"until_ms"%s*:%s*(%d+)')
end
if epoch ~= ARGV[2] or until_ms ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4])
return 1
"#;

pub(crate) struct RedisLeases {
    server: Server,
    calls: Calls,
    options: StoreOptions,
    rows: String,
    layout: String,
    identity: String,
    location: String,
    /// The connection of reads of one row.
    kept: Arc<KeptConnection<Session>>,
    /// Itself, for what goes on in the background.
    this: Weak<Self>,
}

/// A connection, and the task that drives it while this exists.
struct Session {
    connection: MultiplexedConnection,
    _driver: JoinSet<()>,
}

impl RedisLeases {
    pub(crate) fn new(
        server: &Url,
        url: &StoreUrl,
        pool: &str,
        options: &StoreOptions,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            server: Server::new(server, PORT),
            calls: Calls::new(url, options),
            options: *options,
            rows: format!("leafid:{{{pool}}}:workers"),
            layout: format!("leafid:{{{pool}}}:layout"),
            identity: format!("leafid:{{{pool}}}:identity"),
            location: place_of(url, pool),
            kept: KeptConnection::new(options, 1),
            this: this.clone(),
        })
    }

    async fn connect(&self, patience: Patience) -> Result<Session, StoreError> {
        let timeout = self.options.with_patience(patience).connect_timeout_of(1);
        let late = || format!("no connection within {timeout:?}");
        within(timeout, self.open(), late).await
    }

    async fn open(&self) -> Result<Session, StoreError> {
        let stream = self.server.dial().await;
        let stream = stream.map_err(|error| StoreError::unavailable("no connection", error))?;
        let mut login = RedisConnectionInfo::default()
            .set_db(self.server.database())
            .set_skip_set_lib_name();
        if !self.server.user.is_empty() {
            login = login.set_username(&self.server.user);
        }
        if let Some(password) = &self.server.password {
            login = login.set_password(password);
        }
        // Our own time-outs bound everything.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let opened = MultiplexedConnection::new_with_config(&login, stream, config).await;
        let (connection, driver) = opened.map_err(explain)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(driver);
        Ok(Session {
            connection,
            _driver: tasks,
        })
    }

    /// Always by its text: a call by its hash saves next to nothing, and may have to be made twice.
    async fn run<T: FromRedisValue>(
        &self,
        script: &str,
        key: &str,
        arguments: &[&str],
    ) -> Result<T, StoreError> {
        let mut session = self.connect(Patience::Usual).await?;
        session.run(script, key, arguments).await.map_err(explain)
    }
}

/// The question for the row of a worker id.
struct RowQuestion<'a> {
    leases: &'a RedisLeases,
    worker: String,
}

impl Question for RowQuestion<'_> {
    type Connection = Session;
    type Answer = Option<String>;

    async fn again(&self, session: &mut Session) -> Result<Option<String>, StoreError> {
        let row = session.run(LEASE, &self.leases.rows, &[&self.worker]).await;
        row.map_err(explain)
    }

    async fn anew(&self, patience: Patience) -> Result<(Session, Option<String>), StoreError> {
        let mut session = self.leases.connect(patience).await?;
        let row = self.again(&mut session).await?;
        Ok((session, row))
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

impl Session {
    async fn run<T: FromRedisValue>(
        &mut self,
        script: &str,
        key: &str,
        arguments: &[&str],
    ) -> Result<T, RedisError> {
        let mut eval = cmd("EVAL");
        eval.arg(format!("{ON_PRIMARY}{script}"))
            .arg(1)
            .arg(key)
            .arg(arguments);
        self.ask(&eval).await
    }

    async fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, RedisError> {
        command.query_async(&mut self.connection).await
    }
}

const LACKS_A_RIGHT: &str = "the user lacks a permission: see the list in docs/registries.md";

/// The meaning of a Redis error, and what to do.
fn explain(error: RedisError) -> StoreError {
    let lasts = is_misconfigured(&error);
    let reason = match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) | (_, Some("WRONGPASS")) => {
            "the user or password is wrong"
        }
        (_, Some("NOAUTH")) => "the server wants a password",
        (ErrorKind::Server(ServerErrorKind::NoPerm), _) => LACKS_A_RIGHT,
        // The error text of Redis 7.0 within a script.
        _ if error
            .detail()
            .is_some_and(|text| text.contains("can't run this command")) =>
        {
            LACKS_A_RIGHT
        }
        _ if error
            .detail()
            .is_some_and(|text| text.contains("unknown command")) =>
        {
            "the server lacks a command that leafid needs, as a Sentinel does: name the primary, \
            whose replicas must never be promoted"
        }
        (ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown), _) => {
            "the server is a replica or read-only: name the primary"
        }
        (ErrorKind::Server(ServerErrorKind::BusyLoading), _) => {
            "the server is still loading its rows"
        }
        (ErrorKind::Server(_), _) if error.is_cluster_error() => {
            "the server is in a Redis Cluster, and the keys are on another one"
        }
        (_, Some("NOREPLICAS")) => {
            "fewer replicas are connected than min-replicas-to-write requires"
        }
        (_, Some("MISCONF")) => "the server cannot write to its disk",
        (_, Some("OOM")) => "the server's memory is full",
        (ErrorKind::Io, _) => "the connection failed; whether the command was executed is unknown",
        (ErrorKind::Server(_) | ErrorKind::Extension, _) => "the server refused",
        _ => "the driver failed",
    };
    match lasts {
        true => StoreError::misconfigured(reason, error),
        false => StoreError::unavailable(reason, error),
    }
}

/// Whether an error lasts until someone changes a password or a right, or names another server.
fn is_misconfigured(error: &RedisError) -> bool {
    let says = |part| error.detail().is_some_and(|text| text.contains(part));
    error.kind() == ErrorKind::AuthenticationFailed
        || error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
        || matches!(error.code(), Some("WRONGPASS" | "NOAUTH"))
        || says("can't run this command")
        || says("unknown command")
        || says("out of range")
}

impl LeaseStore for RedisLeases {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        Box::pin(self.calls.bounded("bind the layout", async move {
            self.run(KEEP, &self.layout, &[layout]).await
        }))
    }

    fn identity(&self) -> StoreResult<'_, String> {
        Box::pin(self.calls.bounded("read the identity", async {
            self.run(KEEP, &self.identity, &[&new_identity()]).await
        }))
    }

    fn location(&self) -> String {
        self.location.clone()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        Box::pin(self.calls.bounded("read the worker ids", async {
            let rows: Vec<(String, String)> = self.run(LEASES, &self.rows, &[]).await?;
            rows.iter()
                .map(|(worker, row)| lease_row::read(worker, row))
                .collect()
        }))
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        let what = format!("read the row of worker id {worker}");
        let question = RowQuestion {
            leases: self,
            worker: worker.to_string(),
        };
        Box::pin(async move {
            let row = self.calls.ask(&what, &self.kept, &question).await?;
            row.map(|row| lease_row::read(&question.worker, &row))
                .transpose()
        })
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        let worker = swap.record.worker.to_string();
        Box::pin(async move {
            let [epoch, until_ms] = expected(swap.expected);
            let work = async {
                let row = lease_row::write(&swap.record)?;
                self.run(SWAP, &self.rows, &[&worker, &epoch, &until_ms, &row])
                    .await
            };
            self.calls
                .bounded(&format!("swap worker id {worker}"), work)
                .await
        })
    }

    fn report<'a>(&'a self, _record: &'a LeaseRecord, _now_ms: u64) -> StoreResult<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        Box::pin(self.calls.bounded("read the clock", async {
            let mut session = self.connect(Patience::Usual).await?;
            let (seconds, micros): (u64, u64) = session.ask(&cmd("TIME")).await.map_err(explain)?;
            Ok(Some(seconds * 1000 + micros / 1000))
        }))
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(self.calls.bounded("inspect the registry", async {
            let mut session = self.connect(Patience::Usual).await?;
            let (host, is_verified) = (self.server.host(), self.server.is_verified());
            let transport = transport_of([host], is_verified, "write rediss:// in its URL");
            report::report(&mut session, &self.calls.location, transport).await
        }))
    }
}

/// Epoch and until_ms as strings; empty if there must be no row.
fn expected(key: Option<LeaseKey>) -> [String; 2] {
    key.map_or_else(Default::default, |key| {
        [key.epoch.to_string(), key.until_ms.to_string()]
    })
}
