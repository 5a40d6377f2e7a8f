//! Checks of many tags, by `read` and `list`, and of the whole store, by `inspect` and `probe`.

use super::{Check, Handles, Outcome, chain, check, create, reserve, row, same, tag, wish};
use crate::store::READ_LEN_MAX;
use crate::tag::Tag;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "read many",
        "reads up to READ_LEN_MAX tags; tags without a row are left out",
        read_many
    ),
    check!(
        "list by pages",
        "ascending byte order, up to count rows, from the first after `after`",
        list_pages
    ),
    check!(
        "inspect",
        "says what the store is, alike through every handle",
        inspect
    ),
    check!(
        "probe",
        "finds out whether a reservation could go through now; changes nothing, needs no tag",
        probe
    ),
];

async fn read_many(handles: &Handles) -> Outcome {
    let tags: Vec<Tag> = (0..READ_LEN_MAX)
        .map(|index| tag(&format!("tag{index:03}")))
        .collect();
    let even = || tags.iter().step_by(2);
    for tag in even() {
        create(&*handles.first, tag.as_str()).await?;
    }
    let read = handles
        .first
        .read(&tags)
        .await
        .map_err(|error| chain(&error))?;
    let mut seen: Vec<Tag> = read.into_iter().map(|record| record.tag).collect();
    seen.sort();
    same("the tags read", &seen, &even().cloned().collect())?;
    let none = handles
        .first
        .read(&[])
        .await
        .map_err(|error| chain(&error))?;
    same("a read of no tag", &none, &Vec::new())
}

async fn list_pages(handles: &Handles) -> Outcome {
    let mut tags: Vec<Tag> = [
        "b",
        "a",
        "a b",
        "a-b",
        "Z",
        "aa",
        "10",
        "9",
        "ü",
        "订",
        "\u{1F600}",
        "_",
        "%",
    ]
    .map(tag)
    .into();
    for tag in &tags {
        create(&*handles.first, tag.as_str()).await?;
    }
    tags.sort();
    for count in [1, 2, 5, 100] {
        let mut seen: Vec<Tag> = Vec::new();
        loop {
            let page = handles.second.list(seen.last(), count).await;
            let page = page.map_err(|error| chain(&error))?;
            let wanted = tags.len().saturating_sub(seen.len()).min(count as usize);
            same("the length of a page", &page.len(), &wanted)?;
            if page.is_empty() {
                break;
            }
            seen.extend(page.into_iter().map(|record| record.tag));
        }
        same("the tags listed", &seen, &tags)?;
    }
    let between = handles
        .first
        .list(Some(&tag("a c")), 1)
        .await
        .map_err(|error| chain(&error))?;
    let between: Vec<Tag> = between.into_iter().map(|record| record.tag).collect();
    same(
        "the first after a tag without a row",
        &between,
        &vec![tag("a-b")],
    )?;
    let none = handles
        .first
        .list(None, 0)
        .await
        .map_err(|error| chain(&error))?;
    same("a page of none", &none, &Vec::new())
}

async fn inspect(handles: &Handles) -> Outcome {
    let first = handles
        .first
        .inspect()
        .await
        .map_err(|error| chain(&error))?;
    let second = handles
        .second
        .inspect()
        .await
        .map_err(|error| chain(&error))?;
    same(
        "the identity through the second handle",
        &second.identity,
        &first.identity,
    )?;
    let texts = [&first.product, &first.location, &first.identity];
    if texts.iter().any(|text| text.is_empty()) {
        return Err(format!("a text is empty in {first:?}"));
    }
    same("has_own_table", &first.has_own_table, &true)
}

async fn probe(handles: &Handles) -> Outcome {
    let look = async |what: &str| {
        let at = handles.first.probe().await;
        let at = at.map_err(|error| format!("{what}: {}", chain(&error)))?;
        if at.is_empty() {
            return Err(format!("{what}: it does not say where the store is"));
        }
        Ok(())
    };
    look("without a tag").await?;
    create(&*handles.second, "order").await?;
    reserve(&*handles.second, &wish("order", 10)).await?;
    let before = row(&*handles.second, "order").await?;
    look("beside a tag").await?;
    same(
        "the row after a probe",
        &row(&*handles.second, "order").await?,
        &before,
    )
}
