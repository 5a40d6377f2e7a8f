//! `/v1/worker` and `/v1/workers`: the worker id of this server, and those of all servers.

use axum::extract::{Path, Request};
use leafid::WorkerId;

use super::answer;
use super::auth::{Call, Change};
use super::json::read_json;
use super::problem::{Answered, Kind, Problem};
use crate::api::{self, OwnWorker, ReleaseRequest, Worker, WorkerList};
use crate::service::{Service, WorkerView};
use crate::wall_clock::time;

/// Shows the worker id of this server.
#[utoipa::path(
    get, path = "/v1/worker", tag = "workers", operation_id = "show_worker",
    responses((status = 200, description = "the worker id and the clock of this server", body = OwnWorker))
)]
pub(crate) async fn show(call: Call) -> Answered {
    let status = call.service.worker(&call.caller)?;
    let document = OwnWorker::new(&status, call.service.layout());
    Ok(answer::ok(&document))
}

/// Lists all worker ids that have ever been held, with their holders.
#[utoipa::path(
    get, path = "/v1/workers", tag = "workers", operation_id = "list_workers",
    responses((status = 200, description = "the worker ids", body = WorkerList))
)]
pub(crate) async fn list(call: Call) -> Answered {
    let views = call.service.workers(&call.caller).await?;
    let list = WorkerList {
        workers: views.iter().map(worker).collect(),
        worker_max: call.service.layout().worker_max(),
    };
    Ok(answer::ok(&list))
}

/// Frees the worker id of a dead server before its lease ends. The caller states that the server is
/// dead. Refused while a server answers with that worker id.
#[utoipa::path(
    post, path = "/v1/workers/{id}/release", tag = "workers", operation_id = "release_worker",
    params(("id" = u32, Path, description = "the worker id")),
    request_body = ReleaseRequest,
    responses((status = 200, description = "the worker id as it is now", body = Worker))
)]
pub(crate) async fn release(call: Change, Path(id): Path<String>, request: Request) -> Answered {
    let id = worker_id(&call.service, &id)?;
    let ReleaseRequest { dead: _ } = read_json(request, call.service.limits()).await?;
    let view = call.service.force_release_worker(&call.caller, id).await?;
    Ok(answer::ok(&worker(&view)))
}

fn worker_id(service: &Service, text: &str) -> Result<WorkerId, Problem> {
    let number = text.parse().ok().filter(|_| !text.starts_with('+'));
    number.map(WorkerId::new).ok_or_else(|| {
        let max = service.layout().worker_max();
        let detail = format!("\"{}\" is not a worker id", crate::excerpt::shown(text));
        Problem::new(
            Kind::BAD_FIELD,
            detail,
            format!("give a number from 0 to {max}"),
        )
        .with_field("id")
    })
}

fn worker(view: &WorkerView) -> Worker {
    let record = &view.record;
    Worker {
        worker: record.worker.get(),
        held: view.is_held,
        own: view.is_own,
        address: record.address.clone(),
        holder: record.holder.clone(),
        epoch: record.epoch.to_string(),
        until: api::leased_until(record.until_ms).map(time),
    }
}
