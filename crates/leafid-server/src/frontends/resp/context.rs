//! `Context`: the state that all sessions share.

use std::sync::Arc;

use super::command::Command;
use super::counts::RespCounts;
use crate::config::RespLimits;
use crate::service::Service;

/// The state that all sessions share.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) service: Arc<Service>,
    pub(super) counts: Arc<RespCounts>,
    pub(super) limits: RespLimits,
    /// All commands.
    pub(super) commands: &'static [Command],
}
