//! Errors.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A problem document, RFC 9457.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The kind of problem; the code with a prefix.
    #[schema(example = "urn:leafid:problem:unknown_tag")]
    pub r#type: String,
    /// The kind of problem in words.
    pub title: String,
    /// The HTTP status.
    #[schema(example = 404)]
    pub status: u16,
    /// What happened this time.
    pub detail: String,
    /// The path that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The kind of problem, for programs. Never changes.
    #[schema(example = "unknown_tag")]
    pub code: String,
    /// What to do about it.
    pub next: String,
    /// The invalid field or parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// When to try again, in milliseconds; `Retry-After` has it in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}
