//! What follows from the settings: the URLs of store and registry, and the options and bounds of
//! the parts that they set.

use std::time::Duration;

use leafid::store::StoreError;
use leafid::{RegistryOptions, SnowflakeOptions};
use leafid_stores::{OnBadRow, Remedies, StoreOptions, StoreUrl, UrlError};

use super::addresses::Addresses;
use super::limits::Limits;
use super::values::Config;

/// Open files for everything that there are few of: listeners, the journal, the log, a registry,
/// files that are reloaded.
const FILES_RESERVE: u64 = 64;
/// The embedded store's file in its directory.
const EMBEDDED_FILE: &str = "leafid.db";
/// The value of `registry` that means there is none.
const NO_REGISTRY: &str = "none";

impl Config {
    /// Whether ids come from the embedded store, because `store` is empty.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        self.store.is_empty()
    }

    /// Whether a tag is created on first use: by default with SQLite only. On a shared database a
    /// typo would create a tag for everyone.
    #[must_use]
    pub fn creates_tags(&self) -> bool {
        let is_local = || self.store.iter().all(|url| url.starts_with("sqlite:"));
        self.create_tags.unwrap_or_else(is_local)
    }

    /// How many threads serve connections: by default one for each core that this process may
    /// use.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// The URL of the store: `store`, else `leafid.db` in `data_dir`.
    ///
    /// # Errors
    ///
    /// When `store` is not the URL of a store; [`Sources::load`](super::Sources::load) refuses such
    /// settings.
    pub fn store_url(&self) -> Result<StoreUrl, UrlError> {
        if self.is_embedded() {
            return Ok(StoreUrl::sqlite(self.data_dir.join(EMBEDDED_FILE)));
        }
        self.store.join(",").parse()
    }

    /// The bounds of the server: those that have settings as set, the others at their default.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            connections_max: self.connections_max,
            connections_per_address: self.connections_per_address,
            unread_max: usize::try_from(self.unread_max).unwrap_or(usize::MAX),
            connection_unread_max: usize::try_from(self.connection_unread_max)
                .unwrap_or(usize::MAX),
            ..Limits::default()
        }
    }

    /// How many connections a process may accept that may open `open_files` files: fewer than
    /// `connections_max` if otherwise none would be left for stores, journal and log.
    #[must_use]
    pub fn connections_within(&self, open_files: u64) -> u32 {
        let operators = u64::from(Limits::default().operator_connections_max);
        // A connection to SQLite is three files; a thread that serves connections has three.
        let stores = 3 * u64::from(self.store_connections);
        let threads = 3 * u64::try_from(self.thread_count()).unwrap_or(u64::MAX);
        let reserve = FILES_RESERVE + operators + stores + threads;
        let left = open_files.saturating_sub(reserve).max(open_files / 4);
        let left = u32::try_from(left).unwrap_or(u32::MAX).max(1);
        self.connections_max.min(left)
    }

    /// Where the front ends listen.
    #[must_use]
    pub const fn addresses(&self) -> Addresses {
        Addresses {
            http: self.http,
            resp: self.resp,
            grpc: self.grpc,
        }
    }

    /// The options of the store.
    #[must_use]
    pub fn store_options(&self) -> StoreOptions {
        StoreOptions::default()
            .with_connections_max(usize::try_from(self.store_connections).unwrap_or(usize::MAX))
            .with_connect_timeout(self.store_connect_timeout)
            .with_statement_timeout(self.store_statement_timeout)
            .with_remedies(remedies())
            .with_on_bad_row(OnBadRow(log_bad_row))
            .with_allow_weak(self.allow_weak_store)
    }

    /// The URL of the registry of worker ids: `registry`, else that of the store. `None` if
    /// `registry` is `none`.
    ///
    /// # Errors
    ///
    /// When it is not a URL; [`Sources::load`](super::Sources::load) refuses such settings.
    ///
    /// # Example
    ///
    /// ```
    /// let config = leafid_server::Config::default();
    /// assert_eq!(config.registry_url()?.unwrap().to_string(), "sqlite:leafid-data/leafid.db");
    /// # Ok::<(), leafid_stores::UrlError>(())
    /// ```
    pub fn registry_url(&self) -> Result<Option<StoreUrl>, UrlError> {
        let registry = &self.workers.registry;
        if registry.iter().any(|url| url == NO_REGISTRY) && registry.len() == 1 {
            return Ok(None);
        }
        if registry.is_empty() {
            return self.store_url().map(Some);
        }
        registry.join(",").parse().map(Some)
    }

    /// The options of the registry, except the worker id and the address.
    #[must_use]
    pub(crate) fn registry_options(&self) -> RegistryOptions {
        let workers = &self.workers;
        RegistryOptions::default()
            .with_snowflake(
                SnowflakeOptions::default()
                    .with_layout(workers.layout)
                    .with_shard(workers.shard)
                    .with_policy(workers.clock_policy)
                    .with_ahead_max(workers.ahead_max)
                    .with_wait_max(self.wait_max),
            )
            .with_lease(workers.lease)
            .with_check_interval(workers.check_interval)
            .with_clock_offset_max(workers.clock_offset_max)
            .with_step_interval(workers.step_interval)
            .with_call_max(self.registry_call_max())
            .with_late_read_max(self.late_read_max())
            .with_journal_ahead(workers.journal_ahead)
    }

    fn registry_call_max(&self) -> Duration {
        let call_max = RegistryOptions::default().call_max;
        call_max.max(self.store_options().statement_timeout * 2)
    }

    /// A read of one row may wait for a connection, and then for its answers.
    fn late_read_max(&self) -> Duration {
        let options = self.store_options();
        options.statement_timeout + options.look_timeout()
    }
}

fn log_bad_row(error: &StoreError) {
    tracing::warn!("left out of the list of tags: {error}; correct the row in the database");
}

/// Errors of a store name the commands of `leafid`, which an operator can type.
fn remedies() -> Remedies {
    Remedies::default()
        .with_init("run `leafid store init --store {store}`")
        .with_restore("`leafid store restore`")
        .with_backup("`leafid store backup`")
        .with_allow_weak("allow-weak-store")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that some open files are left for the store, whatever the limit on them is.
    #[test]
    fn connections_leave_open_files_for_the_store() {
        let config = Config {
            threads: 2,
            ..Config::default()
        };
        for (open_files, connections) in [
            (1_048_576, 50_000),
            (50_158, 50_000),
            (50_157, 49_999),
            (1024, 866),
            (100, 25),
            (1, 1),
        ] {
            let within = config.connections_within(open_files);
            assert_eq!(within, connections, "{open_files}");
        }
    }

    #[test]
    fn the_registry_is_where_the_store_is_unless_it_is_named() {
        let check = |store: &[&str], registry: &[&str], expected: Option<&str>| {
            let list = |urls: &[&str]| urls.iter().copied().map(str::to_owned).collect();
            let mut config = Config {
                store: list(store),
                ..Config::default()
            };
            config.workers.registry = list(registry);
            let url = config.registry_url().unwrap();
            assert_eq!(url.map(|url| url.to_string()).as_deref(), expected);
        };
        check(&[], &[], Some("sqlite:leafid-data/leafid.db"));
        check(&["mysql://a/x"], &[], Some("mysql://a/x"));
        check(
            &["mysql://a/x"],
            &["postgres://b/y"],
            Some("postgres://b/y"),
        );
        check(&["mysql://a/x"], &["none"], None);
    }
}
