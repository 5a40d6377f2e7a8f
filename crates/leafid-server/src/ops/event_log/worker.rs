//! The log lines about the worker id and the clock.

use leafid::store::{LeaseRecord, StoreError};
use leafid::{Event, Lease};

use crate::error::with_causes;
use crate::wall_clock::time;

/// How many holders one line names.
const HOLDERS_SHOWN: usize = 20;

pub(super) fn log(event: &Event<'_>) {
    match event {
        Event::WorkerClaimed { lease } => claimed(lease),
        Event::WorkerExtended { lease } => {
            tracing::debug!(worker = %lease.worker, until = until(lease), "worker id extended");
        }
        Event::WorkerReleased { worker } => tracing::info!(%worker, "worker id given back"),
        Event::WorkerLost { worker, reason } => tracing::error!(
            %worker, reason,
            "alarm: the worker id is lost; no snowflake id is issued until this server has claimed another one, which it tries automatically within seconds; no id is issued twice"
        ),
        Event::WorkerRefused { reason } => tracing::error!(
            reason,
            "alarm: no snowflake id is issued until this is corrected; retrying automatically"
        ),
        Event::WorkersExhausted { holders } => tracing::error!(
            count = holders.len(),
            holders = shown(holders),
            "alarm: all worker ids are held, so no snowflake id is issued; stop servers, or release the worker ids of dead ones with `leafid worker release`"
        ),
        Event::WeakStart { worker, error } => tracing::warn!(
            %worker,
            error = with_causes(error),
            "the registry cannot be reached; this server continues within the lease in its journal"
        ),
        Event::WorkerKept { lease, error } => kept(lease, error),
        Event::RegistryRegressed { lease, found } => tracing::error!(
            worker = %lease.worker,
            found = found_shown(*found),
            "alarm: the registry of worker ids has forgotten what it promised this server: it was \
             emptied, or restored from an older copy; a server that got this worker id meanwhile \
             may have issued the same snowflake ids for up to registry-check"
        ),
        Event::RegistryDown { error } => tracing::warn!(
            error = with_causes(error),
            "the registry of worker ids does not answer; snowflake ids continue within the lease"
        ),
        Event::RegistryUp { after } => {
            tracing::info!(?after, "the registry of worker ids answers again");
        }
        Event::RegistryFailed { error, .. } if is_silence(error) => tracing::debug!(
            error = with_causes(error),
            "a call to the registry of worker ids failed; retrying"
        ),
        Event::RegistryFailed { error, .. } => tracing::warn!(
            error = with_causes(error),
            "a call to the registry of worker ids failed; retrying"
        ),
        Event::JournalFailed { error } => tracing::error!(
            error = with_causes(error),
            "alarm: the journal cannot be written, and no snowflake id beyond it is issued; look at the disk of data-dir, then start this server again"
        ),
        Event::ClockStepped { offset_ms } => tracing::error!(
            offset_ms,
            "alarm: the wall clock was set to another time; ids continue with the previous time, until the registry's clock or that of the peers confirms the new one; look at the time service (NTP), or accept it with POST /v1/clock/accept"
        ),
        Event::ClockAgrees => tracing::info!("the wall clock agrees with the time in ids again"),
        Event::ClockAccepted { offset_ms } => tracing::warn!(
            offset_ms,
            "the new time of the wall clock is confirmed, and followed"
        ),
        Event::Quarantined { worker, until_ms } => tracing::error!(
            %worker,
            until = time(until_ms.cast_signed()),
            "alarm: ids were issued far ahead of the true time; their worker id is left unused until then, and another one is claimed"
        ),
        Event::EndNear { warning } => tracing::error!("alarm: {warning}"),
        _ => tracing::info!(?event, "event"),
    }
}

fn claimed(lease: &Lease) {
    let worker = lease.worker;
    tracing::info!(%worker, until = until(lease), "holds a worker id; snowflake ids are issued");
}

fn kept(lease: &Lease, error: &StoreError) {
    let (worker, until, error) = (lease.worker, until(lease), with_causes(error));
    if lease.until_ms <= crate::wall_clock::now().as_millisecond().unsigned_abs() {
        tracing::warn!(%worker, until, error, "the worker id was not given back; its lease is over");
        return;
    }
    tracing::warn!(
        %worker,
        until,
        error,
        "the worker id could not be given back; it may stay leased to this server until then"
    );
}

fn until(lease: &Lease) -> String {
    match lease.until_ms {
        LeaseRecord::FOREVER => "for good".into(),
        until_ms => time(until_ms.cast_signed()),
    }
}

/// Whether a line about the unreachable registry has been logged already.
fn is_silence(error: &StoreError) -> bool {
    error.may_recover() && error.weak_store().is_none()
}

fn found_shown(row: Option<&LeaseRecord>) -> String {
    match row {
        None => "nothing".into(),
        Some(row) => format!(
            "epoch {} of {} until {}",
            row.epoch,
            format!("{} {}", row.holder, row.address).trim(),
            time(row.until_ms.cast_signed())
        ),
    }
}

fn shown(holders: &[LeaseRecord]) -> String {
    let shown = holders.iter().take(HOLDERS_SHOWN).map(|row| {
        let holder = if row.address.is_empty() {
            &row.holder
        } else {
            &row.address
        };
        format!("{} {holder}", row.worker)
    });
    shown.collect::<Vec<_>>().join(", ")
}
