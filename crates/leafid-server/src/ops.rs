//! What operators see and do while the server runs: metrics, the event log, reloading.

pub(crate) mod event_log;
pub(crate) mod instrumented_store;
pub(crate) mod metrics;
pub(crate) mod reload;
