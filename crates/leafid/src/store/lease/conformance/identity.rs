//! Checks of `identity` and `location`.

use futures_util::future::join_all;

use super::{
    Check, LeaseHandles, Outcome, chain, check, claim, first_claim, rows, same, store_of, unchanged,
};
use crate::store::{IDENTITY_LEN_MAX, LeaseStore};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "an identity stays",
        "identity answers what was made at the first call and is kept beside the rows",
        stays
    ),
    check!(
        "one identity wins",
        "of many first calls of identity at once one wins, and all answer that one",
        one_wins
    ),
    check!(
        "an identity is a name",
        "an identity is up to 128 ASCII characters without spaces, and location is the same text each time",
        is_a_name
    ),
    check!(
        "an identity is no row",
        "the identity is kept beside the rows; rows are written by swap alone",
        no_row
    ),
];

const CALLERS: u64 = 50;

async fn identity(store: &dyn LeaseStore) -> Result<String, String> {
    let bound = store.bind("leaf").await;
    bound.map_err(|error| format!("bind: {}", chain(&error)))?;
    let identity = store.identity().await;
    identity.map_err(|error| format!("identity: {}", chain(&error)))
}

async fn stays(handles: &LeaseHandles) -> Outcome {
    let made = identity(&*handles.first).await?;
    claim(&*handles.first, &first_claim("6f1c")).await?;
    for caller in 0..4 {
        let again = identity(store_of(handles, caller)).await?;
        same("the identity", &again, &made)?;
    }
    Ok(())
}

async fn one_wins(handles: &LeaseHandles) -> Outcome {
    let at_once = (0..CALLERS).map(|caller| identity(store_of(handles, caller)));
    let answers: Result<Vec<String>, String> = join_all(at_once).await.into_iter().collect();
    let answers = answers?;
    match answers.iter().find(|answer| **answer != answers[0]) {
        Some(other) => Err(format!("one answer is {:?}, another {other:?}", answers[0])),
        None => same(
            "the identity",
            &identity(&*handles.first).await?,
            &answers[0],
        ),
    }
}

async fn is_a_name(handles: &LeaseHandles) -> Outcome {
    let name = identity(&*handles.second).await?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_graphic());
    if name.is_empty() || name.len() > IDENTITY_LEN_MAX || !is_name {
        return Err(format!("the identity is {name:?}"));
    }
    let store = &handles.first;
    if store.location().is_empty() {
        return Err("the location is empty".into());
    }
    same("the location", &store.location(), &store.location())
}

async fn no_row(handles: &LeaseHandles) -> Outcome {
    identity(&*handles.first).await?;
    unchanged(handles, &Vec::new()).await?;
    claim(&*handles.first, &first_claim("6f1c")).await?;
    let before = rows(&*handles.first).await?;
    identity(&*handles.second).await?;
    unchanged(handles, &before).await
}
