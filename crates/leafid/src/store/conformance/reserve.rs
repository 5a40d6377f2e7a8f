//! Checks of `reserve`.

use super::{
    Check, Handles, Outcome, check, create, create_as, limit, max_id, refused, reserve, row, same,
    segment, tag, wish,
};
use crate::limit::Limit;
use crate::store::{Reserve, StoreError, TagSpec};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "the first segment",
        "a fresh tag gives [1, 1 + count), previously 1",
        first
    ),
    check!(
        "segments are adjacent",
        "the segment is [start, start + count), start = max_id",
        adjacent
    ),
    check!(
        "two handles",
        "no two answers, to whichever process, overlap",
        two_handles
    ),
    check!(
        "a start of its own",
        "a tag starts at spec.start",
        own_start
    ),
    check!("a start of 0", "start = max(max_id, 1)", zero_start),
    check!(
        "the row tells",
        "max_id is the end of the last segment",
        row_tells
    ),
    check!(
        "a floor heals",
        "start is not below the floor, and the answer has the value before",
        floor_heals
    ),
    check!(
        "a margin is left out",
        "start = floor + margin, if max_id is below the floor",
        margin_left_out
    ),
    check!(
        "a low floor",
        "a floor below max_id changes nothing",
        low_floor
    ),
    check!(
        "the floor's own place",
        "a floor equal to max_id changes nothing",
        equal_floor
    ),
    check!(
        "up to the limit",
        "the id at the limit may be issued, none above",
        limit_exact
    ),
    check!(
        "a refusal reserves nothing",
        "LimitReached: nothing is reserved then",
        refusal_reserves_nothing
    ),
    check!(
        "more than the limit",
        "a count that no limit holds is LimitReached, without overflow",
        count_too_large
    ),
    check!(
        "the end of int64",
        "the last id is 2^63 - 2; nothing wraps",
        end_of_int64
    ),
    check!(
        "a floor past the limit",
        "LimitReached: nothing is reserved, the floor is not kept",
        floor_past_limit
    ),
    check!(
        "the longest is kept",
        "segment_max is the longest that callers said so of, or is not kept at all",
        longest_kept
    ),
    check!(
        "an unknown tag",
        "UnknownTag when the tag has no row",
        unknown
    ),
    check!(
        "tags apart",
        "reserving from one tag leaves the others alone",
        tags_apart
    ),
];

fn is_limit(error: &StoreError) -> bool {
    matches!(error, StoreError::LimitReached { .. })
}

async fn first(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    let reserved = reserve(&*handles.first, &wish("order", 1000)).await?;
    segment("the first segment", &reserved, 1, 1001)?;
    same("previous", &reserved.previous, &1)
}

async fn adjacent(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    let mut start = 1;
    for count in [1000, 1, 7, 1_000_000_000_000, 1] {
        let reserved = reserve(&*handles.first, &wish("order", count)).await?;
        segment("the next segment", &reserved, start, start + count)?;
        same("previous", &reserved.previous, &start)?;
        start += count;
    }
    Ok(())
}

async fn two_handles(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    for round in 0..5 {
        let store = if round % 2 == 0 {
            &handles.second
        } else {
            &handles.first
        };
        let reserved = reserve(&**store, &wish("order", 10)).await?;
        segment(
            "the next segment",
            &reserved,
            round * 10 + 1,
            round * 10 + 11,
        )?;
    }
    Ok(())
}

async fn own_start(handles: &Handles) -> Outcome {
    let spec = TagSpec {
        start: 5_000_000_000,
        ..TagSpec::new(tag("order"))
    };
    let record = create_as(&*handles.first, &spec).await?;
    same("max_id", &record.max_id, &5_000_000_000)?;
    let reserved = reserve(&*handles.first, &wish("order", 5)).await?;
    segment("the first segment", &reserved, 5_000_000_000, 5_000_000_005)
}

async fn zero_start(handles: &Handles) -> Outcome {
    let spec = TagSpec {
        start: 0,
        ..TagSpec::new(tag("order"))
    };
    create_as(&*handles.first, &spec).await?;
    let reserved = reserve(&*handles.first, &wish("order", 5)).await?;
    segment("the first segment", &reserved, 1, 6)
}

async fn row_tells(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    same(
        "max_id of a fresh tag",
        &max_id(&*handles.second, "order").await?,
        &1,
    )?;
    reserve(&*handles.first, &wish("order", 1000)).await?;
    same("max_id", &max_id(&*handles.second, "order").await?, &1001)
}

async fn floor_heals(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    reserve(&*handles.first, &wish("order", 100)).await?;
    let floored = Reserve {
        floor: Some(5001),
        ..wish("order", 10)
    };
    let healed = reserve(&*handles.first, &floored).await?;
    segment("the healed segment", &healed, 5001, 5011)?;
    same("previous", &healed.previous, &101)?;
    let after = reserve(&*handles.second, &wish("order", 10)).await?;
    segment("the segment after", &after, 5011, 5021)?;
    same("previous after", &after.previous, &5011)
}

async fn margin_left_out(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    reserve(&*handles.first, &wish("order", 100)).await?;
    let wish = |floor, margin| Reserve {
        floor: Some(floor),
        margin,
        ..wish("order", 10)
    };
    let seen = reserve(&*handles.first, &wish(101, 5000)).await?;
    segment("a floor that the store holds", &seen, 101, 111)?;
    let seen = reserve(&*handles.first, &wish(112, 5000)).await?;
    segment("a floor above that", &seen, 5112, 5122)?;
    same("previous", &seen.previous, &111)?;
    let greedy = Reserve {
        limit: limit(10_000),
        ..wish(6000, 5000)
    };
    let too_far = handles.first.reserve(&greedy).await;
    refused("a margin past the limit", too_far, is_limit)?;
    for margin in [1 << 62, (1 << 63) - 1, u64::MAX] {
        let too_far = handles.first.reserve(&wish(1 << 62, margin)).await;
        refused("a margin past all ids", too_far, is_limit)?;
    }
    same("max_id", &max_id(&*handles.second, "order").await?, &5122)
}

async fn low_floor(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    reserve(&*handles.first, &wish("order", 100)).await?;
    for floor in [0, 1, 100] {
        let before = max_id(&*handles.first, "order").await?;
        let floored = Reserve {
            floor: Some(floor),
            ..wish("order", 10)
        };
        let reserved = reserve(&*handles.first, &floored).await?;
        segment("the segment", &reserved, before, before + 10)?;
        same("previous", &reserved.previous, &before)?;
    }
    Ok(())
}

async fn equal_floor(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    reserve(&*handles.first, &wish("order", 100)).await?;
    let floored = Reserve {
        floor: Some(101),
        ..wish("order", 10)
    };
    let reserved = reserve(&*handles.first, &floored).await?;
    segment("the segment", &reserved, 101, 111)?;
    same("previous", &reserved.previous, &101)
}

async fn limit_exact(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    let within = |count| Reserve {
        limit: limit(100),
        ..wish("order", count)
    };
    let reserved = reserve(&*handles.first, &within(100)).await?;
    segment("the whole range", &reserved, 1, 101)?;
    let one_more = handles.first.reserve(&within(1)).await;
    refused("one id more", one_more, |error| {
        matches!(error, StoreError::LimitReached { max_id: 101 })
    })?;
    same("max_id", &max_id(&*handles.first, "order").await?, &101)
}

async fn refusal_reserves_nothing(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    let within = |count| Reserve {
        limit: limit(100),
        ..wish("order", count)
    };
    reserve(&*handles.first, &within(60)).await?;
    refused(
        "41 of 40",
        handles.first.reserve(&within(41)).await,
        is_limit,
    )?;
    same("max_id", &max_id(&*handles.second, "order").await?, &61)?;
    let last = reserve(&*handles.first, &within(40)).await?;
    segment("the last segment", &last, 61, 101)
}

async fn count_too_large(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    for count in [101, 1 << 62, (1 << 63) - 1, 1 << 63, u64::MAX] {
        let greedy = Reserve {
            limit: limit(100),
            ..wish("order", count)
        };
        refused(
            "a greedy wish",
            handles.first.reserve(&greedy).await,
            is_limit,
        )?;
    }
    for count in [(1 << 63) - 1, 1 << 63, u64::MAX] {
        refused(
            "a greedy wish",
            handles.first.reserve(&wish("order", count)).await,
            is_limit,
        )?;
    }
    same("max_id", &max_id(&*handles.first, "order").await?, &1)?;
    let all = reserve(&*handles.first, &wish("order", (1 << 63) - 2)).await?;
    segment("all ids there are", &all, 1, (1 << 63) - 1)
}

async fn end_of_int64(handles: &Handles) -> Outcome {
    let start = Limit::INT64.largest() - 9;
    let spec = TagSpec {
        start,
        ..TagSpec::new(tag("order"))
    };
    create_as(&*handles.first, &spec).await?;
    refused(
        "11 of 10",
        handles.first.reserve(&wish("order", 11)).await,
        is_limit,
    )?;
    let last = reserve(&*handles.first, &wish("order", 10)).await?;
    segment("the last segment", &last, start, (1 << 63) - 1)?;
    for count in [1, 1000, 1 << 62] {
        refused(
            "past the end",
            handles.first.reserve(&wish("order", count)).await,
            is_limit,
        )?;
    }
    same(
        "max_id",
        &max_id(&*handles.first, "order").await?,
        &((1 << 63) - 1),
    )
}

async fn floor_past_limit(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    for floor in [92, 101, 1 << 40, (1 << 63) - 1, 1 << 63, u64::MAX] {
        let floored = Reserve {
            floor: Some(floor),
            limit: limit(100),
            ..wish("order", 10)
        };
        refused(
            "a floor past the limit",
            handles.first.reserve(&floored).await,
            is_limit,
        )?;
    }
    same("max_id", &max_id(&*handles.first, "order").await?, &1)?;
    let floored = Reserve {
        floor: Some(91),
        limit: limit(100),
        ..wish("order", 10)
    };
    segment(
        "the last that fits",
        &reserve(&*handles.first, &floored).await?,
        91,
        101,
    )
}

async fn longest_kept(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    for (count, is_longest, wanted) in [
        (700, false, None),
        (500, true, Some(500)),
        (9, true, Some(500)),
    ] {
        let wish = Reserve {
            is_longest,
            ..wish("order", count)
        };
        reserve(&*handles.first, &wish).await?;
        let row = row(&*handles.second, "order").await?;
        let kept = row.and_then(|row| row.segment_max);
        if kept.is_some() {
            same("the longest", &kept, &wanted)?;
        }
    }
    Ok(())
}

async fn unknown(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    let is_unknown = |error: &StoreError| matches!(error, StoreError::UnknownTag);
    let wishes = [
        wish("none", 10),
        Reserve {
            floor: Some(u64::MAX),
            limit: limit(1),
            ..wish("none", 10)
        },
        wish("none", u64::MAX),
    ];
    for wish in &wishes {
        refused(
            "an unknown tag",
            handles.first.reserve(wish).await,
            is_unknown,
        )?;
    }
    Ok(())
}

async fn tags_apart(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    create(&*handles.first, "order2").await?;
    reserve(&*handles.first, &wish("order", 100)).await?;
    same(
        "max_id of another tag",
        &max_id(&*handles.first, "order2").await?,
        &1,
    )
}
