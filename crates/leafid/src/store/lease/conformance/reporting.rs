//! Checks of `report`, `clock_ms` and `inspect`.

use std::time::Duration;

use super::{
    Check, LeaseHandles, Outcome, UNTIL_MS, chain, check, claim, first_claim, rows, same, shows,
    swap, unchanged,
};
use crate::clock::{Clock, SystemClock};
use crate::store::{LeaseRecord, LeaseStore};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "a report changes no row",
        "report shows others that the holder is alive; rows are written by swap alone",
        no_change
    ),
    check!(
        "a late report changes no row",
        "report of a holder whose row was claimed by another gives it nothing back",
        late
    ),
    check!(
        "reports between swaps",
        "a swap that expects the row as it is goes through, whatever is reported meanwhile",
        between_swaps
    ),
    check!(
        "a plausible clock",
        "clock_ms is in milliseconds since 1970-01-01T00:00:00Z, or None",
        plausible_clock
    ),
    check!(
        "it says what it is",
        "inspect says what the store is",
        says_what
    ),
];

/// How far the store's clock may differ from this machine's. Far less would stop a server; this
/// detects another unit, another zone or another zero.
const CLOCK_OFF: Duration = Duration::from_secs(86_400);

async fn report(store: &dyn LeaseStore, record: &LeaseRecord, now_ms: u64) -> Outcome {
    let reported = store.report(record, now_ms).await;
    reported.map_err(|error| format!("report of {record:?}: {}", chain(&error)))
}

async fn no_change(handles: &LeaseHandles) -> Outcome {
    let other = claim(&*handles.second, &first_claim("6f1d")).await?;
    let record = claim(&*handles.first, &first_claim("6f1c")).await?;
    let before = rows(&*handles.first).await?;
    for now_ms in [UNTIL_MS - 3_000, UNTIL_MS, UNTIL_MS + 3_000, 1] {
        report(&*handles.first, &record, now_ms).await?;
        unchanged(handles, &before).await?;
    }
    let extended = LeaseRecord {
        until_ms: UNTIL_MS + 60_000,
        ..record.clone()
    };
    let swapped = swap(&*handles.second, Some(record.key()), &extended).await?;
    same("a swap after reports", &swapped, &true)?;
    report(&*handles.first, &extended, UNTIL_MS).await?;
    shows(handles, &extended).await?;
    shows(handles, &other).await
}

async fn late(handles: &LeaseHandles) -> Outcome {
    let record = claim(&*handles.first, &first_claim("6f1c")).await?;
    let taken = LeaseRecord {
        epoch: 2,
        holder: "6f1d".into(),
        address: "10.0.0.6:8080".into(),
        until_ms: UNTIL_MS + 60_000,
        ..record
    };
    let swapped = swap(&*handles.second, Some(record.key()), &taken).await?;
    same("the claim by another", &swapped, &true)?;
    let before = rows(&*handles.second).await?;
    for now_ms in [UNTIL_MS - 1, UNTIL_MS + 1] {
        // Whether a late report is refused is up to the store.
        let _ = handles.first.report(&record, now_ms).await;
        unchanged(handles, &before).await?;
    }
    Ok(())
}

async fn between_swaps(handles: &LeaseHandles) -> Outcome {
    let record = claim(&*handles.first, &first_claim("6f1c")).await?;
    let extended = |round: u64| LeaseRecord {
        until_ms: UNTIL_MS + round,
        ..record.clone()
    };
    let rounds = 32;
    let extend = async {
        for round in 0..rounds {
            let (from, to) = (extended(round), extended(round + 1));
            let swapped = swap(&*handles.first, Some(from.key()), &to).await?;
            same("a swap while another reports", &swapped, &true)?;
        }
        Ok::<(), String>(())
    };
    let tell = async {
        for round in 0..rounds {
            // The row changes meanwhile, so the report may be about a former state.
            let _ = handles.second.report(&extended(round), UNTIL_MS).await;
        }
    };
    futures_util::future::join(extend, tell).await.0?;
    shows(handles, &extended(rounds)).await
}

async fn clock(store: &dyn LeaseStore) -> Result<Option<Duration>, String> {
    let clock = store.clock_ms().await;
    let clock = clock.map_err(|error| format!("clock_ms: {}", chain(&error)))?;
    Ok(clock.map(Duration::from_millis))
}

async fn plausible_clock(handles: &LeaseHandles) -> Outcome {
    let Some(mut before) = clock(&*handles.first).await? else {
        return same(
            "the clock elsewhere",
            &clock(&*handles.second).await?,
            &None,
        );
    };
    let ours = SystemClock::new().wall();
    if before.abs_diff(ours) > CLOCK_OFF {
        return Err(format!("the store's clock shows {before:?}, ours {ours:?}"));
    }
    for store in [&handles.first, &handles.second, &handles.first] {
        let after = clock(&**store)
            .await?
            .ok_or("the clock shows nothing now")?;
        if after + Duration::from_secs(1) < before {
            return Err(format!("the clock shows {after:?} after {before:?}"));
        }
        before = after;
    }
    Ok(())
}

async fn says_what(handles: &LeaseHandles) -> Outcome {
    for store in [&handles.first, &handles.second] {
        let report = store.inspect().await;
        let report = report.map_err(|error| format!("inspect: {}", chain(&error)))?;
        for (what, text) in [("product", &report.product), ("location", &report.location)] {
            same(
                &format!("whether the {what} is empty"),
                &text.is_empty(),
                &false,
            )?;
        }
    }
    Ok(())
}
