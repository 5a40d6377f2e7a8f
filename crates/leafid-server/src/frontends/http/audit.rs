//! `/v1/audit`: who changed what, as the store recorded it.

use axum::extract::{RawQuery, State};
use hyper::StatusCode;
use utoipa::IntoParams;

use super::answer;
use super::answered::Answered;
use super::auth::Who;
use super::path::Query;
use super::served::Served;
use crate::api::{Change, ChangeList};

/// How many changes.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what is read field by field")]
pub(crate) struct AuditRequest {
    /// How many changes.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

pub(crate) const AUDIT_FIELDS: &[&str] = &["limit"];

/// Lists the last changes of tags, quotas, worker ids and clocks, by all servers on the store, the
/// newest first. The store keeps 10,000. For admins.
#[utoipa::path(
    get, path = "/v1/audit", tag = "audit", operation_id = "list_changes",
    params(AuditRequest),
    responses((status = 200, description = "the changes", body = ChangeList))
)]
pub(crate) async fn list(
    State(service): Served,
    Who(caller): Who,
    RawQuery(query): RawQuery,
) -> Answered {
    let query = Query::parse(query.as_deref(), AUDIT_FIELDS)?;
    let limit = query.number("limit")?;
    let limit = limit.unwrap_or_else(|| service.limits().page_len.into());
    let count = u32::try_from(limit).unwrap_or(u32::MAX);
    let records = service.changes(&caller, count).await?;
    let changes = records.iter().map(Change::from).collect();
    Ok(answer::json(StatusCode::OK, &ChangeList { changes }))
}
