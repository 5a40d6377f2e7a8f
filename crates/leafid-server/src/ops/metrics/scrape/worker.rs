//! The metrics of snowflake ids: the worker id, its lease, the clock. They are absent if snowflake
//! ids are off.

use std::sync::atomic::Ordering;

use leafid::RegistryStatus;
use leafid::store::LeaseRecord;
use prometheus_client::encoding::DescriptorEncoder;

use super::encode::{Encoded, counter, gauge, switch};
use crate::ops::event_log::EventCounts;
use crate::service::Service;

pub(super) fn encode(
    service: &Service,
    events: &EventCounts,
    encoder: &mut DescriptorEncoder<'_>,
) -> Encoded {
    let Some(status) = service.worker_status() else {
        return Ok(());
    };
    let issued = service.snowflakes_issued();
    counter(encoder, "snowflake_ids", "snowflake ids issued", issued)?;
    worker(&status, encoder)?;
    registry(&status, encoder)?;
    clock(&status, encoder)?;
    let counters = [
        (
            "registry_regressions",
            "how often the registry of worker ids had lost a lease that it had granted to this server",
            &events.registry_regressions,
        ),
        (
            "worker_losses",
            "how often the worker id was lost: to another server, or because its lease expired",
            &events.worker_losses,
        ),
        (
            "worker_quarantines",
            "worker ids left unused because their ids carry times far ahead of the true time",
            &events.worker_quarantines,
        ),
        (
            "journal_failures",
            "how often the journal of the worker id could not be written",
            &events.journal_failures,
        ),
    ];
    for (name, help, count) in counters {
        counter(encoder, name, help, count.load(Ordering::Relaxed))?;
    }
    Ok(())
}

fn worker(status: &RegistryStatus, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
    let help = "1 while snowflake ids can be issued";
    switch(encoder, "worker_ready", help, status.is_ready())?;
    if let Some(lease) = status.lease {
        let help = "the worker id; absent while there is none";
        gauge(encoder, "worker_id", help, f64::from(lease.worker.get()))?;
        if lease.until_ms != LeaseRecord::FOREVER {
            let help = "how long snowflake ids can be issued without the registry";
            let left = seconds(status.left_ms.cast_signed());
            gauge(encoder, "worker_lease_left_seconds", help, left)?;
        }
    }
    let help = "worker ids claimed, the first one included";
    counter(encoder, "worker_claims", help, status.claims)
}

fn registry(status: &RegistryStatus, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
    if let Some(answers) = status.store_answers {
        let help = "1 if the registry answered its last call";
        switch(encoder, "registry_up", help, answers)?;
    }
    let help = "calls to the registry of worker ids that failed";
    counter(encoder, "registry_failures", help, status.failures)
}

fn clock(status: &RegistryStatus, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
    let help = "how far the wall clock is ahead of the time in ids";
    let offset = seconds(status.clock_offset_ms);
    gauge(encoder, "clock_offset_seconds", help, offset)?;
    let help = "how often the wall clock was found more than a second away";
    counter(encoder, "clock_steps", help, status.clock_steps)?;
    let help = "how far the time in the next id is ahead of the clock";
    let borrowed = seconds(status.borrowed_ms.cast_signed());
    gauge(encoder, "snowflake_borrowed_seconds", help, borrowed)?;
    let help = "when the layout's time runs out, in seconds since 1970";
    let end = seconds(status.end_ms);
    gauge(encoder, "layout_end_timestamp_seconds", help, end)
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1000.0
}
