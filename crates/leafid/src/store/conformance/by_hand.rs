//! Checks of rows that were created past the store.

use super::{
    Check, Handles, Outcome, check, create, delete, limit, max_id, refused, reserve, same, segment,
    tag, wish,
};
use crate::store::{Reserve, StoreError};

pub(super) const CHECKS: &[Check] = &[check!(
    "a row made by hand",
    "max_id is not below what delete kept in mind, whoever made the row again",
    made_by_hand
)];

async fn made_by_hand(handles: &Handles) -> Outcome {
    let Some(by_hand) = &handles.by_hand else {
        return Ok(());
    };
    for (name, floor, margin, made_at, start) in [
        ("stranger", None, 0, 1, 501),
        ("holder", Some(501), 0, 1, 501),
        ("behind", Some(301), 7, 0, 501),
        ("ahead", Some(601), 7, 1, 608),
        ("above", Some(501), 7, 900, 900),
    ] {
        create(&*handles.first, name).await?;
        reserve(&*handles.first, &wish(name, 500)).await?;
        delete(&*handles.first, name).await?;
        by_hand(tag(name), made_at).await;
        let read = max_id(&*handles.second, name).await?;
        same("max_id", &read, &made_at.max(501))?;
        let again = Reserve {
            floor,
            margin,
            ..wish(name, 10)
        };
        let reserved = reserve(&*handles.second, &again).await?;
        segment(name, &reserved, start, start + 10)?;
        same("previous", &reserved.previous, &made_at.max(501))?;
        let next = reserve(&*handles.first, &wish(name, 10)).await?;
        segment("the next one", &next, start + 10, start + 20)?;
        let greedy = Reserve {
            limit: limit(start + 20),
            ..wish(name, 10)
        };
        refused(name, handles.second.reserve(&greedy).await, is_limit)?;
    }
    create(&*handles.first, "spent").await?;
    reserve(&*handles.first, &wish("spent", 500)).await?;
    delete(&*handles.first, "spent").await?;
    by_hand(tag("spent"), 1).await;
    let within = Reserve {
        limit: limit(500),
        ..wish("spent", 10)
    };
    let spent = handles.first.reserve(&within).await;
    refused("a limit below the former life", spent, is_limit)
}

fn is_limit(error: &StoreError) -> bool {
    matches!(error, StoreError::LimitReached { .. })
}
