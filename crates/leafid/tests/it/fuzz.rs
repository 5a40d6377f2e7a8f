//! Every parser of the crate, over its corpus in `fuzz/corpus` and mutations of it: nothing panics,
//! and what was parsed is written as a text that parses to the same.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use leafid::store::TagKind;
use leafid::{ClockPolicy, Epoch, Fields, Id, Layout, Limit, StepPolicy, Tag, WorkerId};
use leafid_fuzz::fuzz;

fn text(data: &[u8]) -> &str {
    str::from_utf8(data).unwrap_or_default()
}

/// Whether a text parses; if so, its value is written as a text of the same value.
fn comes_back<T: FromStr + Display + PartialEq + Debug>(text: &str) -> bool {
    let Ok(value) = text.parse::<T>() else {
        return false;
    };
    let written = value.to_string();
    assert_eq!(written.parse().ok(), Some(value), "{text:?} as {written:?}");
    true
}

#[test]
fn layouts() {
    fuzz("layouts", |data| {
        let text = text(data);
        let Ok(layout) = text.parse::<Layout>() else {
            return false;
        };
        for number in [1, u64::MAX / 3, layout.number_max()] {
            let number = number.min(layout.number_max());
            let parts = layout.decompose(number);
            let fields = parts.fields();
            assert_eq!(
                layout.try_compose(fields).map(Id::get),
                Ok(number),
                "{text}"
            );
            assert_eq!(layout.try_decompose(number), Ok(parts), "{text}");
        }
        let beyond = Fields {
            tick: layout.ticks_max() + 1,
            worker: WorkerId::new(0),
            sequence: 0,
            shard: 0,
        };
        assert!(layout.try_compose(beyond).is_err(), "{text}");
        comes_back::<Layout>(text)
    });
}

#[test]
fn epochs() {
    fuzz("epochs", |data| comes_back::<Epoch>(text(data)));
}

#[test]
fn values() {
    fuzz("values", |data| {
        let (name, text) = text(data).split_once(' ').unwrap_or_default();
        match name {
            "tag" => comes_back_as_is(text),
            "id" => comes_back::<Id>(text),
            "limit" => comes_back::<Limit>(text),
            "step" => comes_back::<StepPolicy>(text),
            "kind" => comes_back::<TagKind>(text),
            "worker" => comes_back::<WorkerId>(text),
            "clock" => comes_back::<ClockPolicy>(text),
            _ => false,
        }
    });
}

/// A tag is its text; only what people see of it is escaped.
fn comes_back_as_is(text: &str) -> bool {
    let tag: Result<Tag, _> = text.parse();
    tag.is_ok_and(|tag| {
        assert_eq!(tag.as_str(), text);
        true
    })
}
