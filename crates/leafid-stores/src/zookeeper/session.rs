//! `Session`: what we ask of ZooKeeper. It opens a session when there is none, makes our part of the
//! tree, and turns refusals into answers and meanings. How it is said is left to `client.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leafid::store::StoreError;
use tokio::sync::Mutex;

use super::client::{Client, ClientError, Operation, code, garbled};
use super::record::{Fields, Record, Stat};
use super::tree::Tree;
use crate::StoreOptions;
use crate::options::Patience;
use crate::timeout::within;
use crate::url::ensemble::Ensemble;

/// Who may do what with a node.
#[derive(Clone, Copy)]
enum Acl {
    /// What Java Leaf may have to do with is made as Java Leaf makes it.
    Open,
    /// Whoever creates it.
    Creator,
}

/// How ZooKeeper makes a node. Both stay when the session ends.
#[derive(Clone, Copy)]
enum CreateMode {
    Plain = 0,
    /// With the next number of its parent behind its name.
    Sequential = 2,
}

/// One session for all calls but looks at one row, opened by the first call that needs it.
pub(super) struct Sessions {
    /// `HOST:PORT` of each.
    servers: Vec<String>,
    /// Which server is asked next for a session: each process begins with another one, and goes on
    /// to the next for each session, as the last server may have failed, or hang.
    next: AtomicUsize,
    /// `USER:PASSWORD`.
    digest: Option<String>,
    /// Who may do what with our own part of the tree.
    acl: Acl,
    options: StoreOptions,
    /// Held while a session is opened, so that callers at once share it.
    current: Mutex<Option<Arc<Client>>>,
}

impl Sessions {
    pub(super) fn new(ensemble: &Ensemble, options: &StoreOptions) -> Self {
        let user = ensemble.user.as_ref();
        Self {
            servers: ensemble.servers.clone(),
            next: AtomicUsize::new(std::process::id() as usize),
            digest: user.map(|user| format!("{}:{}", user.name, user.password)),
            acl: user.map_or(Acl::Open, |_| Acl::Creator),
            options: *options,
            current: Mutex::new(None),
        }
    }

    /// The hosts of all servers.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &str> {
        let servers = self.servers.iter();
        servers.map(|server| {
            server
                .rsplit_once(':')
                .map_or(server.as_str(), |(host, _)| host)
        })
    }

    /// The session, with our part of the tree in place.
    pub(super) async fn session(&self, tree: &Tree) -> Result<Session, StoreError> {
        let mut current = self.current.lock().await;
        if let Some(client) = current.as_ref().filter(|client| client.is_usable()) {
            return Ok(self.over(client));
        }
        *current = None;
        let session = self.open(tree, Patience::Usual).await?;
        *current = Some(Arc::clone(&session.client));
        Ok(session)
    }

    /// Another session, with our part of the tree in place, for the caller alone.
    pub(super) async fn open(
        &self,
        tree: &Tree,
        patience: Patience,
    ) -> Result<Session, StoreError> {
        let session = self.over(&self.connect(patience).await?);
        for (path, acl) in [
            (tree.forever(), Acl::Open),
            (tree.own(), self.acl),
            (tree.rows(), self.acl),
        ] {
            session.make_folder(&path, acl).await?;
        }
        Ok(session)
    }

    /// Makes the next call open another session.
    pub(super) fn close(&self) {
        // While it is locked, another one is being opened.
        if let Ok(mut current) = self.current.try_lock() {
            *current = None;
        }
    }

    /// A session with the first server that gives one. All know the same users.
    async fn connect(&self, patience: Patience) -> Result<Arc<Client>, StoreError> {
        let options = self.options.with_patience(patience);
        let timeout = options.connect_timeout_of(self.servers.len());
        let mut failure = None;
        for _ in 0..self.servers.len() {
            // Before the answer, for which the caller may not wait.
            let place = self.next.fetch_add(1, Ordering::Relaxed) % self.servers.len();
            match self.connect_to(&self.servers[place], timeout).await {
                Ok(client) => return Ok(Arc::new(client)),
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.unwrap_or_else(|| fault(ClientError::Closed)))
    }

    async fn connect_to(&self, server: &str, timeout: Duration) -> Result<Client, StoreError> {
        let unreachable = "no server takes a connection";
        let opened = async {
            let opened = Client::connect(server, self.digest.as_deref()).await;
            opened.map_err(|error| match error {
                ClientError::Lost(error) => StoreError::unavailable(unreachable, error),
                error => fault(error),
            })
        };
        within(timeout, opened, || unreachable.to_owned()).await
    }

    fn over(&self, client: &Arc<Client>) -> Session {
        Session {
            client: Arc::clone(client),
            acl: self.acl,
        }
    }
}

/// A session that was there a moment ago.
pub(super) struct Session {
    client: Arc<Client>,
    acl: Acl,
}

impl Session {
    /// Makes the next answers of this server as new as those of any other (`sync`).
    pub(super) async fn sync(&self, path: &str) -> Result<(), StoreError> {
        let body = Record::default().bytes(path.as_bytes());
        let synced = self.client.call(Operation::Sync, body).await;
        synced.map(|_| ()).map_err(fault)
    }

    /// `None` if the node does not exist.
    pub(super) async fn read(&self, path: &str) -> Result<Option<(Vec<u8>, Stat)>, StoreError> {
        content(self.client.call(Operation::GetData, look(path)).await)
    }

    /// `None` if the node does not exist.
    pub(super) async fn stat(&self, path: &str) -> Result<Option<Stat>, StoreError> {
        let reply = self.client.call(Operation::Exists, look(path)).await;
        let reply = unless(code::NO_NODE, reply)?;
        reply.map(|reply| field(Fields(&reply).stat())).transpose()
    }

    /// The names of its children and its own state, at one moment.
    pub(super) async fn children(&self, path: &str) -> Result<(Vec<String>, Stat), StoreError> {
        let reply = self.client.call(Operation::GetChildren2, look(path)).await;
        let reply = reply.map_err(fault)?;
        let mut fields = Fields(&reply);
        Ok((field(fields.texts())?, field(fields.stat())?))
    }

    /// Whether it was created; `false` if it exists.
    pub(super) async fn create(&self, path: &str, content: &[u8]) -> Result<bool, StoreError> {
        let body = new_node(path, content, self.acl, CreateMode::Plain);
        let created = self.client.call(Operation::Create, body).await;
        Ok(unless(code::NODE_EXISTS, created)?.is_some())
    }

    /// Creates a node with the next number of its parent, and returns the number.
    pub(super) async fn create_next(&self, path: &str, content: &[u8]) -> Result<u32, StoreError> {
        let body = new_node(path, content, self.acl, CreateMode::Sequential);
        let created = self.client.call(Operation::Create, body).await;
        let reply = created.map_err(fault)?;
        let created = field(Fields(&reply).text())?;
        let number = field(created.strip_prefix(path))?;
        number
            .parse()
            .map_err(|error| StoreError::unavailable("the tree has no more numbers", error))
    }

    /// Writes a node with this version, or any version; `None` if it has another or does not exist.
    pub(super) async fn write(
        &self,
        path: &str,
        content: &[u8],
        version: Option<i32>,
    ) -> Result<Option<Stat>, StoreError> {
        const ANY_VERSION: i32 = -1;
        let body = Record::default().bytes(path.as_bytes()).bytes(content);
        let body = body.int(version.unwrap_or(ANY_VERSION));
        match self.client.call(Operation::SetData, body).await {
            Err(ClientError::Refused(code::BAD_VERSION)) => Ok(None),
            written => {
                let reply = unless(code::NO_NODE, written)?;
                reply.map(|reply| field(Fields(&reply).stat())).transpose()
            }
        }
    }

    /// Makes what is missing of this path.
    async fn make_folder(&self, path: &str, acl: Acl) -> Result<(), StoreError> {
        // One who may not create above is told so even about what is there.
        if self.stat(path).await?.is_some() {
            return Ok(());
        }
        let ends = path.match_indices('/').map(|(end, _)| end);
        for end in ends.chain([path.len()]).filter(|end| *end > 0) {
            let folder = &path[..end];
            if self.stat(folder).await?.is_none() {
                let body = new_node(folder, b"", acl, CreateMode::Plain);
                let created = self.client.call(Operation::Create, body).await;
                unless(code::NODE_EXISTS, created)?;
            }
        }
        Ok(())
    }
}

/// The path of a node to look at, without a watch.
fn look(path: &str) -> Record {
    Record::default().bytes(path.as_bytes()).flag(false)
}

fn new_node(path: &str, content: &[u8], acl: Acl, mode: CreateMode) -> Record {
    const ALL_RIGHTS: i32 = 31;
    let (scheme, id) = match acl {
        Acl::Open => ("world", "anyone"),
        Acl::Creator => ("auth", ""),
    };
    let node = Record::default().bytes(path.as_bytes()).bytes(content);
    let rights = node.int(1).int(ALL_RIGHTS);
    let named = rights.bytes(scheme.as_bytes()).bytes(id.as_bytes());
    named.int(mode as i32)
}

/// The content and state of a node, `None` if there is no such node.
fn content(reply: Result<Vec<u8>, ClientError>) -> Result<Option<(Vec<u8>, Stat)>, StoreError> {
    let Some(reply) = unless(code::NO_NODE, reply)? else {
        return Ok(None);
    };
    let mut fields = Fields(&reply);
    let content = field(fields.bytes())?.to_vec();
    Ok(Some((content, field(fields.stat())?)))
}

/// A field that each reply has.
fn field<T>(value: Option<T>) -> Result<T, StoreError> {
    value.ok_or_else(|| fault(garbled()))
}

/// `None` for this one refusal, which is an answer.
fn unless<T>(answer: i32, result: Result<T, ClientError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(ClientError::Refused(code)) if code == answer => Ok(None),
        Err(error) => Err(fault(error)),
    }
}

fn fault(error: ClientError) -> StoreError {
    let reason = meaning(&error);
    match error {
        ClientError::Refused(code::AUTH_FAILED | code::NO_AUTH) => {
            StoreError::misconfigured(reason, error)
        }
        _ => StoreError::unavailable(reason, error),
    }
}

fn meaning(error: &ClientError) -> &'static str {
    match error {
        ClientError::Lost(_) => {
            "the connection failed; whether the change was carried out is unknown"
        }
        ClientError::Closed | ClientError::Refused(code::SESSION_EXPIRED | code::SESSION_MOVED) => {
            "the session ended; the next call opens another"
        }
        ClientError::Refused(code::AUTH_FAILED) => "the user or password is refused",
        ClientError::Refused(code::NO_AUTH) => {
            "this user may not do that: look at the tree with getAcl"
        }
        ClientError::Refused(code::NO_NODE) => {
            "a part of the tree was removed; the next call makes it again"
        }
        ClientError::Refused(code::NOT_READ_ONLY) => {
            "the servers have no majority and only allow reading"
        }
        ClientError::Refused(code::QUOTA_EXCEEDED) => {
            "a quota on the tree is used up: look at it with listquota"
        }
        ClientError::Refused(code::THROTTLED) => {
            "the servers refuse work because they have too much"
        }
        ClientError::Refused(_) => "the server refused",
    }
}
