//! `UrlError`: why a text is not the URL of a store, and which schemes exist.

/// Why a text is not a [`StoreUrl`](crate::StoreUrl). Never contains the text, which may hold a
/// password.
///
/// # Example
///
/// ```
/// use leafid_stores::StoreUrl;
///
/// let error = "oracle://scott:tiger@db/x".parse::<StoreUrl>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown store scheme \"oracle\": known are"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// It has no `scheme:` at the front.
    #[error("a store URL starts with a scheme, such as sqlite:leafid.db; known are {known}", known = known_schemes().join(", "))]
    NoScheme,
    /// No store of this build has that scheme.
    #[error("unknown store scheme {scheme:?}: known are {known}", known = known_schemes().join(", "))]
    UnknownScheme {
        /// The scheme.
        scheme: String,
    },
    /// Servers of different kinds in one list.
    #[error("the servers of a list must be of one kind: all {first}, or all of another scheme")]
    Mixed {
        /// The scheme of the first one.
        first: String,
    },
    /// The text is not a URL.
    #[error(
        "the {scheme} URL cannot be read ({reason}): write {scheme}://USER:PASSWORD@HOST:PORT{path}, with special characters percent-encoded (# as %23, @ as %40)",
        path = if scheme.starts_with("etcd") { "" } else { "/DATABASE" }
    )]
    NotAUrl {
        /// The scheme.
        scheme: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The URL names no database.
    #[error(
        "the {scheme} URL names no database: write {scheme}://USER:PASSWORD@HOST:PORT/DATABASE"
    )]
    NoDatabase {
        /// The scheme.
        scheme: String,
    },
    /// The URL of a ZooKeeper cannot be read.
    #[error(
        "the zookeeper URL cannot be read ({reason}): write zookeeper://HOST:PORT,HOST:PORT/CHROOT, or zookeeper://USER:PASSWORD@… with special characters percent-encoded"
    )]
    NotAnEnsemble {
        /// What is wrong with it.
        reason: String,
    },
    /// A SQLite URL without a path, or in memory.
    #[error("a sqlite URL names a file, such as sqlite:leafid-data/leafid.db")]
    NoFile,
    /// An option that this store does not know.
    #[error("unknown option {option:?} in the {scheme} URL: known are {known}")]
    UnknownOption {
        /// The scheme.
        scheme: String,
        /// The option's name.
        option: String,
        /// The names that are known.
        known: String,
    },
    /// An option with an invalid value.
    #[error("an option of the {scheme} URL does not fit: {reason}")]
    BadOption {
        /// The scheme.
        scheme: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The URL schemes of this build.
///
/// # Example
///
/// ```
/// assert!(leafid_stores::known_schemes().contains(&"sqlite"));
/// ```
#[must_use]
pub fn known_schemes() -> Vec<&'static str> {
    let mut schemes = Vec::new();
    if cfg!(feature = "sqlite") {
        schemes.push("sqlite");
    }
    if cfg!(feature = "mysql") {
        schemes.extend(["mysql", "mariadb"]);
    }
    if cfg!(feature = "postgres") {
        schemes.extend(["postgres", "postgresql"]);
    }
    for (is_known, plain, over_tls) in [
        (cfg!(feature = "redis"), "redis", "rediss"),
        (cfg!(feature = "etcd"), "etcd", "etcd+https"),
    ] {
        schemes.extend(is_known.then_some(plain));
        schemes.extend((is_known && cfg!(feature = "tls")).then_some(over_tls));
    }
    if cfg!(feature = "zookeeper") {
        schemes.push("zookeeper");
    }
    schemes
}
