//! `/v1/audit`: who changed what, as the store recorded it.

use axum::extract::{RawQuery, State};
use hyper::StatusCode;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::answer;
use super::answered::Answered;
use super::auth::Who;
use super::path::Query;
use super::served::Served;
use crate::service::AuditRecord;

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

/// A change that was made.
#[derive(Serialize, ToSchema)]
#[schema(as = Change)]
pub(crate) struct ChangeDocument<'a> {
    /// When, by the clock of the machine that made it.
    #[schema(example = "2026-11-22T03:24:34.513Z")]
    time: String,
    /// The address of the server that made it; null for a command that worked on the store.
    #[schema(example = "10.1.2.3:8080")]
    server: Option<&'a str>,
    /// The name of the token that was shown; null: none.
    #[schema(example = "ops")]
    token: Option<&'a str>,
    /// Where the connection came from, as IP address and port.
    #[schema(example = "10.1.2.9:51234")]
    address: Option<&'a str>,
    /// What was done.
    #[schema(example = "tag deleted")]
    action: &'a str,
    /// To what: a tag, a worker id, what a quota is on.
    #[schema(example = "order")]
    subject: &'a str,
    /// How it was; null: it was not there.
    #[schema(example = "max_id=1001 step=1000 policy=default limit=int64")]
    before: Option<&'a str>,
    /// How it is now; null: it is not there any more. It begins with `unknown` where the call ended
    /// before the store had answered.
    after: Option<&'a str>,
}

impl<'a> From<&'a AuditRecord> for ChangeDocument<'a> {
    fn from(record: &'a AuditRecord) -> Self {
        fn known(text: &str) -> Option<&str> {
            Some(text).filter(|text| !text.is_empty())
        }
        Self {
            time: crate::wall_clock::time(record.at_ms.cast_signed()),
            server: known(&record.server),
            token: known(&record.token),
            address: known(&record.address),
            action: &record.action,
            subject: &record.subject,
            before: known(&record.before),
            after: known(&record.after),
        }
    }
}

/// Changes of all servers on one store.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChangeList<'a> {
    /// The newest first.
    changes: Vec<ChangeDocument<'a>>,
}

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
    let changes = records.iter().map(ChangeDocument::from).collect();
    Ok(answer::json(StatusCode::OK, &ChangeList { changes }))
}
