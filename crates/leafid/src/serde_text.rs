//! Values in serde formats (feature `serde`). What has a text form is written as that text, and
//! read from it or, where it is a number, from a number too.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::id::Id;
use crate::layout::{Epoch, Layout, TimeUnit};
use crate::limit::Limit;
use crate::segment::Segment;
use crate::snowflake::ClockPolicy;
use crate::step::StepPolicy;
use crate::store::TagKind;
use crate::tag::Tag;
use crate::worker_id::WorkerId;

/// Values that are written as the text they are displayed as.
macro_rules! as_text {
    ($($value:ty),*) => {$(
        impl Serialize for $value {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $value {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Text(PhantomData))
            }
        }
    )*};
}

as_text!(ClockPolicy, Layout, StepPolicy, TagKind, TimeUnit);

/// Values whose text may be a number, and who read both.
macro_rules! as_text_or_number {
    ($($value:ty),*) => {$(
        impl Serialize for $value {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $value {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match deserializer.is_human_readable() {
                    true => deserializer.deserialize_any(TextOrNumber(PhantomData)),
                    false => deserializer.deserialize_str(Text(PhantomData)),
                }
            }
        }
    )*};
}

as_text_or_number!(Epoch, Limit);

/// [`as_str`](Tag::as_str), not what people are shown.
impl Serialize for Tag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Tag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(PhantomData))
    }
}

/// A string for people and JavaScript, a number in binary formats.
impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(self),
            false => serializer.serialize_u64(self.get()),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => deserializer.deserialize_any(TextOrNumber(PhantomData)),
            false => deserializer.deserialize_u64(TextOrNumber(PhantomData)),
        }
    }
}

/// A number: it has 32 bits.
impl Serialize for WorkerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.get())
    }
}

impl<'de> Deserialize<'de> for WorkerId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => deserializer.deserialize_any(TextOrNumber(PhantomData)),
            false => deserializer.deserialize_u32(TextOrNumber(PhantomData)),
        }
    }
}

/// A range as an object: the first id, and one past the last.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, rename = "Segment")]
struct Range {
    start: Id,
    end: Id,
}

impl Serialize for Segment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A segment lies between 1 and the largest id, its end included.
        let (start, end) = (Id::from_checked(self.start()), Id::from_checked(self.end()));
        Range { start, end }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Segment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Range { start, end } = Range::deserialize(deserializer)?;
        let segment = Self::new(start.get(), end.get());
        segment.ok_or_else(|| Error::custom("the end of a segment lies before its start"))
    }
}

struct Text<T>(PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

struct TextOrNumber<T>(PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for TextOrNumber<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a whole number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        let parsed = number.to_string().parse();
        parsed.map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::de::DeserializeOwned;

    use super::*;

    fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, json: &str) {
        assert_eq!(serde_json::to_string(value).expect("a value"), json);
        check_read(value, json);
    }

    fn check_read<T: DeserializeOwned + PartialEq + Debug>(value: &T, json: &str) {
        assert_eq!(&serde_json::from_str::<T>(json).expect(json), value);
        let tree: serde_json::Value = serde_json::from_str(json).expect(json);
        assert_eq!(&serde_json::from_value::<T>(tree).expect(json), value);
    }

    fn check_refused<T: DeserializeOwned + Debug>(jsons: &[&str]) {
        for json in jsons {
            serde_json::from_str::<T>(json).expect_err(json);
        }
    }

    #[test]
    fn ids_are_strings_and_read_as_numbers_too() {
        check(&Id::MAX, "\"9223372036854775807\"");
        check_read(&Id::MAX, "9223372036854775807");
        check_read(&Id::from_checked(5), "5");
        check_read(&Id::from_checked(5), "\"5\"");
        let refused = [
            "0",
            "-5",
            "\"-5\"",
            "5.0",
            "9223372036854775808",
            "\"\"",
            "null",
        ];
        check_refused::<Id>(&refused);
    }

    #[test]
    fn values_read_what_they_write() {
        check(
            &Tag::new("order\u{202e}").expect("a tag"),
            "\"order\u{202e}\"",
        );
        check_refused::<Tag>(&["\"\"", "\" x\"", "5"]);
        check(&WorkerId::new(39), "39");
        check_read(&WorkerId::new(39), "\"39\"");
        check_refused::<WorkerId>(&["-1", "4294967296"]);
        check(&Limit::JS53, "\"js53\"");
        check_read(&Limit::new(99_999_999).expect("a limit"), "99999999");
        check_refused::<Limit>(&["0", "\"int16\""]);
        check(&StepPolicy::Leaf { step_max: 7 }, "\"leaf:7\"");
        check_refused::<StepPolicy>(&["\"double\"", "7"]);
        check(&TagKind::Snowflake, "\"snowflake\"");
        check(&ClockPolicy::Wait, "\"wait\"");
        check(&TimeUnit::Ms10, "\"10ms\"");
        check(&Epoch::WIDE, "\"2026-01-01T00:00:00Z\"");
        check_read(&Epoch::WIDE, "1767225600000");
        check(&Layout::LEAF, "\"leaf\"");
        check(
            &Layout::LEAF.with_epoch(Epoch::WIDE),
            "\"leaf@2026-01-01T00:00:00Z\"",
        );
        check_refused::<Layout>(&["\"time41\"", "41"]);
        let segment = Segment::new(1, 4).expect("a range");
        check(&segment, r#"{"start":"1","end":"4"}"#);
        check_read(&segment, r#"{"start":1,"end":4}"#);
        check_refused::<Segment>(&[r#"{"start":4,"end":1}"#, r#"{"start":1}"#]);
    }
}
