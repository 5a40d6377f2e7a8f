//! `/console/workers`: the map of worker ids, and how the clocks of their holders differ.

use crate::api::console::{PeerClock, WorkerCell, WorkerMap};
use crate::api::leased_until;
use crate::frontends::http::answer;
use crate::frontends::http::auth::Call;
use crate::frontends::http::problem::Answered;
use crate::service::WorkerView;
use crate::wall_clock::time;

pub(super) async fn map(call: Call) -> Answered {
    let Call { service, caller } = &call;
    let views = service.workers(caller).await?;
    let clocks = service.peer_clocks(&views).await?;
    let own = views.iter().find(|view| view.is_own);
    let settings = service.worker_settings();
    let map = WorkerMap {
        pool: settings
            .map(|settings| settings.pool.clone())
            .unwrap_or_default(),
        worker_max: service.layout().worker_max(),
        own: own.map(|view| view.record.worker.get()),
        clocks: clocks
            .into_iter()
            .map(|(view, difference_ms)| PeerClock {
                address: view.record.address.clone(),
                worker: view.record.worker.get(),
                answers: difference_ms.is_some(),
                difference_ms,
            })
            .collect(),
        workers: views.iter().map(cell).collect(),
    };
    Ok(answer::ok(&map))
}

fn cell(view: &WorkerView) -> WorkerCell {
    let record = &view.record;
    let until = leased_until(record.until_ms);
    let state = match (view.is_own, view.is_held, until) {
        (true, ..) => "own",
        (_, true, None) => "java",
        // Given back, but the time in its ids is yet to come.
        (_, true, _) if record.holder.is_empty() => "quarantined",
        (_, true, _) => "held",
        (_, false, _) if record.holder.is_empty() => "released",
        (_, false, _) => "expired",
    };
    WorkerCell {
        worker: record.worker.get(),
        state,
        address: record.address.clone(),
        holder: record.holder.clone(),
        epoch: record.epoch.to_string(),
        until: until.map(time),
    }
}
