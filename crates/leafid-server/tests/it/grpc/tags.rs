//! Guards `leafid.v1.Tags`: tags over gRPC.

use prost_types::FieldMask;
use tonic::{Code, Status};

use super::v1::{
    CreateTagRequest, DeleteTagRequest, GetTagRequest, Kind, ListTagsRequest, Policy, Tag,
    UpdateTagRequest, policy,
};
use super::{Line, check_status};

fn named(name: &str) -> Tag {
    Tag {
        name: name.into(),
        ..Tag::default()
    }
}

fn cover(seconds: i64, step_max: u64) -> Policy {
    let cover = prost_types::Duration { seconds, nanos: 0 };
    let cover = policy::Cover {
        cover: Some(cover),
        step_max,
    };
    Policy {
        policy: Some(policy::Policy::Cover(cover)),
    }
}

impl Line {
    fn create(&self, tag: Tag, start: u64) -> Result<Tag, Status> {
        let tag = Some(tag);
        let created = self.run(self.tags().create_tag(CreateTagRequest { tag, start }));
        created.map(tonic::Response::into_inner)
    }

    fn get(&self, name: &str) -> Result<Tag, Status> {
        let name = name.to_owned();
        let shown = self.run(self.tags().get_tag(GetTagRequest { name }));
        shown.map(tonic::Response::into_inner)
    }

    fn update(&self, tag: Tag, mask: &[&str]) -> Result<Tag, Status> {
        let paths = mask.iter().map(ToString::to_string).collect();
        let request = UpdateTagRequest {
            tag: Some(tag),
            update_mask: (!mask.is_empty()).then_some(FieldMask { paths }),
            next: 0,
        };
        let updated = self.run(self.tags().update_tag(request));
        updated.map(tonic::Response::into_inner)
    }

    fn raise(&self, name: &str, next: u64) -> Result<Tag, Status> {
        let request = UpdateTagRequest {
            tag: Some(named(name)),
            update_mask: None,
            next,
        };
        let raised = self.run(self.tags().update_tag(request));
        raised.map(tonic::Response::into_inner)
    }

    fn delete(&self, name: &str) -> Result<(), Status> {
        let name = name.to_owned();
        let deleted = self.run(self.tags().delete_tag(DeleteTagRequest { name }));
        deleted.map(tonic::Response::into_inner)
    }
}

#[test]
fn a_tag_lives_from_its_creation_to_its_deletion() {
    let line = Line::new();
    let tag = Tag {
        step: 2000,
        limit: (1 << 53) - 1,
        policy: Some(cover(60, 8000)),
        description: "orders".into(),
        ..named("order/1")
    };
    let created = line.create(tag.clone(), 5000).unwrap();
    assert_eq!((created.name.as_str(), created.max_id), ("order/1", 5000));
    assert_eq!(created.kind(), Kind::Segment);
    assert_eq!((created.step, created.limit), (2000, (1 << 53) - 1));
    assert_eq!(created.policy, Some(cover(60, 8000)));
    assert_eq!(
        (created.description.as_str(), &created.live),
        ("orders", &None)
    );
    let status = line.create(tag, 0).unwrap_err();
    check_status(&status, Code::AlreadyExists, "TAG_EXISTS", None);

    assert_eq!(line.next("order/1").unwrap(), 5000);
    let shown = line.get("order/1").unwrap();
    assert_eq!(shown.max_id, 7000);
    let live = shown.live.unwrap();
    assert_eq!((live.stage.as_str(), live.step), ("live", 2000));
    assert_eq!((live.issued, live.remaining), (1, 1999));
    assert_eq!(live.headroom, 9_007_199_254_733_992);
    let days = 9_007_199_254_733_992.0 / live.rate / 86_400.0;
    assert!((live.headroom_days.unwrap() / days - 1.0).abs() < 1e-6);
    assert_eq!(live.policy, Some(cover(60, 8000)));

    line.delete("order/1").unwrap();
    for status in [
        line.get("order/1").unwrap_err(),
        line.delete("order/1").unwrap_err(),
        line.update(
            Tag {
                step: 1,
                ..named("order/1")
            },
            &[],
        )
        .unwrap_err(),
    ] {
        check_status(&status, Code::NotFound, "UNKNOWN_TAG", None);
    }
    let again = line.create(named("order/1"), 0).unwrap();
    assert_eq!(
        again.max_id, 7000,
        "ids of its former life never come again"
    );
}

#[test]
fn what_the_mask_names_is_changed_and_nothing_else() {
    let line = Line::new();
    let tag = Tag {
        step: 7,
        policy: Some(cover(60, 8000)),
        limit: 1_000_000,
        description: "orders".into(),
        ..named("order")
    };
    line.create(tag, 0).unwrap();
    let change = Tag {
        step: 10,
        limit: 5,
        ..named("order")
    };
    let changed = line
        .update(change.clone(), &["step", "description"])
        .unwrap();
    assert_eq!((changed.step, changed.description.as_str()), (10, ""));
    assert_eq!(
        (changed.limit, changed.policy),
        (1_000_000, Some(cover(60, 8000)))
    );
    let changed = line.update(change.clone(), &[]).unwrap();
    assert_eq!(
        (changed.step, changed.limit),
        (10, 5),
        "without a mask, what has a value"
    );
    assert_eq!(changed.policy, Some(cover(60, 8000)));
    let changed = line.update(change, &["*"]).unwrap();
    assert_eq!((changed.policy, changed.limit), (None, 5));
    let changed = line.update(named("order"), &["limit"]).unwrap();
    assert_eq!(changed.limit, i64::MAX.cast_unsigned() - 1);

    let bad = |mask: &str, field: &str| {
        let status = line.update(named("order"), &[mask]).unwrap_err();
        check_status(&status, Code::InvalidArgument, "BAD_FIELD", Some(field));
    };
    bad("step", "tag.step");
    bad("max_id", "update_mask");
    bad("policy.cover", "update_mask");
}

/// Guards that a change of what is for life is refused, not ignored, and that a tag can be sent back
/// as it was read.
#[test]
fn what_is_for_life_is_not_changed_in_silence() {
    let line = Line::new();
    let format = "ORD-{number}";
    let tag = Tag {
        format: format.into(),
        ..named("order")
    };
    line.create(tag, 0).unwrap();
    let bad = |tag: Tag, mask: &[&str], field: &str| {
        let status = line.update(Tag { step: 9, ..tag }, mask).unwrap_err();
        check_status(&status, Code::InvalidArgument, "BAD_FIELD", Some(field));
    };
    let (mut kind, mut other, mut family) = (named("order"), named("order"), named("order"));
    kind.set_kind(Kind::Snowflake);
    other.format = "X-{number}".into();
    family.family = "tsid".into();
    for mask in [&[][..], &["*"]] {
        bad(kind.clone(), mask, "tag.kind");
        bad(other.clone(), mask, "tag.format");
        bad(family.clone(), mask, "tag.family");
    }
    let read = line.get("order").unwrap();
    assert_ne!(read.step, 9);
    let changed = line.update(Tag { step: 9, ..read }, &[]).unwrap();
    assert_eq!((changed.step, changed.format.as_str()), (9, format));
    let changed = line.update(Tag { step: 8, ..other }, &["step"]).unwrap();
    assert_eq!((changed.step, changed.format.as_str()), (8, format));
}

#[test]
fn bad_fields_are_named() {
    let line = Line::new();
    let bad = |tag: Tag, start, field: &str| {
        let status = line.create(tag, start).unwrap_err();
        check_status(&status, Code::InvalidArgument, "BAD_FIELD", Some(field));
    };
    let max = u64::MAX;
    bad(named("x"), max, "start");
    bad(
        Tag {
            step: 1 << 31,
            ..named("x")
        },
        0,
        "tag.step",
    );
    bad(
        Tag {
            limit: max,
            ..named("x")
        },
        0,
        "tag.limit",
    );
    bad(
        Tag {
            kind: 9,
            ..named("x")
        },
        0,
        "tag.kind",
    );
    for kind in [Kind::Unspecified, Kind::Segment, Kind::Snowflake] {
        let family = Tag {
            kind: kind.into(),
            family: "uuid7".into(),
            ..named("x")
        };
        bad(family, 0, "tag.family");
    }
    bad(
        Tag {
            description: "x".repeat(257),
            ..named("x")
        },
        0,
        "tag.description",
    );
    for policy in [
        cover(0, 0),
        cover(-1, 0),
        cover(31 * 24 * 3600 + 1, 0),
        cover(1, max),
    ] {
        bad(
            Tag {
                policy: Some(policy),
                ..named("x")
            },
            0,
            "tag.policy",
        );
    }
    let flake = |tag: Tag| Tag {
        kind: Kind::Snowflake.into(),
        ..tag
    };
    bad(flake(named("x")), 1, "start");
    bad(
        flake(Tag {
            step: 1,
            ..named("x")
        }),
        0,
        "tag.step",
    );
    bad(
        flake(Tag {
            limit: 1,
            ..named("x")
        }),
        0,
        "tag.limit",
    );
    let status = line.create(named(" x"), 0).unwrap_err();
    check_status(&status, Code::InvalidArgument, "BAD_TAG", Some("tag.name"));
    let status = line.get("").unwrap_err();
    check_status(&status, Code::InvalidArgument, "BAD_TAG", Some("name"));
}

#[test]
fn a_snowflake_tag_has_a_kind_and_no_settings() {
    let line = Line::new();
    let tag = Tag {
        kind: Kind::Snowflake.into(),
        description: "flakes".into(),
        ..named("flake")
    };
    let created = line.create(tag.clone(), 0).unwrap();
    assert_eq!(created.kind(), Kind::Snowflake);
    let created = Tag {
        update_time: None,
        ..created
    };
    assert_eq!(created, tag);
    let change = Tag {
        step: 5,
        ..named("flake")
    };
    let status = line.update(change, &["step"]).unwrap_err();
    check_status(&status, Code::FailedPrecondition, "SNOWFLAKE_TAG", None);
}

#[test]
fn lists_come_page_by_page() {
    let line = Line::new();
    for number in 0..5 {
        line.create(named(&format!("t{number}")), 0).unwrap();
    }
    let list = |page_size, page_token: &str| {
        let page_token = page_token.to_owned();
        let request = ListTagsRequest {
            page_size,
            page_token,
        };
        let listed = line.run(line.tags().list_tags(request));
        listed.map(|page| {
            let page = page.into_inner();
            let names = page.tags.iter().map(|tag| tag.name.clone());
            (names.collect::<Vec<_>>().join(" "), page.next_page_token)
        })
    };
    let (first, token) = list(2, "").unwrap();
    assert_eq!(first, "t0 t1");
    let (second, token) = list(2, &token).unwrap();
    assert_eq!(second, "t2 t3");
    assert_eq!(list(2, &token).unwrap(), ("t4".into(), String::new()));
    let all = ("t0 t1 t2 t3 t4".to_owned(), String::new());
    assert_eq!(list(0, "").unwrap(), all);
    assert_eq!(
        list(i32::MAX, "").unwrap(),
        all,
        "more than the most is the most"
    );
    let status = list(-1, "").unwrap_err();
    check_status(
        &status,
        Code::InvalidArgument,
        "BAD_FIELD",
        Some("page_size"),
    );
    let status = list(1, " ").unwrap_err();
    check_status(
        &status,
        Code::InvalidArgument,
        "BAD_TAG",
        Some("page_token"),
    );
}

/// Guards that a tag can be raised, and only raised.
#[test]
fn a_tag_is_raised_and_never_lowered() {
    let line = Line::new();
    line.create(named("order"), 0).unwrap();
    assert_eq!(line.raise("order", 5000).unwrap().max_id, 5000);
    for next in [4999, 5000, u64::MAX] {
        line.raise("order", next).unwrap_err();
    }
    assert_eq!(line.raise("order", 5001).unwrap().max_id, 5001);
}
