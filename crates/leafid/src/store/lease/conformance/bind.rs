//! Checks of `bind`.

use futures_util::future::join_all;

use super::{
    Check, LeaseHandles, Outcome, chain, check, claim, first_claim, rows, same, store_of, unchanged,
};
use crate::store::LeaseStore;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "the first layout stays",
        "bind keeps the layout if none was kept before, and answers the one that is kept",
        first_stays
    ),
    check!(
        "a layout comes back exactly",
        "bind answers the text that it was given",
        exact
    ),
    check!(
        "one layout wins",
        "of many first calls at once one wins, and all answer that one",
        one_wins
    ),
    check!(
        "a layout is no row",
        "bind ties the registry to a layout; rows are written by swap alone",
        no_row
    ),
];

const CALLERS: u64 = 50;

async fn bind(store: &dyn LeaseStore, layout: &str) -> Result<String, String> {
    let bound = store.bind(layout).await;
    bound.map_err(|error| format!("bind {layout:?}: {}", chain(&error)))
}

async fn binds(store: &dyn LeaseStore, layout: &str, wanted: &str) -> Outcome {
    let what = format!("the answer to {layout:?}");
    same(&what, &bind(store, layout).await?.as_str(), &wanted)
}

async fn first_stays(handles: &LeaseHandles) -> Outcome {
    binds(&*handles.first, "leaf", "leaf").await?;
    binds(&*handles.first, "baidu", "leaf").await?;
    binds(&*handles.second, "sonyflake", "leaf").await?;
    binds(&*handles.second, "leaf", "leaf").await?;
    binds(&*handles.first, "leaf", "leaf").await
}

async fn exact(handles: &LeaseHandles) -> Outcome {
    let layout = "a 41/10/12 @ 2010-11-04T09:42:54.657+08:00, unit: 1 ms ('x' \"y\" \\ % _ = {})";
    binds(&*handles.first, layout, layout).await?;
    binds(&*handles.second, "leaf", layout).await
}

async fn one_wins(handles: &LeaseHandles) -> Outcome {
    let binds_at_once = (0..CALLERS).map(|caller| async move {
        let layout = format!("layout {caller}");
        bind(store_of(handles, caller), &layout).await
    });
    let answers = join_all(binds_at_once).await;
    let answers: Result<Vec<String>, String> = answers.into_iter().collect();
    let answers = answers?;
    let is_given = (0..CALLERS).any(|caller| answers[0] == format!("layout {caller}"));
    same("whether the winner was given by a caller", &is_given, &true)?;
    if let Some(other) = answers.iter().find(|answer| **answer != answers[0]) {
        return Err(format!("one answer is {:?}, another {other:?}", answers[0]));
    }
    binds(&*handles.first, "late", &answers[0]).await?;
    binds(&*handles.second, "later", &answers[0]).await
}

async fn no_row(handles: &LeaseHandles) -> Outcome {
    bind(&*handles.first, "leaf").await?;
    unchanged(handles, &Vec::new()).await?;
    claim(&*handles.first, &first_claim("6f1c")).await?;
    let before = rows(&*handles.first).await?;
    bind(&*handles.second, "baidu").await?;
    unchanged(handles, &before).await
}
