//! `/v1/worker` and `/v1/workers`: the worker id of this server, and those of all.

use axum::extract::{Path, Request, State};
use hyper::StatusCode;
use leafid::store::LeaseRecord;
use leafid::{RegistryStage, RegistryStatus, WorkerId};
use serde::Serialize;
use utoipa::ToSchema;

use super::answer;
use super::answered::Answered;
use super::auth::{Changer, Who};
use super::json::Fields;
use super::openapi::values;
use super::problem::{Kind, Problem};
use super::served::Served;
use crate::service::{Service, WorkerView};
use crate::wall_clock::time;

/// How this server stands with its worker id and its clock.
#[derive(Serialize, ToSchema)]
#[schema(as = OwnWorker)]
pub(crate) struct OwnWorkerDocument {
    /// `starting`, `refused`, `holding` or `stopped`.
    #[schema(value_type = String, example = "holding")]
    stage: &'static str,
    /// What is in the way of a worker id, and what to do; null when nothing is.
    reason: Option<String>,
    /// The worker id; null for none.
    #[schema(example = 3)]
    worker: Option<u32>,
    /// How often it was claimed, this time included; null for none, 0 where no registry counts.
    #[schema(example = "1")]
    epoch: Option<String>,
    /// Until when it is reserved; null for none, and where nobody leases it.
    #[schema(format = DateTime)]
    until: Option<String>,
    /// How long ids can go on without the registry; null where nobody leases it.
    left_seconds: Option<f64>,
    /// How far the time in the next id is ahead of the clock.
    borrowed_seconds: f64,
    /// How far the wall clock is ahead of the time in ids.
    clock_offset_seconds: f64,
    /// How ids divide their bits.
    #[schema(example = "leaf")]
    layout: String,
    /// Until when the layout has bits of time.
    #[schema(format = DateTime, example = "2080-07-10T17:30:30.208Z")]
    end: String,
    /// Whether the registry answered its last call; null before the first, and without one.
    registry_answers: Option<bool>,
}

impl OwnWorkerDocument {
    fn new(status: &RegistryStatus, layout: leafid::Layout) -> Self {
        let (stage, reason) = match &status.stage {
            RegistryStage::Starting => ("starting", None),
            RegistryStage::Refused { reason } => ("refused", Some(reason.clone())),
            RegistryStage::Holding { .. } => ("holding", None),
            RegistryStage::Stopped => ("stopped", None),
        };
        let lease = status.lease;
        let until_ms = lease.and_then(|lease| leased_until(lease.until_ms));
        Self {
            stage,
            reason,
            worker: lease.map(|lease| lease.worker.get()),
            epoch: lease.map(|lease| lease.epoch.to_string()),
            until: until_ms.map(time),
            left_seconds: until_ms.map(|_| seconds(status.left_ms.cast_signed())),
            borrowed_seconds: seconds(status.borrowed_ms.cast_signed()),
            clock_offset_seconds: seconds(status.clock_offset_ms),
            layout: layout.to_string(),
            end: time(status.end_ms),
            registry_answers: status.store_answers,
        }
    }
}

/// A worker id as the registry has it.
#[derive(Serialize, ToSchema)]
#[schema(as = Worker)]
pub(crate) struct WorkerDocument<'a> {
    /// The worker id.
    #[schema(example = 3)]
    worker: u32,
    /// Whether its reservation is not over yet.
    held: bool,
    /// Whether it is the server that answers.
    own: bool,
    /// Where its holder serves HTTP; empty if that is not known.
    #[schema(example = "10.0.0.5:8080")]
    address: &'a str,
    /// The name that its holder made up for itself; empty if it was released.
    holder: &'a str,
    /// How often it was claimed.
    #[schema(example = "7")]
    epoch: String,
    /// Where its reservation ends; null for never, as with servers of Java Leaf.
    #[schema(format = DateTime)]
    until: Option<String>,
}

impl<'a> WorkerDocument<'a> {
    fn new(view: &'a WorkerView) -> Self {
        let record = &view.record;
        Self {
            worker: record.worker.get(),
            held: view.is_held,
            own: view.is_own,
            address: &record.address,
            holder: &record.holder,
            epoch: record.epoch.to_string(),
            until: leased_until(record.until_ms).map(time),
        }
    }
}

/// All worker ids that were ever held.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkerList<'a> {
    /// In ascending order.
    workers: Vec<WorkerDocument<'a>>,
    /// The largest worker id that the layout has.
    #[schema(example = 1023)]
    worker_max: u32,
}

/// What an operator states of a holder.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes what is read field by field")]
pub(crate) struct ReleaseRequest {
    /// That its process does not run any more, and never will again. If it does after all, ids
    /// can come twice.
    #[schema(schema_with = values::yes)]
    dead: bool,
}

pub(crate) const RELEASE_FIELDS: &[&str] = &["dead"];

/// Shows the worker id of this server.
#[utoipa::path(
    get, path = "/v1/worker", tag = "workers", operation_id = "show_worker",
    responses((status = 200, description = "how it stands", body = OwnWorkerDocument))
)]
pub(crate) async fn show(State(service): Served, Who(caller): Who) -> Answered {
    let status = service.worker(&caller)?;
    let document = OwnWorkerDocument::new(&status, service.layout());
    Ok(answer::json(StatusCode::OK, &document))
}

/// Lists all worker ids that were ever held, and by whom.
#[utoipa::path(
    get, path = "/v1/workers", tag = "workers", operation_id = "list_workers",
    responses((status = 200, description = "the worker ids", body = WorkerList))
)]
pub(crate) async fn list(State(service): Served, Who(caller): Who) -> Answered {
    let views = service.workers(&caller).await?;
    let list = WorkerList {
        workers: views.iter().map(WorkerDocument::new).collect(),
        worker_max: service.layout().worker_max(),
    };
    Ok(answer::json(StatusCode::OK, &list))
}

/// Frees the worker id of a dead server before its reservation is over. The caller states that
/// it is dead. Refused while a server answers with that worker id.
#[utoipa::path(
    post, path = "/v1/workers/{id}/release", tag = "workers", operation_id = "release_worker",
    params(("id" = u32, Path, description = "the worker id")),
    request_body = ReleaseRequest,
    responses((status = 200, description = "the worker id as it is now", body = WorkerDocument))
)]
pub(crate) async fn release(
    State(service): Served,
    Changer(caller): Changer,
    Path(id): Path<String>,
    request: Request,
) -> Answered {
    let worker = worker_id(&service, &id)?;
    let mut fields = Fields::read(request, service.limits(), RELEASE_FIELDS).await?;
    let wanted = "true: that its process does not run any more";
    match fields.take("dead") {
        Some(serde_json::Value::Bool(true)) => {}
        Some(value) => return Err(fields.bad("dead", &value, wanted)),
        None => return Err(fields.missing("dead", wanted)),
    }
    let view = service.force_release_worker(&caller, worker).await?;
    Ok(answer::json(StatusCode::OK, &WorkerDocument::new(&view)))
}

fn worker_id(service: &Service, text: &str) -> Result<WorkerId, Problem> {
    let number = text.parse().ok().filter(|_| !text.starts_with('+'));
    number.map(WorkerId::new).ok_or_else(|| {
        let max = service.layout().worker_max();
        let detail = format!("\"{}\" is no worker id", crate::excerpt::shown(text));
        Problem::new(
            Kind::BAD_FIELD,
            detail,
            format!("give a number from 0 to {max}"),
        )
        .with_field("id")
    })
}

/// `None` for what is not leased.
fn leased_until(until_ms: u64) -> Option<i64> {
    (until_ms != LeaseRecord::FOREVER).then_some(until_ms.cast_signed())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a float has milliseconds for longer than needed"
)]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1000.0
}
