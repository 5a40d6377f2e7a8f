//! `TestServer`: a server under test, and helpers to call it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leafid::store::{
    MemoryStore, Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagPatch,
    TagRecord, TagSpec,
};
use leafid::{Tag, blocking::block_on};
use leafid_server::{
    Addresses, Config, IssuedId, Limits, Listeners, ServeError, Server, Service, Stores, Tls,
    Workers,
};
use leafid_stores::AuditStore;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::audit::Ledger;

/// A server on a port of its own.
pub(crate) struct TestServer {
    /// Of HTTP.
    pub(crate) address: SocketAddr,
    pub(crate) addresses: Addresses,
    pub(crate) service: Arc<Service>,
    /// Where changes are recorded.
    pub(crate) ledger: Arc<Ledger>,
    /// Set if the settings enable it.
    pub(crate) tls: Option<Arc<Tls>>,
    stop: Option<oneshot::Sender<()>>,
    ended: Option<JoinHandle<Result<(), ServeError>>>,
    runtime: Option<Runtime>,
    _folder: Option<TempDir>,
}

impl TestServer {
    /// The last number issued for a plain tag; 0 if there is none.
    pub(crate) fn last(&self, tag: &str) -> u64 {
        match self.service.last(tag) {
            Some(IssuedId::Number(id)) => id.get(),
            Some(IssuedId::Text(text)) => panic!("the tag {tag} has a format: {text}"),
            None => 0,
        }
    }

    /// On a new SQLite file, with tags created on first use.
    pub(crate) fn new() -> Self {
        Self::with(&Config::default(), Limits::default())
    }

    pub(crate) fn with(config: &Config, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::new().unwrap();
        let url = leafid_stores::StoreUrl::sqlite(folder.path().join("leafid.db"));
        let options = leafid_stores::StoreOptions::default();
        let store = runtime.block_on(leafid_stores::open(&url, &options));
        let mut server = Self::on(runtime, config, limits, store.unwrap());
        server._folder = Some(folder);
        server.wait_until_ready();
        server
    }

    /// On a store of the test's own, which may be weak.
    pub(crate) fn on_store(config: Config, store: Arc<dyn SegmentStore>) -> Self {
        let config = Config {
            allow_weak_store: true,
            ..config
        };
        Self::on(Runtime::new().unwrap(), &config, Limits::default(), store)
    }

    pub(crate) fn on(
        runtime: Runtime,
        config: &Config,
        limits: Limits,
        store: Arc<dyn SegmentStore>,
    ) -> Self {
        Self::with_workers(runtime, config, limits, store, None)
    }

    /// With this source of a worker id.
    pub(crate) fn with_workers(
        runtime: Runtime,
        config: &Config,
        limits: Limits,
        store: Arc<dyn SegmentStore>,
        workers: Option<Workers>,
    ) -> Self {
        let any_port: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let addresses = Addresses {
            http: any_port,
            resp: Some(any_port),
            grpc: Some(any_port),
        };
        let tls = Tls::read(config, limits).unwrap().map(Arc::new);
        let listeners = runtime.block_on(Listeners::bind(addresses)).unwrap();
        let listeners = listeners.with_tls(tls.clone());
        let ledger = Arc::new(Ledger::default());
        let stores = Stores {
            segments: store,
            workers,
            audit: Some(Arc::clone(&ledger) as Arc<dyn AuditStore>),
        };
        let server = Server::new(config, limits, stores, listeners);
        let (stop, stopped) = oneshot::channel();
        let (addresses, service) = (server.addresses(), server.service());
        let ended = runtime.spawn(server.run(async { drop(stopped.await) }));
        Self {
            address: addresses.http,
            addresses,
            service,
            ledger,
            tls,
            stop: Some(stop),
            ended: Some(ended),
            runtime: Some(runtime),
            _folder: None,
        }
    }

    pub(crate) fn wait_until_ready(&self) {
        eventually("ready", || self.service.health().readiness().is_ready());
    }

    /// Asks for the shutdown; [`ended`](Self::ended) waits for it.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits for the end of the server.
    pub(crate) fn ended(&mut self) -> Result<(), ServeError> {
        let ended = self.ended.take().unwrap();
        self.runtime.as_ref().unwrap().block_on(ended).unwrap()
    }

    /// Sends `METHOD PATH`, such as `GET /livez`.
    pub(crate) fn ask(&self, request: &str) -> Reply {
        self.send(request, None)
    }

    /// Sends `METHOD PATH` with a JSON body.
    pub(crate) fn ask_with(&self, request: &str, body: &str) -> Reply {
        self.send(request, Some(("application/json", body)))
    }

    pub(crate) fn send(&self, request: &str, body: Option<(&str, &str)>) -> Reply {
        let (method, path) = request.split_once(' ').unwrap();
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n",
            self.address
        );
        let mut text = "";
        if let Some((kind, body)) = body {
            head += &format!("content-type: {kind}\r\ncontent-length: {}\r\n", body.len());
            text = body;
        } else if method != "GET" {
            head += "content-type: application/json\r\n";
        }
        Reply::parse(&self.raw(&format!("{head}\r\n{text}")))
    }

    /// Sends bytes and reads until the server closes.
    pub(crate) fn raw(&self, bytes: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes.as_bytes()).unwrap();
        read_to_end(&mut stream)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addresses.http).unwrap();
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).unwrap();
        stream
    }

    /// Sends a request and compares status and body.
    #[track_caller]
    pub(crate) fn check(&self, request: &str, status: u16, body: &str) -> Reply {
        let reply = self.ask(request);
        assert_eq!(
            (reply.status, reply.body.as_str()),
            (status, body),
            "{request}"
        );
        reply
    }

    /// Sends a request and compares status and code of the problem; returns the document.
    #[track_caller]
    pub(crate) fn check_problem(
        &self,
        request: &str,
        body: &str,
        status: u16,
        code: &str,
    ) -> Value {
        let reply = if body.is_empty() {
            self.ask(request)
        } else {
            self.ask_with(request, body)
        };
        assert_eq!(reply.status, status, "{request} {body}: {}", reply.body);
        assert_eq!(reply.header("content-type"), "application/problem+json");
        let problem = reply.json();
        assert_eq!(problem["code"], code, "{request} {body}: {problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(problem["type"], format!("urn:leafid:problem:{code}"));
        let next = problem["next"].as_str().unwrap();
        assert!(!next.is_empty(), "{request}: {problem}");
        problem
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Reads until the peer closes; a reset counts as the end.
pub(crate) fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(len) => bytes.extend_from_slice(&chunk[..len]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&bytes)),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Self {
            status: status.unwrap_or_else(|| panic!("no status in {text:?}")),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// A header's value; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Waits for the effect of a background task.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("never came: {what}");
}

/// A store in memory that can be taken down.
#[derive(Default)]
pub(crate) struct Moody {
    pub(crate) inner: MemoryStore,
    pub(crate) is_away: AtomicBool,
    is_asleep: AtomicBool,
}

impl Moody {
    pub(crate) fn with_tag(name: &str) -> Arc<Self> {
        let moody = Arc::new(Self::default());
        let spec = TagSpec::new(Tag::new(name).unwrap());
        block_on(moody.inner.create(&spec)).unwrap();
        moody
    }

    pub(crate) fn go(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::SeqCst);
    }

    /// From now on calls are not answered at all.
    pub(crate) fn sleep(&self) {
        self.is_asleep.store(true, Ordering::SeqCst);
    }

    fn or_away<'a, T: 'a>(&'a self, answer: StoreResult<'a, T>) -> StoreResult<'a, T> {
        if self.is_asleep.load(Ordering::SeqCst) {
            return Box::pin(std::future::pending());
        }
        if self.is_away.load(Ordering::SeqCst) {
            let error = StoreError::unavailable("cannot reach memory", "secret detail");
            return Box::pin(async { Err(error) });
        }
        answer
    }
}

impl SegmentStore for Moody {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        self.or_away(self.inner.reserve(reserve))
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        self.or_away(self.inner.read(tags))
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        self.or_away(self.inner.list(after, count))
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        self.or_away(self.inner.create(spec))
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        self.or_away(self.inner.update(tag, patch))
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        self.or_away(self.inner.delete(tag))
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        self.or_away(self.inner.inspect())
    }

    fn probe(&self) -> StoreResult<'_, String> {
        self.or_away(self.inner.probe())
    }
}
