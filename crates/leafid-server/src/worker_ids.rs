//! `Workers`: the sources of this server's worker id: the registry, the journal, and the settings
//! of both. They are opened once, at the start; the library uses them.

mod baidu;
mod durability_check;
mod leaf_worker_hint;
mod peers;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use leafid::store::{Journal, LeaseStore, MemoryJournal, StoreError};
use leafid::{ErrorKind, RegistryOptions, WorkerChoice, WorkerId};
use leafid_stores::{FileJournal, LeaseOptions, StoreUrl};

use crate::config::{Config, WorkerIdSource};
use crate::error::ServeError;

pub(crate) use baidu::RowLooks;
pub use baidu::WorkerNodeRow;
pub(crate) use durability_check::{DurabilityChecked, unencrypted};
#[cfg(test)]
pub(crate) use peers::PeerAnswer;
pub(crate) use peers::{PEER_PROOF, Peers, Presence};

/// The journal's file in `data-dir`.
const JOURNAL_FILE: &str = "worker.journal";

/// The sources of a worker id.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use leafid::store::MemoryJournal;
/// use leafid::{WorkerChoice, WorkerId};
/// use leafid_server::Workers;
///
/// let workers = Workers {
///     leases: None,
///     journal: Arc::new(MemoryJournal::new()),
///     choice: WorkerChoice::Exactly(WorkerId::new(7)),
///     preferred: None,
///     worker_node: None,
/// };
/// # drop(workers);
/// ```
pub struct Workers {
    /// The registry in which worker ids are leased; `None`: `choice` names one, and no other server
    /// has it.
    pub leases: Option<Arc<dyn LeaseStore>>,
    /// The journal of this server.
    pub journal: Arc<dyn Journal>,
    /// Which worker id to claim.
    pub choice: WorkerChoice,
    /// The worker id that Java Leaf recorded here, for a server that never had one.
    pub preferred: Option<WorkerId>,
    /// The row in `WORKER_NODE` whose number the worker id is.
    pub worker_node: Option<WorkerNodeRow>,
}

impl Workers {
    /// Opens what the settings name, for a server that listens at `http`; `None` if `snowflake` is
    /// off. A registry on a server is not contacted yet, except for the table `WORKER_NODE`.
    ///
    /// # Errors
    ///
    /// [`ServeError::Layout`], [`ServeError::WorkerId`], [`ServeError::Journal`],
    /// [`ServeError::Registry`].
    ///
    /// # Example
    ///
    /// ```
    /// use leafid_server::{Config, Workers};
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let config = Config { snowflake: false, ..Config::default() };
    /// assert!(Workers::open(&config, config.http).await?.is_none());
    /// # Ok::<(), leafid_server::ServeError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn open(config: &Config, http: SocketAddr) -> Result<Option<Self>, ServeError> {
        if !config.snowflake {
            return Ok(None);
        }
        let layout = config.workers.layout;
        layout.check(crate::wall_clock::now().as_millisecond())?;
        if config.workers.id == WorkerIdSource::WorkerNode {
            return Self::of_worker_node(config, http).await.map(Some);
        }
        let hostname = std::env::var("HOSTNAME").ok();
        let choice = config.workers.id.choice(hostname.as_deref());
        let choice = choice.map_err(|message| ServeError::WorkerId { message })?;
        if let WorkerChoice::Exactly(worker) = choice {
            layout.check_worker(worker)?;
        }
        Ok(Some(Self {
            leases: leases(config).await?,
            journal: journal(config)?,
            choice,
            preferred: leaf_worker_hint::read(&config.workers, &std::env::temp_dir()),
            worker_node: None,
        }))
    }

    /// A number that was never used before, so that there is nothing to record. It is leased too,
    /// where the database has the table of leases: servers with other kinds of worker ids share it.
    async fn of_worker_node(config: &Config, http: SocketAddr) -> Result<Self, ServeError> {
        let url = registry_url(config)?.ok_or_else(|| ServeError::WorkerId {
            message: "worker-id is worker-node, but registry is none: set registry to the URL of \
                      the database with the table WORKER_NODE"
                .into(),
        })?;
        let (leases, leased) = match leases(config).await? {
            Some(leases) => leased(leases, &url).await?,
            None => (None, Vec::new()),
        };
        let (row, worker) = loop {
            let row = WorkerNodeRow::insert(url.clone(), name(config, http), config, http).await;
            let row = row.map_err(|error| unopened(&url, error))?;
            let worker = WorkerId::new(u32::try_from(row.number()).unwrap_or(u32::MAX));
            // A number above the largest ends the search.
            config.workers.layout.check_worker(worker)?;
            if !leased.contains(&worker) {
                break (row, worker);
            }
        };
        let row = match leases {
            Some(_) => row,
            None => row
                .without_lease()
                .await
                .map_err(|error| unopened(&url, error))?,
        };
        Ok(Self {
            leases,
            journal: Arc::new(MemoryJournal::new()),
            choice: WorkerChoice::Exactly(worker),
            preferred: None,
            worker_node: Some(row),
        })
    }
}

/// A registry with the worker ids that are leased in it now; none where its tables are missing.
async fn leased(
    leases: Arc<dyn LeaseStore>,
    url: &StoreUrl,
) -> Result<(Option<Arc<dyn LeaseStore>>, Vec<WorkerId>), ServeError> {
    let now_ms = u64::try_from(crate::wall_clock::now().as_millisecond()).unwrap_or(0);
    match leases.leases().await {
        Ok(rows) => {
            let held = rows.iter().filter(|row| row.until_ms > now_ms);
            let held = held.map(|row| row.worker).collect();
            Ok((Some(leases), held))
        }
        Err(error) if error.kind() == ErrorKind::Misconfigured => {
            tracing::warn!(
                registry = %url,
                %error,
                "worker ids of WORKER_NODE are not leased: a server with another kind of worker-id \
                 on this database could have the same one; run leafid store init"
            );
            Ok((None, Vec::new()))
        }
        Err(error) => Err(unopened(url, error)),
    }
}

async fn leases(config: &Config) -> Result<Option<Arc<dyn LeaseStore>>, ServeError> {
    let Some(url) = registry_url(config)? else {
        return Ok(None);
    };
    // Only an address from the settings: a server of Java Leaf that listens elsewhere may have
    // registered under a derived one.
    let address = Some(&config.workers.address).filter(|address| !address.is_empty());
    let pool = LeaseOptions::new(&config.workers.pool).with_address(address.cloned());
    let opened = leafid_stores::open_leases(&url, &pool, &config.store_options()).await;
    opened.map(Some).map_err(|error| unopened(&url, error))
}

fn registry_url(config: &Config) -> Result<Option<StoreUrl>, ServeError> {
    config.registry_url().map_err(|error| ServeError::WorkerId {
        message: format!("registry cannot be used: {error}"),
    })
}

fn unopened(url: &StoreUrl, error: StoreError) -> ServeError {
    ServeError::Registry {
        location: url.to_string(),
        error: Box::new(error),
    }
}

fn journal(config: &Config) -> Result<Arc<dyn Journal>, ServeError> {
    let path = config.data_dir.join(JOURNAL_FILE);
    match FileJournal::open(path) {
        Ok(journal) => Ok(Arc::new(journal)),
        Err(error) => Err(ServeError::Journal(Box::new(error))),
    }
}

/// The registry's options for a server that listens at `http`.
pub(crate) fn options(config: &Config, workers: &Workers, http: SocketAddr) -> RegistryOptions {
    config
        .registry_options()
        .with_choice(workers.choice)
        .with_preferred(workers.preferred)
        .with_address(address(config, http))
}

/// The name that distinguishes this server from others on the same store.
pub(crate) fn name(config: &Config, http: SocketAddr) -> String {
    match address(config, http) {
        address if address.is_empty() => http.to_string(),
        address => address,
    }
}

/// The address at which other servers reach this one; empty if they cannot.
fn address(config: &Config, http: SocketAddr) -> String {
    if !config.workers.address.is_empty() {
        return config.workers.address.clone();
    }
    let ip = if http.ip().is_unspecified() {
        outward_ip()
    } else {
        Some(http.ip())
    };
    match ip {
        Some(ip) if !ip.is_loopback() => SocketAddr::new(ip, http.port()).to_string(),
        _ => String::new(),
    }
}

/// The address of the outward interface. Connecting a datagram socket looks it up, and sends
/// nothing.
fn outward_ip() -> Option<IpAddr> {
    // An address for documentation (RFC 5737), which is outside of every network.
    const OUTSIDE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect(OUTSIDE).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers")
            .field("choice", &self.choice)
            .field("preferred", &self.preferred)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_one_that_others_reach() {
        let check = |set: &str, http: &str, expected: &str| {
            let mut config = Config::default();
            config.workers.address = set.into();
            assert_eq!(address(&config, http.parse().unwrap()), expected, "{http}");
        };
        check("", "127.0.0.1:8080", "");
        check("", "[::1]:8080", "");
        check("", "10.1.2.3:8080", "10.1.2.3:8080");
        check("", "[2001:db8::1]:8080", "[2001:db8::1]:8080");
        check("ids.example:80", "127.0.0.1:8080", "ids.example:80");
        let mut outward = address(&Config::default(), "0.0.0.0:8080".parse().unwrap());
        outward.truncate(outward.rfind(':').unwrap_or(0));
        assert!(
            !outward.starts_with("127.") && outward != "0.0.0.0",
            "{outward}"
        );
    }
}
