//! The metrics of snowflake ids: the worker id, its lease, the clock. They are absent if snowflake
//! ids are off.

use leafid::RegistryStatus;
use leafid::store::LeaseRecord;
use prometheus_client::metrics::MetricType;

use crate::ops::event_log::EventCounts;
use crate::ops::metrics::families::{Encoded, Families};
use crate::service::{Service, WorkerSettings};

pub(super) fn encode(
    service: &Service,
    events: &EventCounts,
    families: &mut Families<'_>,
) -> Encoded {
    let (Some(status), Some(settings)) = (service.worker_status(), service.worker_settings())
    else {
        return Ok(());
    };
    let issued = service.snowflakes_issued();
    families.counter("snowflake_ids", "snowflake ids issued", issued)?;
    worker(&status, settings, families)?;
    registry(&status, families)?;
    clock(&status, settings, families)?;
    let help = "how often the registry of worker ids had lost a lease that it had granted to this \
                server";
    families.counter(
        "registry_regressions",
        help,
        events.registry_regressions.get(),
    )?;
    let help = "how often the worker id was lost: to another server, or because its lease expired";
    families.counter("worker_losses", help, events.worker_losses.get())?;
    let help = "worker ids left unused because their ids carry times far ahead of the true time";
    families.counter("worker_quarantines", help, events.worker_quarantines.get())?;
    let help = "how often the journal of the worker id could not be written";
    families.counter("journal_failures", help, events.journal_failures.get())
}

fn worker(
    status: &RegistryStatus,
    settings: &WorkerSettings,
    families: &mut Families<'_>,
) -> Encoded {
    let help = "1 while snowflake ids can be issued";
    families.switch("worker_ready", help, status.is_ready())?;
    if let Some(lease) = status.lease {
        let help = "the worker id, by pool; absent while there is none";
        let worker = f64::from(lease.worker.get());
        families
            .family("worker_id", help, MetricType::Gauge)?
            .encode_family(&[("pool", settings.pool.as_str())])?
            .encode_gauge(&worker)?;
        if lease.until_ms != LeaseRecord::FOREVER {
            let help = "how long snowflake ids can be issued without the registry";
            let left = seconds(status.left_ms.cast_signed());
            families.gauge("worker_lease_left_seconds", help, left)?;
            let help = "how long a worker id is leased ahead (worker-lease)";
            families.gauge("worker_lease_seconds", help, settings.lease.as_secs_f64())?;
        }
    }
    let help = "worker ids claimed, the first one included";
    families.counter("worker_claims", help, status.claims)
}

fn registry(status: &RegistryStatus, families: &mut Families<'_>) -> Encoded {
    if let Some(answers) = status.store_answers {
        let help = "1 if the registry answered its last call";
        families.switch("registry_up", help, answers)?;
    }
    let help = "calls to the registry of worker ids that failed";
    families.counter("registry_failures", help, status.failures)
}

fn clock(
    status: &RegistryStatus,
    settings: &WorkerSettings,
    families: &mut Families<'_>,
) -> Encoded {
    let help = "how far the wall clock is ahead of the time in ids";
    let offset = seconds(status.clock_offset_ms);
    families.gauge("clock_offset_seconds", help, offset)?;
    let help = "how often the wall clock was found more than a second away";
    families.counter("clock_steps", help, status.clock_steps)?;
    let help = "how far the time in the next id is ahead of the clock";
    let borrowed = seconds(status.borrowed_ms.cast_signed());
    families.gauge("snowflake_borrowed_seconds", help, borrowed)?;
    let help = "how far the time in ids may run ahead of the clock (ahead-max)";
    let max = settings.ahead_max.as_secs_f64();
    families.gauge("snowflake_borrowed_max_seconds", help, max)?;
    let help = "when the layout's time runs out, in seconds since 1970";
    families.gauge("layout_end_timestamp_seconds", help, seconds(status.end_ms))
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1000.0
}
