//! `/v1/audit`: the recorded changes, and who made them.

use axum::extract::RawQuery;

use super::answer;
use super::auth::Call;
use super::path::Query;
use super::problem::Answered;
use super::tags::page_len;
use crate::api::{AuditRequest, Change, ChangeList};

/// Lists the last changes of tags, quotas, worker ids and clocks, by all servers on the store,
/// newest first. The store keeps 10,000. For admins.
#[utoipa::path(
    get, path = "/v1/audit", tag = "audit", operation_id = "list_changes",
    params(AuditRequest),
    responses((status = 200, description = "the changes", body = ChangeList))
)]
pub(crate) async fn list(call: Call, RawQuery(query): RawQuery) -> Answered {
    let request: AuditRequest = Query::parse(query.as_deref())?.to()?;
    let count = page_len(request.limit, call.service.limits());
    let records = call.service.changes(&call.caller, count).await?;
    let changes = records.iter().map(Change::from).collect();
    Ok(answer::ok(&ChangeList { changes }))
}
