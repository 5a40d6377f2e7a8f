//! Many callers at once: reserved segments are disjoint and leave no gap.

use std::sync::{Mutex, PoisonError};
use std::thread;

use futures_util::future::join_all;

use super::{
    BlockOn, Check, Handles, Outcome, chain, check, create, max_id, reserve, same, tag, wait, wish,
};
use crate::segment::Segment;
use crate::store::{Reserve, SegmentStore, StoreError, StoreResult, TagPatch, TagSpec};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "sixteen at once",
        "no two answers overlap, and nothing is skipped",
        sixteen
    ),
    check!(
        "floors at once",
        "no two answers overlap, whatever the floors",
        floors
    ),
    check!(
        "one creates",
        "of many creates of one tag exactly one goes through",
        one_creates
    ),
    check!(
        "updates do not put back",
        "an update leaves max_id alone",
        updates_between
    ),
    check!(
        "lives do not overlap",
        "ids of a former life never come again",
        lives
    ),
    check!(
        "sixteen threads",
        "thread-safe; no two answers overlap, and nothing is skipped",
        threads: threads
    ),
];

const CALLERS: u64 = 16;
const ROUNDS: u64 = 8;

fn store_of(handles: &Handles, caller: u64) -> &dyn SegmentStore {
    if caller.is_multiple_of(2) {
        &*handles.first
    } else {
        &*handles.second
    }
}

async fn take_rounds(handles: &Handles, caller: u64) -> Result<Vec<Segment>, String> {
    let mut segments = Vec::new();
    for round in 0..ROUNDS {
        let wish = wish("order", caller + round + 1);
        segments.push(reserve(store_of(handles, caller), &wish).await?.segment);
    }
    Ok(segments)
}

/// The segments in order, after checking that none overlaps its neighbour.
fn disjoint(mut segments: Vec<Segment>) -> Result<Vec<Segment>, String> {
    segments.sort_by_key(Segment::start);
    match segments
        .windows(2)
        .find(|pair| pair[0].end() > pair[1].start())
    {
        Some(pair) => Err(format!("{} and {} overlap", pair[0], pair[1])),
        None => Ok(segments),
    }
}

async fn covers(handles: &Handles, segments: Vec<Segment>) -> Outcome {
    let total: u64 = segments.iter().map(Segment::len).sum();
    let segments = disjoint(segments)?;
    same("the first id", &segments[0].start(), &1)?;
    same(
        "the end of the last segment",
        &segments[segments.len() - 1].end(),
        &(total + 1),
    )?;
    same(
        "max_id",
        &max_id(&*handles.first, "order").await?,
        &(total + 1),
    )
}

async fn sixteen(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    let answers = join_all((0..CALLERS).map(|caller| take_rounds(handles, caller))).await;
    let segments: Result<Vec<Vec<Segment>>, String> = answers.into_iter().collect();
    covers(handles, segments?.concat()).await
}

fn threads(block_on: BlockOn<'_>, handles: &Handles) -> Outcome {
    wait(block_on, create(&*handles.first, "order"))?;
    let answers = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for caller in 0..CALLERS {
            let answers = &answers;
            scope.spawn(move || {
                let answer = wait(block_on, take_rounds(handles, caller));
                answers
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(answer);
            });
        }
    });
    let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    let segments: Result<Vec<Vec<Segment>>, String> = answers.into_iter().collect();
    wait(block_on, covers(handles, segments?.concat()))
}

async fn floors(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    let take = |caller: u64| async move {
        let mut segments = Vec::new();
        for round in 0..ROUNDS {
            let floor = Some((caller + 1) * (round + 1) * 37);
            let wish = Reserve {
                floor,
                ..wish("order", 10)
            };
            let segment = reserve(store_of(handles, caller), &wish).await?.segment;
            if floor.is_some_and(|floor| segment.start() < floor) {
                return Err(format!("{segment} starts below the floor of {wish:?}"));
            }
            segments.push(segment);
        }
        Ok(segments)
    };
    let answers = join_all((0..CALLERS).map(take)).await;
    let segments: Result<Vec<Vec<Segment>>, String> = answers.into_iter().collect();
    disjoint(segments?.concat()).map(drop)
}

async fn one_creates(handles: &Handles) -> Outcome {
    let make = |caller: u64| async move {
        let spec = TagSpec {
            start: caller + 1,
            ..TagSpec::new(tag("order"))
        };
        match store_of(handles, caller).create(&spec).await {
            Ok(record) => Ok(Some(record.max_id)),
            Err(StoreError::TagExists) => Ok(None),
            Err(error) => Err(chain(&error)),
        }
    };
    let answers = join_all((0..CALLERS).map(make)).await;
    let answers: Result<Vec<Option<u64>>, String> = answers.into_iter().collect();
    let created: Vec<u64> = answers?.into_iter().flatten().collect();
    same(
        "max_ids of the creates that went through",
        &created,
        &vec![max_id(&*handles.first, "order").await?],
    )
}

async fn updates_between(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    let order = tag("order");
    let update = async {
        for step in 1..=ROUNDS * 2 {
            let step = u32::try_from(step).ok();
            let patch = TagPatch {
                step,
                ..TagPatch::default()
            };
            handles
                .second
                .update(&order, &patch)
                .await
                .map_err(|error| chain(&error))?;
        }
        Ok::<(), String>(())
    };
    let takers = join_all((0..4).map(|caller| take_rounds(handles, caller)));
    let (updated, answers) = futures_util::future::join(update, takers).await;
    updated?;
    let segments: Result<Vec<Vec<Segment>>, String> = answers.into_iter().collect();
    covers(handles, segments?.concat()).await
}

async fn lives(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    let (order, spec) = (tag("order"), TagSpec::new(tag("order")));
    let live = async {
        for _ in 0..ROUNDS {
            until_done(|| handles.second.delete(&order)).await?;
            until_done(|| handles.second.create(&spec)).await?;
        }
        Ok::<(), String>(())
    };
    let take = |caller: u64| async move {
        let mut segments = Vec::new();
        for _ in 0..ROUNDS * 2 {
            match store_of(handles, caller).reserve(&wish("order", 10)).await {
                Ok(reserved) => segments.push(reserved.segment),
                Err(StoreError::UnknownTag) => {}
                Err(error) if error.may_recover() => {}
                Err(error) => return Err(chain(&error)),
            }
        }
        Ok(segments)
    };
    let (lived, answers) = futures_util::future::join(live, join_all((0..4).map(take))).await;
    lived?;
    let segments: Result<Vec<Vec<Segment>>, String> = answers.into_iter().collect();
    disjoint(segments?.concat()).map(drop)
}

/// Calls until it succeeds: a database may resolve a deadlock by failing one caller.
async fn until_done<'a, T>(call: impl Fn() -> StoreResult<'a, T>) -> Outcome {
    for _ in 0..100 {
        match call().await {
            Ok(_) | Err(StoreError::TagExists | StoreError::UnknownTag) => return Ok(()),
            Err(error) if error.may_recover() => {}
            Err(error) => return Err(chain(&error)),
        }
    }
    Err("a hundred calls in a row were given up".into())
}
