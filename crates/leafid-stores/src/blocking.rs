//! For programs without an async runtime.

use leafid::Generators;

use crate::{ConnectError, Connector};

/// Connects to a store, whose driver and connections get a thread of their own. Waits on this
/// thread. For settings of your own, use [`Connector::spawn_thread`].
///
/// The generators work on any thread and in any async runtime. The thread ends when their last
/// clone is dropped.
///
/// # Errors
///
/// As [`connect`](crate::connect).
///
/// # Example
///
/// ```standalone_crate
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir_in(".")?;
/// # std::env::set_current_dir(&folder)?;
/// let ids = leafid_stores::blocking::connect("sqlite:ids.db")?;
/// let orders = ids.ensure_tag_blocking("order")?;
/// assert_eq!(orders.next_blocking()?.get(), 1);
/// # Ok(())
/// # }
/// ```
pub fn connect(url: &str) -> Result<Generators, ConnectError> {
    Connector::new(url).spawn_thread()
}
