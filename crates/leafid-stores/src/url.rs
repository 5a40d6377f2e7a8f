//! `StoreUrl`: the location of a store. Parsed and checked once, printed without its password.

#[cfg(feature = "_url")]
pub(crate) mod servers;

#[cfg(feature = "zookeeper")]
pub(crate) mod ensemble;

mod error;

pub use error::{UrlError, known_schemes};

use std::fmt;
use std::path::Path;
#[cfg(feature = "sqlite")]
use std::path::PathBuf;
use std::str::FromStr;

#[cfg(feature = "_url")]
use ::url::Url;

#[cfg(feature = "zookeeper")]
use ensemble::Ensemble;

/// The location of a store: a file, or one or more servers in the order in which they are tried.
///
/// - `sqlite:PATH` or `sqlite://PATH`: the rest is the path, as it stands.
/// - `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, also `mariadb://`, with the options `ssl-mode`,
///   `ssl-ca`, `ssl-cert`, `ssl-key`, `socket`. With `table=gear_key`, and `zone` for the dates in
///   ids, the tags are the rows of ns4_gear_idgen: see the module `gear_key`.
/// - `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, also `postgresql://`, with the options
///   `sslmode`, `sslrootcert`, `sslcert`, `sslkey`, `host` (a socket's folder),
///   `application_name`, `options`.
/// - `redis://USER:PASSWORD@HOST:PORT/NUMBER`, one server, for worker ids only. User and number may
///   be left out. `rediss://` is the same over TLS.
/// - `etcd://USER:PASSWORD@HOST:PORT`, for worker ids only. User and password may be left out.
///   `etcd+https://` is the same over TLS.
/// - `zookeeper://USER:PASSWORD@HOST:PORT,HOST:PORT/CHROOT`, for worker ids only. User, password
///   and chroot may be left out.
///
/// Over TLS Redis and etcd have the options `ssl-ca`, `ssl-cert`, `ssl-key`: files in the PEM
/// format.
///
/// Special characters in a user or password are percent-encoded. Several servers are written as
/// several URLs with commas between, or as several `HOST:PORT` in one URL. [`Display`] and
/// [`Debug`] leave passwords and all options but `table` out.
///
/// [`Display`]: fmt::Display
/// [`Debug`]: fmt::Debug
///
/// # Example
///
/// ```
/// use leafid_stores::StoreUrl;
///
/// let url: StoreUrl = "mysql://leaf:s3cret@db1:3306,db2:3306/leaf?ssl-mode=required".parse()?;
/// assert_eq!(url.to_string(), "mysql://leaf@db1:3306/leaf,mysql://leaf@db2:3306/leaf");
/// # Ok::<(), leafid_stores::UrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(Place);

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Place {
    #[cfg(feature = "sqlite")]
    Sqlite(PathBuf),
    #[cfg(feature = "mysql")]
    Mysql(Vec<Url>),
    /// The table `gear_key` on MySQL servers.
    #[cfg(feature = "mysql")]
    GearKey {
        servers: Vec<Url>,
        /// The time zone of dates, if it is named.
        zone: Option<String>,
    },
    #[cfg(feature = "postgres")]
    Postgres(Vec<Url>),
    #[cfg(feature = "redis")]
    Redis(Url),
    #[cfg(feature = "etcd")]
    Etcd(Vec<Url>),
    #[cfg(feature = "zookeeper")]
    ZooKeeper(Ensemble),
}

impl StoreUrl {
    /// The store in this SQLite file.
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn sqlite(path: impl AsRef<Path>) -> Self {
        Self(Place::Sqlite(path.as_ref().to_owned()))
    }

    /// The file, when the store is one.
    ///
    /// # Example
    ///
    /// ```
    /// use std::path::Path;
    /// use leafid_stores::StoreUrl;
    ///
    /// let url: StoreUrl = "sqlite:leafid.db".parse()?;
    /// assert_eq!(url.file(), Some(Path::new("leafid.db")));
    /// # Ok::<(), leafid_stores::UrlError>(())
    /// ```
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            Place::Sqlite(path) => Some(path),
            #[cfg(any(feature = "_url", feature = "zookeeper"))]
            _ => None,
        }
    }

    /// Each server of a list alone, in their order; otherwise the store itself.
    #[cfg(feature = "_sqlx")]
    pub(crate) fn each(&self) -> Vec<Self> {
        match &self.0 {
            #[cfg(feature = "mysql")]
            Place::Mysql(servers) => {
                let alone = |server: &Url| Self(Place::Mysql(vec![server.clone()]));
                servers.iter().map(alone).collect()
            }
            #[cfg(feature = "mysql")]
            Place::GearKey { servers, zone } => {
                let alone = |server: &Url| {
                    let servers = vec![server.clone()];
                    let zone = zone.clone();
                    Self(Place::GearKey { servers, zone })
                };
                servers.iter().map(alone).collect()
            }
            #[cfg(feature = "postgres")]
            Place::Postgres(servers) => {
                let alone = |server: &Url| Self(Place::Postgres(vec![server.clone()]));
                servers.iter().map(alone).collect()
            }
            #[cfg(any(feature = "sqlite", feature = "_registry"))]
            _ => vec![self.clone()],
        }
    }

    /// The table that holds the tags; `None` where a store has none.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid_stores::StoreUrl;
    ///
    /// let url: StoreUrl = "mysql://gear@db1/gear?table=gear_key".parse()?;
    /// assert_eq!(url.table(), Some("gear_key"));
    /// # Ok::<(), leafid_stores::UrlError>(())
    /// ```
    #[must_use]
    pub const fn table(&self) -> Option<&'static str> {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            Place::Sqlite(_) => Some("leaf_alloc"),
            #[cfg(feature = "mysql")]
            Place::Mysql(_) => Some("leaf_alloc"),
            #[cfg(feature = "mysql")]
            Place::GearKey { .. } => Some("gear_key"),
            #[cfg(feature = "postgres")]
            Place::Postgres(_) => Some("leaf_alloc"),
            #[cfg(feature = "_registry")]
            _ => None,
        }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.0
    }

    /// The database, whichever table has the tags: worker ids are in tables of our own.
    pub(crate) fn database(&self) -> Self {
        match &self.0 {
            #[cfg(feature = "mysql")]
            Place::GearKey { servers, .. } => Self(Place::Mysql(servers.clone())),
            _ => self.clone(),
        }
    }
}

impl StoreUrl {
    /// What chooses the tables besides the displayed URL, to be appended to it: sockets, and
    /// options of the session, including those of the environment.
    pub(crate) fn session(&self) -> String {
        let session: Vec<String> = match &self.0 {
            #[cfg(feature = "mysql")]
            Place::Mysql(servers) | Place::GearKey { servers, .. } => {
                servers::mysql_session(servers)
            }
            #[cfg(feature = "postgres")]
            Place::Postgres(servers) => servers::postgres_session(servers),
            #[cfg(any(feature = "sqlite", feature = "_registry"))]
            _ => Vec::new(),
        };
        match session.is_empty() {
            true => String::new(),
            false => format!(" ({})", session.join(", ")),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let text = text.trim();
        let (scheme, _) = text.split_once(':').ok_or(UrlError::NoScheme)?;
        match scheme {
            _ if !cfg!(feature = "tls") && OVER_TLS.contains(&scheme) => {
                Err(UrlError::UnknownScheme {
                    scheme: scheme.to_owned(),
                })
            }
            #[cfg(feature = "sqlite")]
            "sqlite" => sqlite_path(text).map(|path| Self(Place::Sqlite(path))),
            #[cfg(feature = "mysql")]
            "mysql" | "mariadb" => servers::mysql(text, scheme).map(Self),
            #[cfg(feature = "postgres")]
            "postgres" | "postgresql" => {
                servers::postgres(text, scheme).map(|servers| Self(Place::Postgres(servers)))
            }
            #[cfg(feature = "redis")]
            "redis" | "rediss" => servers::redis(text, scheme).map(|url| Self(Place::Redis(url))),
            #[cfg(feature = "redis")]
            "redis+sentinel" | "rediss+sentinel" | "redis-sentinel" | "sentinel" => {
                Err(servers::no_sentinel())
            }
            #[cfg(feature = "etcd")]
            "etcd" | "etcd+https" => {
                servers::etcd(text, scheme).map(|servers| Self(Place::Etcd(servers)))
            }
            #[cfg(feature = "zookeeper")]
            "zookeeper" => Ensemble::parse(text).map(|ensemble| Self(Place::ZooKeeper(ensemble))),
            _ if is_scheme(scheme) => Err(UrlError::UnknownScheme {
                scheme: scheme.to_owned(),
            }),
            _ => Err(UrlError::NoScheme),
        }
    }
}

/// What a build without the feature `tls` lacks.
const OVER_TLS: [&str; 2] = ["rediss", "etcd+https"];

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

#[cfg(feature = "sqlite")]
fn sqlite_path(text: &str) -> Result<PathBuf, UrlError> {
    let path = text.strip_prefix("sqlite:").unwrap_or(text);
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.starts_with(':') || path.contains('?') {
        return Err(UrlError::NoFile);
    }
    Ok(PathBuf::from(path))
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            // Two slashes at the start would be read as those of the scheme.
            Place::Sqlite(path) if path.as_os_str().as_encoded_bytes().starts_with(b"//") => {
                write!(f, "sqlite://{}", path.display())
            }
            #[cfg(feature = "sqlite")]
            Place::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            #[cfg(feature = "mysql")]
            Place::Mysql(servers) => f.write_str(&servers::public_list(servers)),
            #[cfg(feature = "mysql")]
            Place::GearKey { servers, .. } => {
                let one = |server| servers::public(server) + servers::GEAR_KEY_OPTION;
                let shown: Vec<String> = servers.iter().map(one).collect();
                f.write_str(&shown.join(","))
            }
            #[cfg(feature = "postgres")]
            Place::Postgres(servers) => f.write_str(&servers::public_list(servers)),
            #[cfg(feature = "redis")]
            Place::Redis(server) => f.write_str(&servers::public(server)),
            #[cfg(feature = "etcd")]
            Place::Etcd(servers) => f.write_str(&servers::public_list(servers)),
            #[cfg(feature = "zookeeper")]
            Place::ZooKeeper(ensemble) => ensemble.fmt(f),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

#[cfg(all(
    test,
    feature = "sqlite",
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "etcd",
    feature = "zookeeper",
    feature = "tls"
))]
mod tests;
