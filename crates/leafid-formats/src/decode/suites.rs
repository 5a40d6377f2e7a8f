//! The suites of TypeID and BSON, run whole from their published files.

use leafid::Family;

use super::{decode, type_id};
use crate::families::type_id_text;

const VALID: &str = include_str!("../../tests/suites/typeid/valid.yml");
const INVALID: &str = include_str!("../../tests/suites/typeid/invalid.yml");
const OBJECT_ID: &str = include_str!("../../tests/suites/bson/oid.json");

/// The values of a key in a file of `key: "value"` lines, comments left out.
fn values<'a>(file: &'a str, key: &str) -> Vec<&'a str> {
    let lines = file
        .lines()
        .map(|line| line.trim_start().trim_start_matches("- "));
    let values = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    values
        .map(|value| value.strip_prefix('"').unwrap().strip_suffix('"').unwrap())
        .collect()
}

#[test]
fn every_valid_type_id_is_read_and_written() {
    let texts = values(VALID, "typeid");
    let prefixes = values(VALID, "prefix");
    let uuids = values(VALID, "uuid");
    assert_eq!((texts.len(), prefixes.len(), uuids.len()), (9, 9, 9));
    for ((text, prefix), uuid) in texts.into_iter().zip(prefixes).zip(uuids) {
        let (read, decoded) = type_id(text).unwrap();
        assert_eq!(read.to_string(), uuid, "{text}");
        let read_prefix = decoded.part("prefix").map(ToString::to_string);
        assert_eq!(read_prefix.unwrap_or_default(), prefix, "{text}");
        let id = type_id_text(read);
        let written = if prefix.is_empty() {
            id
        } else {
            format!("{prefix}_{id}")
        };
        assert_eq!(written, text);
    }
}

#[test]
fn every_invalid_type_id_is_refused() {
    let texts = values(INVALID, "typeid");
    assert_eq!(texts.len(), 21);
    for text in texts {
        assert!(type_id(text).is_err(), "{text}");
    }
}

#[test]
fn every_object_id_of_the_corpus_is_read_or_refused() {
    let strings: Vec<&str> = OBJECT_ID.split("\\\"").collect();
    let ids = strings
        .windows(3)
        .filter(|window| window[0] == "$oid")
        .map(|window| window[2]);
    let ids: Vec<&str> = ids.collect();
    assert_eq!(ids.len(), 3);
    for id in ids {
        // The document is a length, a type, the name "a" and a 0 before the id, and a 0 after it.
        let bson = format!("14000000076100{}00", id.to_uppercase());
        assert!(OBJECT_ID.contains(&bson), "{id}");
        decode(Family::ObjectId, id).unwrap();
    }
    let truncated = OBJECT_ID
        .split('"')
        .find(|text| text.starts_with("12000000076100"));
    let id = truncated.unwrap().strip_prefix("12000000076100").unwrap();
    assert!(decode(Family::ObjectId, id).is_err());
}
