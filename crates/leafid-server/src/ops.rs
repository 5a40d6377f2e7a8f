//! Operations: metrics, the event log, reloading at SIGHUP.

pub(crate) mod event_log;
pub(crate) mod findings;
pub(crate) mod instrumented_store;
pub(crate) mod metrics;
pub(crate) mod monitor;
pub(crate) mod recent;
pub(crate) mod reload;
