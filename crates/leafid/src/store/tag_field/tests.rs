//! Guards the checks of settings, and their words.

use super::*;
use crate::Tag;

fn spec() -> TagSpec {
    TagSpec::new(Tag::new("order").unwrap())
}

fn cover(cover: Duration) -> TagPatch {
    let step_max = 1;
    TagPatch {
        policy: Some(Some(StepPolicy::Cover { cover, step_max })),
        ..TagPatch::default()
    }
}

fn check(checked: Result<(), TagFieldError>, expected: &str) {
    assert_eq!(checked.unwrap_err().to_string(), expected);
}

#[test]
fn bounds_are_named() {
    let start = |start| TagSpec { start, ..spec() };
    let wanted = "but must be a whole number from 1 to 9223372036854775806";
    assert_eq!(start(Limit::INT64.largest()).check(), Ok(()));
    check(start(0).check(), &format!("start is 0, {wanted}"));
    check(TagPatch::check_next(0), &format!("next is 0, {wanted}"));
    let beyond = Limit::INT64.largest() + 1;
    check(
        start(beyond).check(),
        &format!("start is {beyond}, {wanted}"),
    );
    let step = TagPatch {
        step: Some(1 << 31),
        ..TagPatch::default()
    };
    let wanted = "step is 2147483648, but must be a whole number from 1 to 2147483647";
    check(step.check(), wanted);
    let description = |len| TagPatch {
        description: Some(Some("ü".repeat(len))),
        ..TagPatch::default()
    };
    assert_eq!(description(256).check(), Ok(()));
    let wanted =
        "description is 257 characters long, but must be a string of at most 256 characters";
    check(description(257).check(), wanted);
}

#[test]
fn a_policy_is_within_its_bounds() {
    assert_eq!(cover(StepPolicy::COVER_MAX).check(), Ok(()));
    let wanted = "s, but must be a whole number of seconds from 1 to 2678400";
    check(
        cover(Duration::ZERO).check(),
        &format!("cover is 0 {wanted}"),
    );
    let half = Duration::from_millis(500);
    check(cover(half).check(), &format!("cover is 0.5 {wanted}"));
    let beyond = StepPolicy::COVER_MAX + Duration::from_secs(1);
    check(cover(beyond).check(), &format!("cover is 2678401 {wanted}"));
    let step_max = 0;
    let leaf = TagPatch {
        policy: Some(Some(StepPolicy::Leaf { step_max })),
        ..TagPatch::default()
    };
    assert_eq!(leaf.check().unwrap_err().field, TagField::StepMax);
    let none = StepPolicy::with_named("leaf", None, Some(half)).unwrap_err();
    let wanted = "cover is 0.5 s, but must be left out: the policy leaf has no cover";
    assert_eq!(none.to_string(), wanted);
    let unknown = StepPolicy::with_named("leef", None, None).unwrap_err();
    let wanted = "policy is \"leef\", but must be fixed, leaf or cover";
    assert_eq!(unknown.to_string(), wanted);
}

#[test]
fn a_format_is_short_and_has_no_control_characters() {
    let with = |format: String| {
        let format = Some(format.into());
        let mut spec = spec();
        spec.format = format;
        spec.check()
    };
    assert_eq!(with("{number}".into()), Ok(()));
    assert_eq!(with("订".repeat(500)), Ok(()));
    let wanted = "but must be 1 to 500 characters, none of them a control character";
    let check_len = |len: usize| {
        let text = format!("format is {len} characters long, {wanted}");
        check(with("a".repeat(len)), &text);
    };
    check_len(0);
    check_len(501);
    check(
        with("a\nb".into()),
        &format!("format is \"a\\u{{a}}b\", {wanted}"),
    );
    let tag = Tag::new("order").unwrap();
    let format = Some("\u{7f}".into());
    let named = TagPatch::default();
    let refused = TagSpec::with_named(tag, TagKind::Segment, format, None, named, 1);
    assert_eq!(refused.unwrap_err().field, TagField::Format);
}

/// Guards that whoever builds a spec of any but a segment tag is told what it does not have.
#[test]
fn only_segment_tags_have_settings() {
    for kind in TagKind::all().filter(|kind| *kind != TagKind::Segment) {
        check_no_settings(kind);
    }
}

fn check_no_settings(kind: TagKind) {
    let with = |change: fn(&mut TagSpec)| {
        let mut spec = spec();
        spec.settings.kind = kind;
        change(&mut spec);
        spec.check().map_err(|error| error.field)
    };
    assert_eq!(with(|spec| spec.description = Some("spans".into())), Ok(()));
    assert_eq!(with(|spec| spec.format = Some("x_{id}".into())), Ok(()));
    assert_eq!(with(|spec| spec.start = 2), Err(TagField::Start));
    assert_eq!(with(|spec| spec.settings.step = 2), Err(TagField::Step));
    assert_eq!(
        with(|spec| spec.settings.policy = Some(StepPolicy::Fixed)),
        Err(TagField::Policy)
    );
    assert_eq!(
        with(|spec| spec.settings.limit = Limit::JS53),
        Err(TagField::Limit)
    );
    let tag = || Tag::new("trace").unwrap();
    let started = TagSpec::with_named(tag(), kind, None, Some(1), TagPatch::default(), 77);
    assert_eq!(started.unwrap_err().field, TagField::Start);
    let made = TagSpec::with_named(tag(), kind, None, None, TagPatch::default(), 77).unwrap();
    assert_eq!(made.settings.step, TagSettings::STEP_DEFAULT);
}
