//! The metrics of snowflake ids: the worker id, its reservation, the clock. None of them is there
//! where snowflake ids are off.

use std::sync::atomic::Ordering;

use leafid::RegistryStatus;
use leafid::store::LeaseRecord;
use prometheus_client::encoding::DescriptorEncoder;

use super::encode::{Encoded, counter, gauge};
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
            "how often the registry of worker ids had forgotten what it promised this server",
            &events.registry_regressions,
        ),
        (
            "worker_losses",
            "how often the worker id was lost to another server or to the end of its lease",
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
    let is_ready = f64::from(u8::from(status.is_ready()));
    gauge(
        encoder,
        "worker_ready",
        "1 while snowflake ids can be issued",
        is_ready,
    )?;
    if let Some(lease) = status.lease {
        let number = f64::from(lease.worker.get());
        gauge(
            encoder,
            "worker_id",
            "the worker id; absent while there is none",
            number,
        )?;
        if lease.until_ms != LeaseRecord::FOREVER {
            gauge(
                encoder,
                "worker_reservation_left_seconds",
                "how long snowflake ids can be issued without the registry",
                seconds(status.left_ms.cast_signed()),
            )?;
        }
    }
    let help = "worker ids claimed, the first one included";
    counter(encoder, "worker_claims", help, status.claims)
}

fn registry(status: &RegistryStatus, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
    if let Some(answers) = status.store_answers {
        let up = f64::from(u8::from(answers));
        gauge(
            encoder,
            "registry_up",
            "1 if the registry answered its last call",
            up,
        )?;
    }
    let help = "calls to the registry of worker ids that failed";
    counter(encoder, "registry_failures", help, status.failures)
}

fn clock(status: &RegistryStatus, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
    gauge(
        encoder,
        "clock_offset_seconds",
        "how far the wall clock is ahead of the time in ids",
        seconds(status.clock_offset_ms),
    )?;
    counter(
        encoder,
        "clock_steps",
        "how often the wall clock was found more than a second away",
        status.clock_steps,
    )?;
    gauge(
        encoder,
        "snowflake_borrowed_seconds",
        "how far the time in the next id is ahead of the clock",
        seconds(status.borrowed_ms.cast_signed()),
    )?;
    gauge(
        encoder,
        "layout_end_timestamp_seconds",
        "when the layout's time runs out, in seconds since 1970",
        seconds(status.end_ms),
    )
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1000.0
}
