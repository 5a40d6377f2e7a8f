//! Checks of the format of a tag, and of which formats its name may have after it.

use std::sync::Arc;

use super::{
    Check, Handles, Outcome, chain, check, create, create_as, delete, refused, reserve, row, same,
    segment, tag, tags::update, wish,
};
use crate::family::Family;
use crate::store::{SegmentStore, StoreError, TagKind, TagPatch, TagSpec};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "formats keep",
        "a format of 1 to 500 characters is kept as it is, also over changes",
        formats_keep
    ),
    check!(
        "a format is for life",
        "FormerFormat for another format after a deleted tag if the ids of both are numbers",
        formats_are_for_life
    ),
    check!(
        "formats of texts",
        "a tag whose ids are no numbers may have another format than the deleted one",
        formats_of_texts
    ),
    check!(
        "a row made by hand has the format",
        "the format of a deleted tag is that of its row, whoever made the row again",
        made_by_hand
    ),
];

/// A tag with the name `order`.
fn spec_of(kind: TagKind, format: Option<&str>) -> TagSpec {
    let mut spec = TagSpec::new(tag("order"));
    spec.settings.kind = kind;
    spec.format = format.map(Arc::from);
    spec
}

async fn formats_keep(handles: &Handles) -> Outcome {
    create(&*handles.first, "plain").await?;
    let longest = ["a".repeat(500), "订".repeat(500), "\u{1F600}".repeat(500)];
    let unusual = [
        "{number}",
        "TS${date6}{number total=16}$",
        " a ",
        "A",
        "it's \"%_\\ ?$1 --",
        "null",
        "{{}}",
        "ü\u{301}",
    ];
    for (index, format) in unusual
        .into_iter()
        .chain(longest.iter().map(String::as_str))
        .enumerate()
    {
        let name = format!("tag{index:02}");
        let spec = TagSpec {
            tag: tag(&name),
            ..spec_of(TagKind::Segment, Some(format))
        };
        let created = create_as(&*handles.first, &spec).await?;
        same("the created format", &created.format, &spec.format)?;
        let read = row(&*handles.second, &name).await?;
        let read = read.and_then(|row| row.format);
        same("the format read back", &read, &spec.format)?;
        let listed = handles.second.list(Some(&tag("tag")), 100).await;
        let listed = listed.map_err(|error| format!("list: {}", chain(&error)))?;
        let listed = listed.last().and_then(|row| row.format.clone());
        same("the listed format", &listed, &spec.format)?;
    }
    let plain = row(&*handles.second, "plain").await?;
    let plain = plain.and_then(|row| row.format);
    same("the format of a tag without one", &plain, &None)?;
    format_outlasts_changes(handles).await
}

async fn format_outlasts_changes(handles: &Handles) -> Outcome {
    let spec = spec_of(TagKind::Segment, Some("A{number}"));
    create_as(&*handles.first, &spec).await?;
    let patches = [
        TagPatch {
            description: Some(Some("x".into())),
            ..TagPatch::default()
        },
        TagPatch {
            policy: Some(Some(crate::StepPolicy::Fixed)),
            ..TagPatch::default()
        },
        TagPatch::default(),
    ];
    for patch in patches {
        let updated = update(handles, patch).await?;
        same("the format after a change", &updated.format, &spec.format)?;
    }
    let reserved = reserve(&*handles.second, &wish("order", 10)).await?;
    segment("a segment of the tag", &reserved, 1, 11)?;
    let read = row(&*handles.first, "order").await?;
    let read = read.and_then(|row| row.format);
    same("the format after a segment", &read, &spec.format)
}

/// Creates a tag that the former one forbids.
async fn refuses(store: &dyn SegmentStore, spec: &TagSpec) -> Outcome {
    let former = "A{number}";
    let created = store.create(spec).await;
    refused(
        "another format",
        created,
        |error| matches!(error, StoreError::FormerFormat { former: Some(kept) } if **kept == *former),
    )
}

async fn formats_are_for_life(handles: &Handles) -> Outcome {
    let (first, second) = (&*handles.first, &*handles.second);
    let own = Some("A{number}");
    for (kind, len) in [
        (TagKind::Segment, 500),
        (TagKind::Segment, 0),
        (TagKind::Snowflake, 0),
        (TagKind::Snowflake, 0),
    ] {
        let created = create_as(first, &spec_of(kind, own)).await?;
        same("the format", &created.format.as_deref(), &own)?;
        if len > 0 {
            reserve(second, &wish("order", len)).await?;
        }
        delete(second, "order").await?;
        for format in [None, Some("a{number}"), Some("A{number} "), Some("B")] {
            refuses(first, &spec_of(TagKind::Snowflake, format)).await?;
            if kind == TagKind::Segment {
                refuses(second, &spec_of(TagKind::Segment, format)).await?;
            }
        }
        same("the row", &row(second, "order").await?, &None)?;
    }
    create(first, "plain").await?;
    delete(first, "plain").await?;
    let formatted = TagSpec {
        tag: tag("plain"),
        ..spec_of(TagKind::Segment, own)
    };
    let created = second.create(&formatted).await;
    refused("a format after none", created, |error| {
        matches!(error, StoreError::FormerFormat { former: None })
    })
}

async fn formats_of_texts(handles: &Handles) -> Outcome {
    let family = TagKind::Family(Family::Uuid7);
    let lives = [
        (TagKind::Segment, Some("A{number}")),
        (family, None),
        (family, Some("order_{id}")),
        (family, Some("o_{id}")),
        (family, None),
    ];
    for (kind, format) in lives {
        let created = create_as(&*handles.first, &spec_of(kind, format)).await?;
        same("the created format", &created.format.as_deref(), &format)?;
        let read = row(&*handles.second, "order").await?;
        let read = read.and_then(|row| row.format);
        same("the format read back", &read.as_deref(), &format)?;
        delete(&*handles.second, "order").await?;
    }
    Ok(())
}

async fn made_by_hand(handles: &Handles) -> Outcome {
    let Some(by_hand) = &handles.by_hand else {
        return Ok(());
    };
    let spec = spec_of(TagKind::Segment, Some("A{number}"));
    create_as(&*handles.first, &spec).await?;
    delete(&*handles.first, "order").await?;
    by_hand(tag("order"), 700).await;
    let read = row(&*handles.second, "order").await?;
    let read = read.and_then(|row| row.format);
    same("the format", &read, &spec.format)
}
