//! Checks of one tag: `create`, `update`, `delete`.

use std::time::Duration;

use super::{
    Check, Handles, Outcome, chain, check, create, create_as, delete, limit, refused, reserve, row,
    same, segment, tag, wish,
};
use crate::limit::Limit;
use crate::step::StepPolicy;
use crate::store::{StoreError, TagKind, TagPatch, TagRecord, TagSettings, TagSpec};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "what is created is read",
        "create answers the row, and read answers the same",
        create_reads
    ),
    check!(
        "settings keep",
        "policies with their parameters, limits and steps are kept",
        settings_keep
    ),
    check!(
        "descriptions keep",
        "a description is kept as it is",
        descriptions_keep
    ),
    check!(
        "create twice",
        "TagExists, and the row stays as it was",
        create_twice
    ),
    check!(
        "create after delete",
        "starts at the larger of spec.start and the max id it had",
        create_after_delete
    ),
    check!(
        "a larger start wins",
        "starts at the larger of spec.start and the max id it had",
        larger_start_wins
    ),
    check!(
        "a new life has new settings",
        "a deleted tag leaves nothing but how far it went",
        new_life
    ),
    check!(
        "update in part",
        "changes what the patch names and leaves the rest",
        update_in_part
    ),
    check!(
        "update to nothing",
        "Some(None) goes back to the default or removes",
        update_to_nothing
    ),
    check!(
        "update to the same",
        "an update that changes nothing answers the row",
        update_to_same
    ),
    check!(
        "unknown tags",
        "UnknownTag for update and delete of a tag without a row",
        unknown
    ),
];

/// A row without its time, which only some stores have.
fn timeless(record: TagRecord) -> TagRecord {
    TagRecord {
        updated_ms: None,
        ..record
    }
}

fn full_spec(name: &str) -> TagSpec {
    TagSpec {
        tag: tag(name),
        start: 77,
        settings: TagSettings {
            kind: TagKind::Segment,
            step: 2000,
            policy: Some(StepPolicy::Leaf {
                step_max: 123_456_789_012,
            }),
            limit: Limit::JS53,
        },
        format: None,
        description: Some("orders of the shop".into()),
    }
}

async fn create_reads(handles: &Handles) -> Outcome {
    for spec in [TagSpec::new(tag("plain")), full_spec("full")] {
        let created = timeless(create_as(&*handles.first, &spec).await?);
        same("the created row", &created, &spec.record())?;
        let read = row(&*handles.second, spec.tag.as_str()).await?;
        same(
            "the row read back",
            &read.map(timeless),
            &Some(spec.record()),
        )?;
    }
    Ok(())
}

fn policies() -> [Option<StepPolicy>; 6] {
    let cover = Duration::from_secs(86_400);
    [
        None,
        Some(StepPolicy::Fixed),
        Some(StepPolicy::leaf()),
        Some(StepPolicy::Leaf { step_max: 1 }),
        Some(StepPolicy::cover()),
        Some(StepPolicy::Cover {
            cover,
            step_max: 9_000_000_000,
        }),
    ]
}

async fn settings_keep(handles: &Handles) -> Outcome {
    let limits = [
        Limit::INT32,
        Limit::JS53,
        Limit::INT64,
        limit(1),
        limit(12_345),
    ];
    for (index, (&policy, &limit)) in policies().iter().zip(limits.iter().cycle()).enumerate() {
        let step = if index % 2 == 0 {
            1
        } else {
            TagSettings::STEP_MAX
        };
        let settings = TagSettings {
            kind: TagKind::Segment,
            step,
            policy,
            limit,
        };
        let spec = TagSpec {
            settings,
            ..TagSpec::new(tag(&format!("tag{index}")))
        };
        create_as(&*handles.first, &spec).await?;
        let read = row(&*handles.second, spec.tag.as_str()).await?;
        same(
            "the settings",
            &read.map(|record| record.settings),
            &Some(settings),
        )?;
    }
    Ok(())
}

async fn descriptions_keep(handles: &Handles) -> Outcome {
    let long = "é".repeat(256);
    let texts = [
        "",
        " ",
        "it's \"quoted\"; -- \\ % _",
        "订单 \u{1F600}",
        long.as_str(),
    ];
    for (index, text) in texts.iter().enumerate() {
        let description = Some((*text).to_owned());
        let name = format!("tag{index}");
        let spec = TagSpec {
            description: description.clone(),
            ..TagSpec::new(tag(&name))
        };
        create_as(&*handles.first, &spec).await?;
        let read = row(&*handles.first, &name).await?;
        same(
            "the description",
            &read.and_then(|record| record.description),
            &description,
        )?;
    }
    Ok(())
}

async fn create_twice(handles: &Handles) -> Outcome {
    create_as(&*handles.first, &full_spec("order")).await?;
    let again = handles.second.create(&TagSpec::new(tag("order"))).await;
    refused("a second create", again, |error| {
        matches!(error, StoreError::TagExists)
    })?;
    let read = row(&*handles.first, "order").await?;
    same(
        "the row",
        &read.map(timeless),
        &Some(full_spec("order").record()),
    )
}

async fn create_after_delete(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    for life in 0..3 {
        reserve(&*handles.first, &wish("order", 500)).await?;
        delete(&*handles.second, "order").await?;
        same(
            "the row of a deleted tag",
            &row(&*handles.first, "order").await?,
            &None,
        )?;
        let gone = handles.first.reserve(&wish("order", 1)).await;
        refused("a deleted tag", gone, |error| {
            matches!(error, StoreError::UnknownTag)
        })?;
        let max_id = create(&*handles.first, "order").await?.max_id;
        same("max_id of the next life", &max_id, &(life * 500 + 501))?;
    }
    let reserved = reserve(&*handles.first, &wish("order", 10)).await?;
    segment("the next segment", &reserved, 1501, 1511)
}

async fn larger_start_wins(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    reserve(&*handles.first, &wish("order", 500)).await?;
    delete(&*handles.first, "order").await?;
    let spec = TagSpec {
        start: 9000,
        ..TagSpec::new(tag("order"))
    };
    same(
        "max_id",
        &create_as(&*handles.first, &spec).await?.max_id,
        &9000,
    )
}

async fn new_life(handles: &Handles) -> Outcome {
    create_as(&*handles.first, &full_spec("order")).await?;
    delete(&*handles.first, "order").await?;
    create(&*handles.first, "order").await?;
    let wanted = TagRecord {
        max_id: 77,
        ..TagSpec::new(tag("order")).record()
    };
    same(
        "the row",
        &row(&*handles.first, "order").await?.map(timeless),
        &Some(wanted),
    )
}

pub(super) async fn update(handles: &Handles, patch: TagPatch) -> Result<TagRecord, String> {
    let name = tag("order");
    let updated = handles.first.update(&name, &patch).await;
    let updated = updated.map_err(|error| format!("{patch:?}: {}", chain(&error)))?;
    let read = row(&*handles.second, "order").await?.map(timeless);
    same("the row read back", &read, &Some(timeless(updated.clone())))?;
    Ok(timeless(updated))
}

async fn update_in_part(handles: &Handles) -> Outcome {
    create_as(&*handles.first, &full_spec("order")).await?;
    reserve(&*handles.first, &wish("order", 3)).await?;
    let mut wanted = TagRecord {
        max_id: 80,
        ..full_spec("order").record()
    };
    wanted.settings.step = 5;
    same(
        "step",
        &update(
            handles,
            TagPatch {
                step: Some(5),
                ..TagPatch::default()
            },
        )
        .await?,
        &wanted,
    )?;
    wanted.settings.policy = Some(StepPolicy::Fixed);
    let patch = TagPatch {
        policy: Some(Some(StepPolicy::Fixed)),
        ..TagPatch::default()
    };
    same("policy", &update(handles, patch).await?, &wanted)?;
    wanted.settings.limit = Limit::INT32;
    let patch = TagPatch {
        limit: Some(Limit::INT32),
        ..TagPatch::default()
    };
    same("limit", &update(handles, patch).await?, &wanted)?;
    wanted.description = Some("x".into());
    let patch = TagPatch {
        description: Some(Some("x".into())),
        ..TagPatch::default()
    };
    same("description", &update(handles, patch).await?, &wanted)?;
    let reserved = reserve(&*handles.first, &wish("order", 3)).await?;
    segment("the segment after", &reserved, 80, 83)
}

async fn update_to_nothing(handles: &Handles) -> Outcome {
    create_as(&*handles.first, &full_spec("order")).await?;
    let patch = TagPatch {
        policy: Some(None),
        description: Some(None),
        ..TagPatch::default()
    };
    let mut wanted = full_spec("order").record();
    (wanted.settings.policy, wanted.description) = (None, None);
    same("the row", &update(handles, patch).await?, &wanted)?;
    let patch = TagPatch {
        limit: Some(Limit::INT64),
        ..TagPatch::default()
    };
    wanted.settings.limit = Limit::INT64;
    same("the row", &update(handles, patch).await?, &wanted)
}

async fn update_to_same(handles: &Handles) -> Outcome {
    let spec = full_spec("order");
    create_as(&*handles.first, &spec).await?;
    same(
        "the row",
        &update(handles, TagPatch::default()).await?,
        &spec.record(),
    )?;
    let patch = TagPatch {
        step: Some(spec.settings.step),
        policy: Some(spec.settings.policy),
        limit: Some(spec.settings.limit),
        description: Some(spec.description.clone()),
    };
    same("the row", &update(handles, patch).await?, &spec.record())
}

async fn unknown(handles: &Handles) -> Outcome {
    create(&*handles.first, "order").await?;
    let is_unknown = |error: &StoreError| matches!(error, StoreError::UnknownTag);
    let none = tag("none");
    let full = TagPatch {
        step: Some(5),
        policy: Some(Some(StepPolicy::Fixed)),
        limit: Some(Limit::JS53),
        description: Some(None),
    };
    for patch in [TagPatch::default(), full] {
        refused(
            "update",
            handles.first.update(&none, &patch).await,
            is_unknown,
        )?;
    }
    refused("delete", handles.first.delete(&none).await, is_unknown)?;
    delete(&*handles.first, "order").await?;
    refused(
        "a second delete",
        handles.first.delete(&tag("order")).await,
        is_unknown,
    )?;
    same("the row", &row(&*handles.first, "none").await?, &None)
}
