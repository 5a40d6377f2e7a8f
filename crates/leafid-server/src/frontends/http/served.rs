//! `Served`: the extractor of handlers that need only the service.

use std::sync::Arc;

use axum::extract::State;

use crate::service::Service;

/// The extractor of handlers that need only the service.
pub(super) type Served = State<Arc<Service>>;
