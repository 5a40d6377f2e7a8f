//! Tags with odd names, and tags that differ only in what some databases overlook.

use super::{
    Check, Handles, Outcome, chain, check, create, delete, max_id, refused, reserve, row, same,
    segment, tag, wish,
};
use crate::store::{StoreError, TagPatch, TagSpec};
use crate::tag::Tag;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "odd names",
        "every tag is kept and found under its exact name",
        odd_names
    ),
    check!(
        "patterns are names",
        "% and _ and backslash stand for themselves",
        patterns
    ),
    check!(
        "another case is another tag",
        "tags are compared byte by byte",
        another_case
    ),
    check!(
        "both cases at once",
        "tags that differ only by case are apart, or the second is refused",
        both_cases
    ),
];

fn odd_name_list() -> Vec<String> {
    let mut names: Vec<String> = [
        "a'b",
        "a\"b",
        "a`b",
        "a;b -- c",
        "a/b?c=d&e#f",
        "a b",
        "a\\b",
        "a%b",
        "a_b",
        "$1",
        "?",
        ":a",
        "{}",
        "\u{1F600}",
        // Not allowed for new tags, but older ones may have them.
        "a\u{202e}b",
        "a\u{2028}b",
        "订单",
        "é",
        "null",
        "SELECT",
        "0",
        "-1",
    ]
    .map(str::to_owned)
    .into();
    names.push("x".repeat(128));
    names.push("字".repeat(128));
    names
}

async fn odd_names(handles: &Handles) -> Outcome {
    for name in odd_name_list() {
        match handles.first.create(&TagSpec::new(tag(&name))).await {
            Ok(record) => same("the created tag", &record.tag, &tag(&name))?,
            // The column of an existing table may have a character set that lacks such a name.
            Err(StoreError::Unsupported { .. }) if !name.is_ascii() => continue,
            Err(error) => return Err(format!("create {name:?}: {}", chain(&error))),
        }
        let reserved = reserve(&*handles.second, &wish(&name, 10)).await?;
        segment(&name, &reserved, 1, 11)?;
        same("max_id", &max_id(&*handles.first, &name).await?, &11)?;
        let listed = handles
            .first
            .list(None, 1000)
            .await
            .map_err(|error| chain(&error))?;
        same(
            "listed",
            &listed.iter().any(|record| record.tag.as_str() == name),
            &true,
        )?;
        delete(&*handles.first, &name).await?;
        same(
            "the row after delete",
            &row(&*handles.first, &name).await?,
            &None,
        )?;
    }
    Ok(())
}

async fn patterns(handles: &Handles) -> Outcome {
    for name in ["axb", "order"] {
        create(&*handles.first, name).await?;
    }
    for pattern in ["a%b", "a_b", "%", "_____", "orde_", "*", ".*", "order\\"] {
        is_unknown(handles, pattern).await?;
    }
    Ok(())
}

/// Every front end treats this as a tag without a row.
async fn is_unknown(handles: &Handles, name: &str) -> Outcome {
    let wanted = |error: &StoreError| matches!(error, StoreError::UnknownTag);
    let store = &handles.first;
    let patch = TagPatch {
        step: Some(9),
        ..TagPatch::default()
    };
    let what = |verb: &str| format!("{verb} {name:?}");
    refused(
        &what("reserve"),
        store.reserve(&wish(name, 1)).await,
        wanted,
    )?;
    refused(
        &what("update"),
        store.update(&tag(name), &patch).await,
        wanted,
    )?;
    refused(&what("delete"), store.delete(&tag(name)).await, wanted)?;
    same(&what("read"), &row(&**store, name).await?, &None)
}

async fn another_case(handles: &Handles) -> Outcome {
    create(&*handles.first, "order-é").await?;
    for name in [
        "Order-é",
        "ORDER-É",
        "order-e",
        "order-É",
        "ordeR-é",
        "order-e\u{301}",
    ] {
        is_unknown(handles, name).await?;
    }
    let reserved = reserve(&*handles.first, &wish("order-é", 10)).await?;
    segment("the exact name", &reserved, 1, 11)
}

async fn both_cases(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    match handles.first.create(&TagSpec::new(tag("Order"))).await {
        Ok(_) => {
            reserve(&*handles.first, &wish("Order", 10)).await?;
            same(
                "max_id of the other case",
                &max_id(&*handles.first, "Order").await?,
                &11,
            )?;
        }
        Err(StoreError::Unsupported { .. }) => {
            same(
                "the refused tag",
                &row(&*handles.first, "Order").await?,
                &None,
            )?;
        }
        Err(error) => return Err(format!("create \"Order\": {}", chain(&error))),
    }
    same("max_id", &max_id(&*handles.first, "order").await?, &1)?;
    let tags: [Tag; 2] = [tag("order"), tag("ORDER")];
    let read = handles
        .first
        .read(&tags)
        .await
        .map_err(|error| chain(&error))?;
    let read: Vec<Tag> = read.into_iter().map(|record| record.tag).collect();
    same("the tags read", &read, &vec![tag("order")])
}
