//! Many callers at once: of those that expect the same row, one succeeds, and no change is lost.

use std::sync::Barrier;
use std::thread;

use futures_util::future::join_all;

use super::{
    BlockOn, Check, LeaseHandles, Outcome, UNTIL_MS, check, claim, first_claim, row, rows, same,
    shows, store_of, swap, wait,
};
use crate::store::{LeaseKey, LeaseRecord};
use crate::worker_id::WorkerId;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "fifty swaps at once",
        "of many calls that expect the same, exactly one answers true",
        fifty_swaps
    ),
    check!(
        "fifty creates at once",
        "of many calls that expect no row, exactly one answers true",
        fifty_creates
    ),
    check!(
        "fifty first claims",
        "of many claims at once, no two get the same worker id",
        fifty_claims
    ),
    check!(
        "worker ids do not disturb each other",
        "a row is written if it still is as the caller saw it, whatever becomes of others",
        undisturbed
    ),
    check!(
        "no change is lost",
        "of many calls that expect the same, exactly one answers true, again and again",
        no_lost_change
    ),
    check!(
        "sixteen threads swap",
        "thread-safe; of many calls that expect the same, exactly one answers true",
        threads: threads
    ),
];

const CALLERS: u64 = 50;
const THREADS: u8 = 16;
const ROUNDS: u64 = 8;
const ROWS: u64 = 16;

/// The row that this caller would write in this epoch.
fn record_of(caller: u64, worker: WorkerId, epoch: u64) -> LeaseRecord {
    LeaseRecord {
        worker,
        epoch,
        address: format!("10.0.0.{caller}:8080"),
        ..first_claim(format!("h{caller}"))
    }
}

/// Checks that one caller succeeded, whose record is the row now.
async fn one_wins(
    handles: &LeaseHandles,
    answers: Vec<Result<bool, String>>,
    record_of: impl Fn(u64) -> LeaseRecord,
) -> Outcome {
    let answers: Result<Vec<bool>, String> = answers.into_iter().collect();
    let winners: Vec<u64> = (0..)
        .zip(answers?)
        .filter_map(|(caller, won)| won.then_some(caller))
        .collect();
    let [winner] = winners[..] else {
        return Err(format!("the callers that went through are {winners:?}"));
    };
    shows(handles, &record_of(winner)).await
}

/// Everyone expects the same of one row and writes this epoch.
async fn all_swap(
    handles: &LeaseHandles,
    worker: WorkerId,
    expected: Option<LeaseKey>,
    epoch: u64,
) -> Outcome {
    let swaps = (0..CALLERS).map(|caller| async move {
        let record = record_of(caller, worker, epoch);
        swap(store_of(handles, caller), expected, &record).await
    });
    let answers = join_all(swaps).await;
    one_wins(handles, answers, |caller| record_of(caller, worker, epoch)).await
}

async fn fifty_swaps(handles: &LeaseHandles) -> Outcome {
    let record = claim(&*handles.first, &first_claim("6f1c")).await?;
    for epoch in 1..=ROUNDS {
        let expected = LeaseKey {
            epoch,
            until_ms: UNTIL_MS,
        };
        all_swap(handles, record.worker, Some(expected), epoch + 1).await?;
    }
    Ok(())
}

async fn fifty_creates(handles: &LeaseHandles) -> Outcome {
    // Only the smallest number is available in every registry.
    all_swap(handles, WorkerId::new(0), None, 1).await
}

async fn fifty_claims(handles: &LeaseHandles) -> Outcome {
    let claims = (0..CALLERS).map(|caller| async move {
        claim(
            store_of(handles, caller),
            &first_claim(format!("h{caller}")),
        )
        .await
    });
    let claimed: Result<Vec<LeaseRecord>, String> = join_all(claims).await.into_iter().collect();
    let mut claimed = claimed?;
    claimed.sort_by_key(|record| record.worker);
    if let Some(pair) = claimed
        .windows(2)
        .find(|pair| pair[0].worker == pair[1].worker)
    {
        return Err(format!("one worker id went to two: {pair:?}"));
    }
    for store in [&handles.first, &handles.second] {
        let mut seen = rows(&**store).await?;
        seen.retain(|row| !super::is_free(row));
        same("the rows that were claimed", &seen, &claimed)?;
    }
    Ok(())
}

async fn undisturbed(handles: &LeaseHandles) -> Outcome {
    let mut claimed = Vec::new();
    for caller in 0..ROWS {
        claimed.push(claim(&*handles.first, &first_claim(caller)).await?);
    }
    let extend = |(caller, claimed): (u64, LeaseRecord)| async move {
        let mut record = claimed;
        for _ in 0..ROUNDS {
            let key = record.key();
            record.until_ms += 1;
            let swapped = swap(store_of(handles, caller), Some(key), &record).await?;
            same("a swap while others swap their rows", &swapped, &true)?;
        }
        shows(handles, &record).await
    };
    let answers = join_all((0..).zip(claimed).map(extend)).await;
    answers.into_iter().collect()
}

const ADDERS: u64 = 16;
const ADDITIONS: u64 = 10;

async fn no_lost_change(handles: &LeaseHandles) -> Outcome {
    let start = LeaseRecord {
        epoch: 0,
        ..first_claim("6f1c")
    };
    let worker = claim(&*handles.first, &start).await?.worker;
    let adders = (0..ADDERS).map(|caller| add_to_epoch(handles, caller, worker));
    let answers: Outcome = join_all(adders).await.into_iter().collect();
    answers?;
    for store in [&handles.first, &handles.second] {
        let epoch = row(&**store, worker).await?.map(|row| row.epoch);
        same("the epoch", &epoch, &Some(ADDERS * ADDITIONS))?;
    }
    Ok(())
}

/// Reads the row and writes it with an epoch one higher, until that has succeeded often enough.
async fn add_to_epoch(handles: &LeaseHandles, caller: u64, worker: WorkerId) -> Outcome {
    let store = store_of(handles, caller);
    let mut added = 0;
    // A swap is refused only because another one succeeded since the row was read, so no caller
    // needs more calls than there are additions.
    for _ in 0..ADDERS * ADDITIONS {
        let seen = row(store, worker).await?.ok_or("the row is gone")?;
        let next = record_of(caller, worker, seen.epoch + 1);
        if swap(store, Some(seen.key()), &next).await? {
            added += 1;
        }
        if added == ADDITIONS {
            return Ok(());
        }
    }
    let calls = ADDERS * ADDITIONS;
    Err(format!(
        "of {calls} swaps of one caller {added} went through"
    ))
}

fn threads(block_on: BlockOn<'_>, handles: &LeaseHandles) -> Outcome {
    let worker = wait(block_on, claim(&*handles.first, &first_claim("6f1c")))?.worker;
    for epoch in 1..=ROUNDS {
        let answers = swap_on_threads(block_on, handles, worker, epoch);
        let record_of = |caller| record_of(caller, worker, epoch + 1);
        wait(block_on, one_wins(handles, answers, record_of))?;
    }
    Ok(())
}

fn swap_on_threads(
    block_on: BlockOn<'_>,
    handles: &LeaseHandles,
    worker: WorkerId,
    epoch: u64,
) -> Vec<Result<bool, String>> {
    let start = Barrier::new(usize::from(THREADS));
    let swap_as = |caller| {
        let record = record_of(caller, worker, epoch + 1);
        let expected = LeaseKey {
            epoch,
            until_ms: UNTIL_MS,
        };
        start.wait();
        wait(
            block_on,
            swap(store_of(handles, caller), Some(expected), &record),
        )
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..u64::from(THREADS))
            .map(|caller| scope.spawn(move || swap_as(caller)))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a thread panicked".into()))
        };
        threads.into_iter().map(join).collect()
    })
}
