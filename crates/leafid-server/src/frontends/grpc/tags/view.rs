//! The messages that describe a tag.

use leafid::store::{TagKind, TagRecord};
use leafid::{Status, StepPolicy};

use crate::frontends::grpc::decode::timestamp;
use crate::frontends::grpc::v1::{Kind, Live, Policy, Tag, policy};
use crate::service::TagView;

impl From<&TagView> for Tag {
    fn from(view: &TagView) -> Self {
        let live = view.live.as_ref();
        let live = live.map(|status| live_of(status, view.record.max_id));
        Self {
            live,
            warnings: view.warnings.clone(),
            ..Self::from(&view.record)
        }
    }
}

impl From<&TagRecord> for Tag {
    fn from(record: &TagRecord) -> Self {
        // For a snowflake tag the values in Leaf's columns mean nothing.
        let of_segments = (record.settings.kind == TagKind::Segment).then_some(record.settings);
        let kind = match record.settings.kind {
            TagKind::Segment => Kind::Segment,
            TagKind::Snowflake => Kind::Snowflake,
            TagKind::Family(_) => Kind::Family,
        };
        let family = match record.settings.kind {
            TagKind::Family(family) => family.name(),
            TagKind::Segment | TagKind::Snowflake => "",
        };
        Self {
            name: record.tag.as_str().to_owned(),
            kind: kind.into(),
            max_id: of_segments.map_or(0, |_| record.max_id),
            step: of_segments.map_or(0, |settings| settings.step),
            policy: of_segments.and_then(|settings| settings.policy.map(Policy::from)),
            limit: of_segments.map_or(0, |settings| settings.limit.largest()),
            description: record.description.clone().unwrap_or_default(),
            update_time: record.updated_ms.map(timestamp),
            live: None,
            family: family.to_owned(),
            format: record.format.as_deref().unwrap_or_default().to_owned(),
            warnings: Vec::new(),
        }
    }
}

impl From<StepPolicy> for Policy {
    fn from(policy: StepPolicy) -> Self {
        let policy = match policy {
            StepPolicy::Fixed => policy::Policy::Fixed(policy::Fixed {}),
            StepPolicy::Leaf { step_max } => policy::Policy::Leaf(policy::Leaf { step_max }),
            StepPolicy::Cover { cover, step_max } => policy::Policy::Cover(policy::Cover {
                cover: cover.try_into().ok(),
                step_max,
            }),
        };
        Self {
            policy: Some(policy),
        }
    }
}

fn live_of(status: &Status, max_id: u64) -> Live {
    Live {
        stage: status.stage.name().to_owned(),
        policy: Some(status.policy.into()),
        step: status.step,
        issued: status.issued,
        remaining: status.remaining,
        rate: status.rate,
        cover: status.cover.and_then(|cover| cover.try_into().ok()),
        headroom: status.limit.headroom(max_id),
        headroom_days: status.headroom_days(max_id),
        segments: status.reserves,
        skipped: status.skipped,
        failures: status.failures,
        regressions: status.regressions,
        last_error: status.last_error.clone().unwrap_or_default(),
    }
}
