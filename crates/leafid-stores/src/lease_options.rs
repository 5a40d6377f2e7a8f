//! `LeaseOptions`: the pool and layout of worker ids, and whose number to take over.

use leafid::store::StoreError;

use crate::url::StoreUrl;

/// The longest name of a worker pool, in characters.
///
/// # Example
///
/// ```
/// assert_eq!(leafid_stores::POOL_LEN_MAX, 64);
/// ```
pub const POOL_LEN_MAX: usize = 64;

/// The pool and layout of worker ids, and whose number to take over.
///
/// # Example
///
/// ```
/// use leafid_stores::LeaseOptions;
///
/// let options = LeaseOptions::new("shop").with_address(Some("10.0.0.5:8080".into()));
/// assert_eq!(options.pool, "shop");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseOptions {
    /// The name of a group of servers that share worker ids: servers of one pool never hold the
    /// same one, and several pools can be in one store. It has 1 to [`POOL_LEN_MAX`] ASCII letters,
    /// digits, `-`, `_` and `.`, and begins with a letter or a digit. Beside Java Leaf it is Leaf's
    /// `leaf.name`.
    pub pool: String,
    /// The `IP:PORT` of the Java Leaf server that this one replaces, so that it takes over its
    /// number. Without it the number stays that server's. Only ZooKeeper knows such numbers.
    pub address: Option<String>,
}

impl LeaseOptions {
    /// Worker ids of this pool, for a server that replaces no other.
    #[must_use]
    pub fn new(pool: impl Into<String>) -> Self {
        Self {
            pool: pool.into(),
            address: None,
        }
    }

    /// A pool is a key or a path in some stores, so that its name has no other characters.
    /// Sets [`address`](Self::address).
    #[must_use]
    pub fn with_address(mut self, address: Option<String>) -> Self {
        self.address = address;
        self
    }

    pub(crate) fn checked_pool(&self) -> Result<&str, StoreError> {
        let pool = self.pool.as_str();
        let is_known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_name = pool.starts_with(|c: char| c.is_ascii_alphanumeric());
        if is_name && pool.len() <= POOL_LEN_MAX && pool.chars().all(is_known) {
            return Ok(pool);
        }
        Err(StoreError::Unsupported {
            message: format!(
                "a worker pool cannot be named {pool:?}: use 1 to {POOL_LEN_MAX} ASCII letters, \
                digits, \"-\", \"_\" and \".\", and begin with a letter or a digit"
            ),
        })
    }
}

/// The location of a pool's worker ids, without a password. A file has the same one whatever the
/// working directory is and whichever link leads to it.
#[cfg(feature = "_store")]
pub(crate) fn place_of(url: &StoreUrl, pool: &str) -> String {
    match url.file() {
        Some(path) => {
            let path = crate::private::resolved(path);
            format!("sqlite:{} pool {pool}", path.display())
        }
        None => format!("{}{} pool {pool}", url.database(), url.session()),
    }
}

#[cfg(all(test, feature = "postgres", feature = "mysql"))]
mod tests {
    use super::*;

    /// Guards that a lease gives no right in another schema, or behind another socket.
    #[test]
    fn options_that_choose_the_tables_are_part_of_the_place() {
        let place = |url: &str| place_of(&url.parse().unwrap(), "a");
        let plain = place("postgres://u:s3cret@h/x");
        assert_eq!(
            plain,
            place("postgres://u@h/x?application_name=b&sslmode=require")
        );
        let schema = place("postgres://u:s3cret@h/x?options=-csearch_path%3Da");
        assert_eq!(schema, "postgres://u@h/x (options -csearch_path=a) pool a");
        assert_ne!(schema, place("postgres://u@h/x?options=-csearch_path%3Db"));
        let socket = place("postgres://u@h/x?host=/run/a");
        assert_ne!(socket, place("postgres://u@h/x?host=/run/b"));
        let host = place("postgres://u@h/x?host=10.0.0.1");
        assert_eq!(host, "postgres://u@h/x (host 10.0.0.1) pool a");
        let host = place("postgres://u@h/x?host=10.0.0.1&host=10.0.0.2");
        assert_eq!(
            host, "postgres://u@h/x (host 10.0.0.2) pool a",
            "the last one"
        );
        let socket = place("mysql://u@h/x?socket=/run/a.sock");
        assert_ne!(socket, place("mysql://u@h/x?socket=/run/b.sock"));
        assert_ne!(socket, place("mysql://u@h/x"));
    }
}
