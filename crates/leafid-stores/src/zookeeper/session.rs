//! `Session`: the one place that knows the client. It opens a session when there is none, makes
//! our part of the tree, and turns the client's errors into answers and meanings.

use std::time::Duration;

use leafid::store::StoreError;
use tokio::sync::Mutex;
use zookeeper_client as zk;
use zookeeper_client::{Acls, Client, CreateMode, Stat};

use super::tree::Tree;
use crate::StoreOptions;
use crate::url::ensemble::Ensemble;

/// What Java Leaf may have to do with is made as Java Leaf makes it.
const OPEN: Acls<'static> = Acls::anyone_all();

/// Nothing of ours ends with a session. A longer one is opened anew less often.
const SESSION_TIMEOUT: Duration = Duration::from_secs(30);

/// A session at a time, opened by whoever needs it first.
pub(super) struct Sessions {
    servers: String,
    /// `USER:PASSWORD`.
    digest: Option<String>,
    /// Who may do what with our own part of the tree.
    acls: Acls<'static>,
    connect_timeout: Duration,
    /// Held while a session is opened, so that callers at once share it.
    current: Mutex<Option<Client>>,
}

impl Sessions {
    pub(super) fn new(ensemble: &Ensemble, options: &StoreOptions) -> Self {
        let user = ensemble.user.as_ref();
        Self {
            servers: ensemble.servers.join(","),
            digest: user.map(|user| format!("{}:{}", user.name, user.password)),
            acls: user.map_or(OPEN, |_| Acls::creator_all()),
            connect_timeout: options.connect_timeout_of(ensemble.servers.len()),
            current: Mutex::new(None),
        }
    }

    /// The hosts of all servers.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &str> {
        let servers = self.servers.split(',');
        servers.map(|server| server.rsplit_once(':').map_or(server, |(host, _)| host))
    }

    /// The session, with our part of the tree in place.
    pub(super) async fn session(&self, tree: &Tree) -> Result<Session, StoreError> {
        let mut current = self.current.lock().await;
        if let Some(client) = current.as_ref().filter(|client| is_usable(client)) {
            return Ok(self.over(client));
        }
        *current = None;
        let session = self.over(&self.connect().await?);
        for (path, acls) in [
            (tree.forever(), OPEN),
            (tree.own(), self.acls),
            (tree.rows(), self.acls),
        ] {
            session.make_folder(&path, acls).await?;
        }
        *current = Some(session.client.clone());
        Ok(session)
    }

    /// Lets the next call open another session.
    pub(super) fn close(&self) {
        // While it is locked, another one is being opened.
        if let Ok(mut current) = self.current.try_lock() {
            *current = None;
        }
    }

    async fn connect(&self) -> Result<Client, StoreError> {
        // Servers up to 3.4 know the form of that version only, and all others know it too.
        let mut connector = Client::connector()
            .with_server_version(3, 4, 0)
            .with_session_timeout(SESSION_TIMEOUT)
            .with_connection_timeout(self.connect_timeout)
            .with_fail_eagerly();
        if let Some(digest) = &self.digest {
            connector = connector.with_auth("digest", digest.as_bytes());
        }
        connector.connect(&self.servers).await.map_err(fault)
    }

    fn over(&self, client: &Client) -> Session {
        Session {
            client: client.clone(),
            acls: self.acls,
        }
    }
}

fn is_usable(client: &Client) -> bool {
    !client.state().is_terminated()
}

/// A session that was there a moment ago.
pub(super) struct Session {
    client: Client,
    acls: Acls<'static>,
}

impl Session {
    /// Makes what this server answers next as new as what any other has answered.
    pub(super) async fn sync(&self, path: &str) -> Result<(), StoreError> {
        self.client.sync(path).await.map_err(fault)
    }

    /// `None` if there is no such node.
    pub(super) async fn read(&self, path: &str) -> Result<Option<(Vec<u8>, Stat)>, StoreError> {
        unless(&zk::Error::NoNode, self.client.get_data(path).await)
    }

    /// `None` if there is no such node.
    pub(super) async fn stat(&self, path: &str) -> Result<Option<Stat>, StoreError> {
        self.client.check_stat(path).await.map_err(fault)
    }

    /// The names of its children and its own state, of one moment.
    pub(super) async fn children(&self, path: &str) -> Result<(Vec<String>, Stat), StoreError> {
        self.client.get_children(path).await.map_err(fault)
    }

    /// Whether it was created; `false` if it is there.
    pub(super) async fn create(&self, path: &str, content: &[u8]) -> Result<bool, StoreError> {
        let options = CreateMode::Persistent.with_acls(self.acls);
        let created = self.client.create(path, content, &options).await;
        Ok(unless(&zk::Error::NodeExists, created)?.is_some())
    }

    /// Creates a node with the next number of its parent, and answers the number.
    pub(super) async fn create_next(&self, path: &str, content: &[u8]) -> Result<u32, StoreError> {
        let options = CreateMode::PersistentSequential.with_acls(self.acls);
        let created = self.client.create(path, content, &options).await;
        let (_, number) = created.map_err(fault)?;
        u32::try_from(number.into_i64())
            .map_err(|error| StoreError::unavailable("the tree has no more numbers", error))
    }

    /// Writes what has this version, or any version; `None` if it has another or is not there.
    pub(super) async fn write(
        &self,
        path: &str,
        content: &[u8],
        version: Option<i32>,
    ) -> Result<Option<Stat>, StoreError> {
        match self.client.set_data(path, content, version).await {
            Err(zk::Error::BadVersion) => Ok(None),
            written => unless(&zk::Error::NoNode, written),
        }
    }

    /// Makes what is missing of this path.
    async fn make_folder(&self, path: &str, acls: Acls<'static>) -> Result<(), StoreError> {
        // One who may not create above is told so even about what is there.
        if self.stat(path).await?.is_some() {
            return Ok(());
        }
        let options = CreateMode::Persistent.with_acls(acls);
        self.client.mkdir(path, &options).await.map_err(fault)
    }
}

/// `None` for this one error, which is an answer.
fn unless<T>(answer: &zk::Error, result: Result<T, zk::Error>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error == *answer => Ok(None),
        Err(error) => Err(fault(error)),
    }
}

fn fault(error: zk::Error) -> StoreError {
    let reason = meaning(&error);
    match error {
        zk::Error::AuthFailed | zk::Error::NoAuth => StoreError::misconfigured(reason, error),
        _ => StoreError::unavailable(reason, error),
    }
}

fn meaning(error: &zk::Error) -> &'static str {
    match error {
        zk::Error::NoHosts | zk::Error::Timeout => "no server takes a connection",
        zk::Error::ConnectionLoss => {
            "the connection failed; whether the change was carried out is unknown"
        }
        zk::Error::SessionExpired | zk::Error::SessionMoved | zk::Error::ClientClosed => {
            "the session ended; the next call opens another"
        }
        zk::Error::AuthFailed => "the user or password is refused",
        zk::Error::NoAuth => "this user may not do that: look at the tree with getAcl",
        zk::Error::NoNode => "a part of the tree was removed; the next call makes it again",
        zk::Error::NotReadOnly => "the servers have no majority and only allow reading",
        zk::Error::QuotaExceeded => "a quota on the tree is used up: look at it with listquota",
        zk::Error::Throttled => "the servers refuse work because they have too much",
        _ => "the client failed",
    }
}
