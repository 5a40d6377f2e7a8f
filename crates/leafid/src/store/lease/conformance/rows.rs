//! Checks of rows and of `leases`.

use super::{
    Check, EPOCH_MAX, LeaseHandles, Outcome, UNTIL_MS, chain, check, claim, first_claim, is_free,
    row, rows, same, shows, swap, unchanged,
};
use crate::store::{LeaseRecord, LeaseStore};
use crate::worker_id::WorkerId;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "an empty registry",
        "leases answers all rows, and there is none yet",
        empty
    ),
    check!(
        "every field comes back",
        "epoch and until_ms up to 2^63 - 1, a holder up to 128 and an address up to 255 \
         characters, which may be empty",
        every_field
    ),
    check!(
        "odd texts come back",
        "a holder is ASCII without spaces, whatever it is made of",
        odd_texts
    ),
    check!(
        "seen by the other handle",
        "many processes share one: what one wrote, the other sees at once",
        other_handle
    ),
    check!(
        "all rows are listed",
        "leases answers all rows, one per worker id",
        all_rows
    ),
    check!(
        "worker ids are kept apart",
        "the row of a worker id is found under it, however large it is",
        worker_ids
    ),
    check!(
        "one row is read",
        "lease answers the row of one worker id as leases shows it now, and None if there is none",
        one_row
    ),
];

async fn empty(handles: &LeaseHandles) -> Outcome {
    unchanged(handles, &Vec::new()).await
}

/// Checks that each of these comes back through both handles, once written through the first.
async fn come_back(handles: &LeaseHandles, contents: &[LeaseRecord]) -> Outcome {
    let mut written = Vec::new();
    for content in contents {
        let record = claim(&*handles.first, content).await?;
        shows(handles, &record).await?;
        written.push(record);
    }
    for record in &written {
        shows(handles, record).await?;
    }
    Ok(())
}

async fn every_field(handles: &LeaseHandles) -> Outcome {
    let row = |epoch, until_ms, holder: &str, address: &str| LeaseRecord {
        epoch,
        until_ms,
        address: address.into(),
        ..first_claim(holder)
    };
    let (holder, address) = ("h".repeat(128), "a".repeat(255));
    let contents = [
        row(EPOCH_MAX, LeaseRecord::FOREVER, &holder, &address),
        row(EPOCH_MAX - 1, LeaseRecord::FOREVER - 1, "6f1c", ""),
        row(1, 0, "6f1d", "[2001:db8::1]:8080"),
        row(0, UNTIL_MS, "6f1e", "db1.example.com:80"),
        row(0, 0, "6f1f", "10.0.0.5:8080"),
        // Neither fits a 32-bit integer, nor a number of JavaScript or Lua.
        row((1 << 53) + 1, (1 << 62) + 1, "0", "0"),
    ];
    come_back(handles, &contents).await
}

async fn odd_texts(handles: &LeaseHandles) -> Outcome {
    let printable: String = ('!'..='~').collect();
    let texts = [
        printable.as_str(),
        "a'b",
        "a\"b",
        "a\\nb",
        "{\"a\":1}",
        "a/b:c@d",
        "null",
        "%s$1?",
        "-1",
        "007",
    ];
    let contents = texts.map(|text| LeaseRecord {
        address: text.into(),
        ..first_claim(text)
    });
    come_back(handles, &contents).await
}

async fn other_handle(handles: &LeaseHandles) -> Outcome {
    let (mut from, mut to) = (&handles.first, &handles.second);
    let mut record = claim(&**from, &first_claim("6f1c")).await?;
    for epoch in 2..10 {
        let seen = row(&**to, record.worker).await?;
        same("the row elsewhere", &seen.as_ref(), &Some(&record))?;
        (from, to) = (to, from);
        let key = record.key();
        record = LeaseRecord { epoch, ..record };
        let swapped = swap(&**from, Some(key), &record).await?;
        same("a swap of what the other wrote", &swapped, &true)?;
    }
    Ok(())
}

async fn all_rows(handles: &LeaseHandles) -> Outcome {
    let mut written = Vec::new();
    for number in 0..40 {
        let store = super::store_of(handles, number);
        written.push(claim(store, &first_claim(format!("h{number}"))).await?);
    }
    written.sort_by_key(|record| record.worker);
    for store in [&handles.first, &handles.second] {
        let mut seen = rows(&**store).await?;
        seen.retain(|row| !is_free(row));
        same("the rows that were claimed", &seen, &written)?;
    }
    Ok(())
}

/// A registry that shares its numbers with others may refuse to make one of these out of turn;
/// what it does make has to be exact.
async fn worker_ids(handles: &LeaseHandles) -> Outcome {
    let mut written = vec![claim(&*handles.first, &first_claim("lowest")).await?];
    for worker in [0, 1, 31, 1023].map(WorkerId::new) {
        let record = LeaseRecord {
            worker,
            ..first_claim(format!("h{worker}"))
        };
        let seen = row(&*handles.first, worker).await?;
        if seen.as_ref().is_some_and(|row| !is_free(row)) {
            continue;
        }
        let expected = seen.as_ref().map(LeaseRecord::key);
        if swap(&*handles.first, expected, &record).await? {
            written.push(record);
        } else {
            same("a free row taken", &expected, &None)?;
        }
    }
    for record in &written {
        shows(handles, record).await?;
    }
    let mut seen = rows(&*handles.second).await?;
    seen.retain(|row| !is_free(row));
    same("the rows that were claimed", &seen, &written)
}

async fn one_row(handles: &LeaseHandles) -> Outcome {
    let first = claim(&*handles.first, &first_claim("6f1c")).await?;
    let other = claim(&*handles.second, &first_claim("6f1d")).await?;
    let absent = WorkerId::new(other.worker.get().max(first.worker.get()) + 1);
    let longer = LeaseRecord {
        until_ms: UNTIL_MS + 60_000,
        ..first.clone()
    };
    let swapped = swap(&*handles.second, Some(first.key()), &longer).await?;
    same("a swap", &swapped, &true)?;
    for store in [&handles.first, &handles.second] {
        let listed = rows(&**store).await?;
        for (worker, wanted) in [
            (longer.worker, Some(&longer)),
            (other.worker, Some(&other)),
            (absent, listed.iter().find(|row| row.worker == absent)),
        ] {
            let seen = lease(&**store, worker).await?;
            same(
                &format!("the row of worker id {worker}"),
                &seen.as_ref(),
                &wanted,
            )?;
        }
    }
    Ok(())
}

async fn lease(store: &dyn LeaseStore, worker: WorkerId) -> Result<Option<LeaseRecord>, String> {
    let row = store.lease(worker).await;
    row.map_err(|error| format!("lease of worker id {worker}: {}", chain(&error)))
}
