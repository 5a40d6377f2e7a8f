//! Checks of `swap`, one caller after the other.

use super::{
    Check, EPOCH_MAX, LeaseHandles, Outcome, UNTIL_MS, check, claim, first_claim, rows, same,
    shows, swap, unchanged,
};
use crate::store::{LeaseKey, LeaseRecord};
use crate::worker_id::WorkerId;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "a create on a row",
        "expected None: there must be no row; false, and then nothing was written",
        create_on_row
    ),
    check!(
        "a stale epoch",
        "a row is written only if its epoch is as the caller saw it",
        stale_epoch
    ),
    check!(
        "a stale until_ms",
        "a row is written only if its until_ms is as the caller saw it",
        stale_until
    ),
    check!(
        "a stale key",
        "a row is written only if it still is as the caller saw it",
        stale_key
    ),
    check!(
        "a swap of no row",
        "a row that is expected must be there; false, and then nothing was written",
        no_row
    ),
    check!(
        "every field is replaced",
        "swap writes the record, whole",
        every_field
    ),
    check!(
        "the same again",
        "a row that is as the caller saw it is written, even if nothing in it is new",
        same_again
    ),
    check!(
        "a release",
        "until_ms may go down, and the row stays",
        release
    ),
    check!(
        "a key is used up",
        "once a swap has changed the key, the same swap again is false",
        used_up
    ),
];

/// Two rows of ordinary numbers and of the largest, each of which a stale key is close to.
async fn two_rows(handles: &LeaseHandles) -> Result<[LeaseRecord; 2], String> {
    let ordinary = LeaseRecord {
        epoch: 7,
        ..first_claim("6f1c")
    };
    let largest = LeaseRecord {
        epoch: EPOCH_MAX,
        until_ms: LeaseRecord::FOREVER,
        ..first_claim("6f1d")
    };
    Ok([
        claim(&*handles.first, &ordinary).await?,
        claim(&*handles.first, &largest).await?,
    ])
}

/// What another caller would write.
fn other(record: &LeaseRecord) -> LeaseRecord {
    LeaseRecord {
        worker: record.worker,
        epoch: 8,
        holder: "other".into(),
        address: "10.0.0.6:9090".into(),
        until_ms: UNTIL_MS + 3_600_000,
    }
}

/// Checks that a swap that expects this is refused through both handles, and the rows stay.
async fn is_refused(
    handles: &LeaseHandles,
    expected: Option<LeaseKey>,
    record: &LeaseRecord,
) -> Outcome {
    let before = rows(&*handles.first).await?;
    for store in [&handles.first, &handles.second] {
        let swapped = swap(&**store, expected, record).await?;
        let what = format!("a swap that expects {expected:?} in {before:?}");
        same(&what, &swapped, &false)?;
        unchanged(handles, &before).await?;
    }
    Ok(())
}

async fn create_on_row(handles: &LeaseHandles) -> Outcome {
    for record in two_rows(handles).await? {
        is_refused(handles, None, &other(&record)).await?;
        is_refused(handles, None, &record).await?;
    }
    Ok(())
}

async fn stale_epoch(handles: &LeaseHandles) -> Outcome {
    for record in two_rows(handles).await? {
        for epoch in [0, 1, record.epoch - 1, record.epoch ^ 1 << 32] {
            let key = LeaseKey {
                epoch,
                ..record.key()
            };
            is_refused(handles, Some(key), &other(&record)).await?;
        }
    }
    Ok(())
}

async fn stale_until(handles: &LeaseHandles) -> Outcome {
    for record in two_rows(handles).await? {
        for until_ms in [0, 1, record.until_ms - 1, record.until_ms ^ 1 << 32] {
            let key = LeaseKey {
                until_ms,
                ..record.key()
            };
            is_refused(handles, Some(key), &other(&record)).await?;
        }
    }
    Ok(())
}

async fn stale_key(handles: &LeaseHandles) -> Outcome {
    let [ordinary, largest] = two_rows(handles).await?;
    let swapped_about = LeaseKey {
        epoch: ordinary.until_ms,
        until_ms: ordinary.epoch,
    };
    let before = LeaseKey {
        epoch: ordinary.epoch - 1,
        until_ms: ordinary.until_ms - 1,
    };
    for key in [swapped_about, before, largest.key()] {
        is_refused(handles, Some(key), &other(&ordinary)).await?;
    }
    is_refused(handles, Some(ordinary.key()), &other(&largest)).await
}

async fn no_row(handles: &LeaseHandles) -> Outcome {
    for worker in [0, 5, 1023].map(WorkerId::new) {
        let record = LeaseRecord {
            worker,
            ..first_claim("6f1c")
        };
        let nothing = LeaseKey {
            epoch: 0,
            until_ms: 0,
        };
        is_refused(handles, Some(nothing), &record).await?;
        is_refused(handles, Some(record.key()), &record).await?;
    }
    Ok(())
}

async fn every_field(handles: &LeaseHandles) -> Outcome {
    for record in two_rows(handles).await? {
        let other = other(&record);
        for (from, to) in [(&record, &other), (&other, &record)] {
            let swapped = swap(&*handles.second, Some(from.key()), to).await?;
            same("a swap that expects the row as it is", &swapped, &true)?;
            shows(handles, to).await?;
        }
    }
    // One field at a time, so that none is written only together with another.
    let record = claim(&*handles.first, &first_claim("one")).await?;
    let key = record.key();
    let holder = LeaseRecord {
        holder: "two".into(),
        ..record
    };
    let address = LeaseRecord {
        address: String::new(),
        ..holder.clone()
    };
    for to in [&holder, &address] {
        let swapped = swap(&*handles.first, Some(key), to).await?;
        same("a swap of one field", &swapped, &true)?;
        shows(handles, to).await?;
    }
    Ok(())
}

async fn same_again(handles: &LeaseHandles) -> Outcome {
    for record in two_rows(handles).await? {
        for store in [&handles.first, &handles.second] {
            let swapped = swap(&**store, Some(record.key()), &record).await?;
            same("a swap that writes the same", &swapped, &true)?;
            shows(handles, &record).await?;
        }
    }
    Ok(())
}

async fn release(handles: &LeaseHandles) -> Outcome {
    let record = claim(&*handles.first, &first_claim("6f1c")).await?;
    let mut before = record.key();
    for until_ms in [UNTIL_MS - 60_000, 1, 0] {
        let released = LeaseRecord {
            until_ms,
            ..record.clone()
        };
        let swapped = swap(&*handles.first, Some(before), &released).await?;
        same("a swap to a lower until_ms", &swapped, &true)?;
        shows(handles, &released).await?;
        before = released.key();
    }
    is_refused(handles, Some(record.key()), &record).await
}

async fn used_up(handles: &LeaseHandles) -> Outcome {
    let record = claim(&*handles.first, &first_claim("6f1c")).await?;
    let extended = LeaseRecord {
        until_ms: record.until_ms + 1,
        ..record.clone()
    };
    let swapped = swap(&*handles.first, Some(record.key()), &extended).await?;
    same("the swap", &swapped, &true)?;
    is_refused(handles, Some(record.key()), &extended).await?;
    is_refused(handles, Some(record.key()), &record).await
}
