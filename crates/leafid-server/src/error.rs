//! `ServeError`: why a server did not start, or stopped; and how errors are written out.

use std::error::Error;
use std::io;
use std::net::SocketAddr;

use leafid::LayoutError;
use leafid::store::{StoreError, StoreReport};

/// Why a server did not start, or stopped.
///
/// # Example
///
/// ```
/// use leafid_server::Listeners;
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let first = Listeners::bind("127.0.0.1:0".parse::<std::net::SocketAddr>()?).await?;
/// let error = Listeners::bind(first.http_addr()).await.unwrap_err();
/// assert!(error.to_string().starts_with("cannot listen on 127.0.0.1:"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: choose another address with {setting}")]
    Bind {
        /// The setting that names it.
        setting: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The system has no threads left.
    #[error("cannot start as many threads as asked for: set threads to fewer")]
    Threads(#[source] io::Error),
    /// Settings of the store could lose an acknowledged reservation, so that ids come twice.
    #[error(
        "store {} could give ids twice: {}; to start all the same, set allow_weak_store = true",
        .report.location,
        weaknesses(.report)
    )]
    WeakStore {
        /// What the store says of itself.
        report: Box<StoreReport>,
    },
    /// The store was reached and cannot hold ids as it is.
    #[error(transparent)]
    UnfitStore(Box<StoreError>),
    /// The layout of snowflake ids cannot be used.
    #[error("no snowflake id can be made: {0}")]
    Layout(#[from] LayoutError),
    /// The settings name a worker id that cannot be used.
    #[error("{message}")]
    WorkerId {
        /// What is wrong, and what to change.
        message: String,
    },
    /// The journal of the worker id cannot be used, such as when another server has it open.
    #[error(transparent)]
    Journal(Box<StoreError>),
    /// The registry of worker ids cannot be opened.
    #[error("the registry of worker ids at {location} cannot be opened")]
    Registry {
        /// Where it is, without a password.
        location: String,
        /// Why it cannot be opened.
        #[source]
        error: Box<StoreError>,
    },
}

fn weaknesses(report: &StoreReport) -> String {
    let each = report.weaknesses.iter().map(ToString::to_string);
    each.collect::<Vec<_>>().join("; ")
}

/// An error with all its causes in one line, for logs and people. A cause that the text already
/// contains is not repeated.
///
/// # Example
///
/// ```
/// let error = std::io::Error::other("the disk is full");
/// assert_eq!(leafid_server::with_causes(&error), "the disk is full");
/// ```
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let below = error.to_string();
        if !text.contains(&below) {
            text.push_str(": ");
            text.push_str(&below);
        }
        cause = error.source();
    }
    text.replace('\n', " ")
}
