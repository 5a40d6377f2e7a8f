//! Checks of the kind of a tag, and of what its name may become after it.

use super::{
    Check, Handles, Outcome, chain, check, create, create_as, delete, refused, reserve, row, same,
    tag, tags::update, wish,
};
use crate::store::{StoreError, TagKind, TagPatch, TagSpec};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "kinds keep",
        "the kind is kept, also over changes, and is that of the latest life",
        kinds_keep
    ),
    check!(
        "a snowflake tag has no segments",
        "UnknownTag for reserve, although it was a segment tag before; what that had is kept",
        no_segments
    ),
    check!(
        "no segments after snowflake ids",
        "a deleted snowflake tag is not created again as a segment tag",
        no_segments_after_snowflakes
    ),
    check!(
        "every kind",
        "each kind is kept; a deleted tag of any but segments keeps its kind",
        every_kind
    ),
];

async fn kinds_keep(handles: &Handles) -> Outcome {
    create(&*handles.first, "default").await?;
    for kind in [TagKind::Segment, TagKind::Snowflake, TagKind::Snowflake] {
        let created = create_as(&*handles.first, &spec_of(kind)).await?;
        same("the created kind", &created.settings.kind, &kind)?;
        let patch = TagPatch {
            description: Some(Some("x".into())),
            ..TagPatch::default()
        };
        same(
            "the kind after a change",
            &update(handles, patch).await?.settings.kind,
            &kind,
        )?;
        let listed = handles.second.list(None, 10).await;
        let listed = listed.map_err(|error| format!("list: {}", chain(&error)))?;
        let kinds: Vec<_> = listed.iter().map(|row| row.settings.kind).collect();
        same("the listed kinds", &kinds, &vec![TagKind::Segment, kind])?;
        delete(&*handles.first, "order").await?;
    }
    Ok(())
}

fn spec_of(kind: TagKind) -> TagSpec {
    let mut spec = TagSpec::new(tag("order"));
    spec.settings.kind = kind;
    spec
}

async fn no_segments(handles: &Handles) -> Outcome {
    create_as(&*handles.first, &spec_of(TagKind::Segment)).await?;
    reserve(&*handles.first, &wish("order", 500)).await?;
    for _ in 0..2 {
        delete(&*handles.first, "order").await?;
        let created = create_as(&*handles.first, &spec_of(TagKind::Snowflake)).await?;
        // What was refused may be counted.
        let is_kept = (501..510).contains(&created.max_id);
        same("whether max_id is kept", &is_kept, &true)?;
        for store in [&handles.first, &handles.second] {
            let none = store.reserve(&wish("order", 1)).await;
            refused("a segment of a snowflake tag", none, |error| {
                matches!(error, StoreError::UnknownTag)
            })?;
        }
    }
    Ok(())
}

async fn no_segments_after_snowflakes(handles: &Handles) -> Outcome {
    let snowflake = spec_of(TagKind::Snowflake);
    for _ in 0..2 {
        create_as(&*handles.first, &snowflake).await?;
        delete(&*handles.second, "order").await?;
        for start in [1, 9000] {
            let segment = TagSpec {
                start,
                ..spec_of(TagKind::Segment)
            };
            let created = handles.first.create(&segment).await;
            refused("a segment tag of that name", created, |error| {
                matches!(error, StoreError::FormerKind { .. })
            })?;
        }
        same("the row", &row(&*handles.second, "order").await?, &None)?;
    }
    Ok(())
}

async fn every_kind(handles: &Handles) -> Outcome {
    for kind in TagKind::all() {
        let spec = TagSpec {
            tag: tag(kind.name()),
            ..spec_of(kind)
        };
        let created = create_as(&*handles.first, &spec).await?;
        same("the created kind", &created.settings.kind, &kind)?;
        let read = row(&*handles.second, kind.name()).await?;
        let read = read.map(|row| row.settings.kind);
        same("the kind read back", &read, &Some(kind))?;
        if kind == TagKind::Segment {
            continue;
        }
        let none = handles.first.reserve(&wish(kind.name(), 1)).await;
        refused("a segment of any but a segment tag", none, |error| {
            matches!(error, StoreError::UnknownTag)
        })?;
        delete(&*handles.second, kind.name()).await?;
        for other in TagKind::all().filter(|other| *other != kind) {
            let spec = TagSpec {
                tag: tag(kind.name()),
                ..spec_of(other)
            };
            let created = handles.first.create(&spec).await;
            refused(
                "a tag of another kind",
                created,
                |error| matches!(error, StoreError::FormerKind { former } if *former == kind),
            )?;
        }
        create_as(&*handles.first, &spec).await?;
    }
    Ok(())
}
