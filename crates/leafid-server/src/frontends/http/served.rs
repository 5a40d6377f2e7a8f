//! `Served`: what a handler takes that needs only the service.

use std::sync::Arc;

use axum::extract::State;

use crate::service::Service;

/// What a handler takes that needs only the service.
pub(super) type Served = State<Arc<Service>>;
