//! Schemas of values: the checks of fields and parameters, as far as a schema can express them.

use std::sync::LazyLock;

use leafid::store::{TagKind, TagSettings};
use leafid::{Escaped, Layout, Limit, StepPolicy, Tag};
use serde_json::Value;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{OneOfBuilder, Schema};

use super::bounds::{COUNT_MAX, RANGE_LEN_MAX, SHARD_MAX};

/// The longest text of a layout, in characters.
const LAYOUT_LEN_MAX: usize = 100;

/// A whole number from 1, as a number or a string, because JavaScript holds no large numbers.
fn whole(max: u64) -> ObjectBuilder {
    number(format!("^0*({})$", up_to(max)), max)
}

fn number(pattern: String, max: u64) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(either(Type::Integer, Type::String))
        .minimum(Some(1_usize))
        // `usize` has 64 bits on every supported platform.
        .maximum(Some(usize::try_from(max).unwrap_or(usize::MAX)))
        .pattern(Some(pattern))
}

/// A shard, from 0.
pub(crate) fn shard() -> Schema {
    let pattern = format!("^0*(0|{})$", up_to(SHARD_MAX));
    let schema = number(pattern, SHARD_MAX).minimum(Some(0_usize));
    Schema::Object(schema.build())
}

/// The regular expression of the numbers from 1 to `max`.
fn up_to(max: u64) -> String {
    let digits = max.to_string();
    let mut forms = Vec::new();
    if digits.len() > 1 {
        forms.push(format!("[1-9][0-9]{{0,{}}}", digits.len() - 2));
    }
    for (at, digit) in digits.bytes().enumerate() {
        let least = if at == 0 { b'1' } else { b'0' };
        if digit > least {
            let (before, behind) = (&digits[..at], digits.len() - at - 1);
            let [least, most] = [least, digit - 1].map(char::from);
            forms.push(format!("{before}[{least}-{most}][0-9]{{{behind}}}"));
        }
    }
    forms.push(digits);
    forms.join("|")
}

fn either(first: Type, second: Type) -> SchemaType {
    SchemaType::from_iter([first, second])
}

fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// The name of a tag.
pub(crate) fn tag() -> Schema {
    static PATTERN: LazyLock<String> = LazyLock::new(|| pattern_without(char::is_control));
    name(&PATTERN)
}

/// The name of a tag to be created.
pub(crate) fn new_tag() -> Schema {
    static PATTERN: LazyLock<String> = LazyLock::new(|| pattern_without(Escaped::is_invisible));
    name(&PATTERN)
}

fn name(pattern: &str) -> Schema {
    string()
        .min_length(Some(1))
        .max_length(Some(Tag::LEN_MAX))
        .pattern(Some(pattern))
        .examples(["order"])
        .into()
}

/// The regular expression of texts without these characters, and without white space at either end.
fn pattern_without(is_refused: fn(char) -> bool) -> String {
    let inner = class(is_refused);
    let outer = class(|c| is_refused(c) || c.is_whitespace());
    format!("^[^{outer}]([^{inner}]*[^{outer}])?$")
}

/// The characters for which this holds, as ranges in a regular expression.
fn class(holds: impl Fn(char) -> bool) -> String {
    let mut text = String::new();
    let mut next = '\0';
    while let Some(first) = (next..=char::MAX).find(|c| holds(*c)) {
        let behind = (first..=char::MAX).find(|c| !holds(*c));
        let last = (first..behind.unwrap_or(char::MAX)).next_back();
        text += &escaped(first);
        if let Some(last) = last.filter(|last| *last != first) {
            text.push('-');
            text += &escaped(last);
        }
        let Some(behind) = behind else { break };
        next = behind;
    }
    text
}

fn escaped(c: char) -> String {
    match u16::try_from(u32::from(c)) {
        Ok(code) => format!("\\u{code:04x}"),
        Err(_) => c.to_string(),
    }
}

pub(crate) fn step() -> Schema {
    let max = TagSettings::STEP_MAX;
    whole(max.into())
        .description(Some(
            "The smallest step; the server's default when it is missing.",
        ))
        .into()
}

pub(crate) fn start() -> Schema {
    whole(Limit::INT64.largest())
        .description(Some("The first id; 1 when it is missing."))
        .examples(["1"])
        .into()
}

pub(crate) fn next() -> Schema {
    whole(Limit::INT64.largest())
        .description(Some(
            "Where the next segment starts; it can only be raised. Servers first issue the ids \
             that they hold in memory.",
        ))
        .examples(["1000000"])
        .into()
}

pub(crate) fn limit() -> Schema {
    let max = Limit::INT64.largest();
    let pattern = format!("^(int32|js53|int64|0*({}))$", up_to(max));
    number(pattern, max)
        .description(Some(
            "The largest id: `int32`, `js53`, `int64`, or a number.",
        ))
        .examples(["int64"])
        .into()
}

pub(crate) fn description() -> Schema {
    ObjectBuilder::new()
        .schema_type(either(Type::String, Type::Null))
        .max_length(Some(TagSettings::DESCRIPTION_LEN_MAX))
        .description(Some("What the tag is for; null removes the text."))
        .into()
}

pub(crate) fn segment_kind() -> Schema {
    ObjectBuilder::new()
        .schema_type(either(Type::String, Type::Null))
        .enum_values(Some([Value::from("segment"), Value::Null]))
        .description(Some(
            "Its ids come from segments. This is the default, and never changes for a tag.",
        ))
        .into()
}

pub(crate) fn other_kind() -> Schema {
    let kinds = TagKind::all().filter(|kind| *kind != TagKind::Segment);
    string()
        .enum_values(Some(kinds.map(TagKind::name)))
        .description(Some(
            "Its ids are snowflake ids, or of a family such as UUIDs. This never changes for a tag.",
        ))
        .into()
}

pub(crate) fn format() -> Schema {
    ObjectBuilder::new()
        .schema_type(either(Type::String, Type::Null))
        .min_length(Some(1))
        .max_length(Some(TagSettings::FORMAT_LEN_MAX))
        .description(Some(
            "How its ids are written, such as SO-{date %Y%m%d}-{number width=6}; see \
             docs/formats.md. This never changes for a tag.",
        ))
        .into()
}

/// A field of segment tags: it may be given, but must be null.
pub(crate) fn nothing() -> Schema {
    ObjectBuilder::new()
        .schema_type(Type::Null)
        .description(Some("Only a segment tag has this."))
        .into()
}

pub(crate) fn count() -> Schema {
    whole(COUNT_MAX)
        .description(Some("How many ids; 1 when it is missing."))
        .default(Some(1.into()))
        .into()
}

pub(crate) fn length() -> Schema {
    whole(RANGE_LEN_MAX)
        .description(Some("How many adjacent ids."))
        .into()
}

/// Nothing but `true`.
pub(crate) fn yes() -> Schema {
    ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .enum_values(Some([true]))
        .description(Some(
            "States that the holder's process does not run and will never run again. If it does, \
             ids can repeat.",
        ))
        .into()
}

/// How a step adapts: each policy with its own fields; null is the server's default.
pub(crate) fn policy() -> Schema {
    let step_max = || whole(Limit::INT64.largest()).description(Some("The longest segment."));
    let cover = whole(StepPolicy::COVER_MAX.as_secs())
        .description(Some("How long one segment should last, in seconds."));
    OneOfBuilder::new()
        .item(of_policy("fixed"))
        .item(of_policy("leaf").property("step_max", step_max()))
        .item(
            of_policy("cover")
                .property("step_max", step_max())
                .property("cover_seconds", cover),
        )
        .item(ObjectBuilder::new().schema_type(Type::Null))
        .description(Some("How the step adapts; null is the server's default."))
        .into()
}

fn of_policy(name: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .property("name", string().enum_values(Some([name])))
        .required("name")
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
}

/// An id in decimal: some layouts use all 64 bits.
/// A layout, as far as its form goes.
pub(crate) fn layout() -> Schema {
    let presets: Vec<&str> = Layout::PRESETS.iter().map(|(name, _)| *name).collect();
    let presets = presets.join("|");
    let bits = "[0-9]{1,3}";
    let worker = format!("worker{bits}(:{bits})?");
    let order = format!("{worker}/sequence{bits}|sequence{bits}/{worker}");
    let widths = format!("time{bits}x(1ms|10ms|1s)/({order})");
    string()
        .max_length(Some(LAYOUT_LEN_MAX))
        .pattern(Some(format!("^(({presets})(@.+)?|{widths}@.+)$")))
        .examples(["leaf"])
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that the pattern of names is the rule in force, character by character.
    #[test]
    fn a_name_is_what_makes_a_tag() {
        for c in '\0'..='\u{ffff}' {
            let inside = Tag::new(format!("a{c}a")).is_ok();
            assert_eq!(!c.is_control(), inside, "{c:?}");
            let alone = Tag::new(c.to_string());
            let is_refused = c.is_control() || c.is_whitespace();
            assert_eq!(!is_refused, alone.is_ok(), "{c:?}");
            let may_be_new = alone.is_ok_and(|tag| tag.check_new().is_ok());
            let is_refused = Escaped::is_invisible(c) || c.is_whitespace();
            assert_eq!(!is_refused, may_be_new, "{c:?}");
        }
    }

    #[test]
    fn characters_come_as_ranges() {
        assert_eq!(class(|c| "abcx".contains(c)), "\\u0061-\\u0063\\u0078");
        assert_eq!(class(char::is_control), "\\u0000-\\u001f\\u007f-\\u009f");
    }

    #[test]
    fn numbers_are_bounded_by_their_digits() {
        assert_eq!(up_to(7), "[1-6][0-9]{0}|7");
        assert_eq!(up_to(10), "[1-9][0-9]{0,0}|10");
        let all = "[1-9][0-9]{0,2}|[1-1][0-9]{3}|20[0-3][0-9]{1}|204[0-7][0-9]{0}|2048";
        assert_eq!(up_to(2048), all);
    }
}
