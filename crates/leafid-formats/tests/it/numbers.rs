//! The other ways to write a number: Sqids, genes, UUIDs.

use leafid::Tag;
use leafid::format::{CompileFormat, FormatContext, FormatError};
use leafid_formats::Formats;

use crate::{check, compile, write};

/// Source: sqids-spec @ 49b8ad8, and own computations that agree with the crate.
#[test]
fn sqids_are_those_of_the_specification() {
    let first = ["bM", "Uk", "gb", "Ef", "Vq", "uw", "OI", "AX", "p6", "nJ"];
    for (number, text) in (0..).zip(first) {
        check("{sqids}", number, text);
    }
    check("{sqids}", 4_572_721, "JExTR");
    check("{sqids}", (1 << 53) - 1, "ABARpJzdz9");
    check("{sqids}", i64::MAX as u64, "AqkYhRmbHpEX");
    check("{sqids}", u64::MAX, "eIkvoXH40Lmd");
    check("{sqids}", 660_125_991_150_026_752, "StKLqUpj6RN");
    check("{sqids}", 175_928_847_299_117_063, "rYvbGzf0BK7");
    let neighbours = ["gMvFo", "E9bIq", "VqxUP", "ujHrn", "OCjVL", "Agthx"];
    for (number, text) in (1_000_000..).zip(neighbours) {
        check("SO-{sqids}", number, &format!("SO-{text}"));
    }
}

#[test]
fn only_the_sqid_that_is_written_is_read() {
    let format = compile("{sqids}");
    // aho1e is blocked: JExTR is written, and both decode to 4572721. 86Rf07 is [1, 2, 3].
    for text in ["aho1e", "86Rf07", "b", "", "é", "-", "bMbM", "SvIz"] {
        assert!(format.read(text).is_err(), "{text}");
    }
    assert!(format.read(&"a".repeat(100_000)).is_err());
    let padded = compile("{sqids min=10}");
    let text = write(&*padded, 1, 0);
    assert!(text.len() >= 10 && padded.read(&text) == Ok(1));
    assert!(padded.read(&text[..2]).is_err() && format.read(&text).is_err());
    for _ in 0..200 {
        let number = fastrand::u64(..) >> fastrand::u32(0..64);
        assert_eq!(padded.read(&write(&*padded, number, 0)), Ok(number));
    }
}

/// ecp-uid gives 52 for 2 and 3 here: 25 takes 4 bits there, and 20 needs 5.
#[test]
fn genes_are_a_bijection() {
    check("{gene fixed=25 factor=20}", 2, "84");
    check("{gene fixed=25 factor=20}", 3, "116");
    check("{gene fixed=32}", 33, "1057");
    check("{gene fixed=25 radix=36 width=4}", 27, "00o2");
    for fixed in [2, 3, 25, 32, 33, 65_536] {
        let format = compile(&format!("{{gene fixed={fixed}}}"));
        let largest = format.largest();
        let mut before = None;
        for number in (0..2000).chain(largest - 2000..=largest) {
            let text = write(&*format, number, 0);
            assert_eq!(format.read(&text), Ok(number), "{fixed} {text}");
            let gene: i64 = text.parse().unwrap();
            assert!(before.replace(gene) < Some(gene), "ascending");
        }
        let error = format.write(largest + 1, &FormatContext::default(), &mut String::new());
        assert!(matches!(error, Err(FormatError::TooLong(_))), "{fixed}");
    }
    let format = compile("{gene fixed=25}");
    let (right, wrong) = (27 << 5 | 2, 27 << 5 | 3);
    assert_eq!(format.read(&right.to_string()), Ok(27));
    assert!(format.read(&wrong.to_string()).is_err());
    assert!(format.read(&u64::MAX.to_string()).is_err());
    let narrow = compile("{gene fixed=32 width=3}");
    assert_eq!(narrow.largest(), 30);
    assert_eq!(narrow.read(&write(&*narrow, 30, 0)), Ok(30));
}

/// Source: the module uuid of Python, and RFC 9562, 5.8.
#[test]
fn numbers_in_uuids() {
    check("{uuid8}", 4711, "00000000-0000-8126-9cfb-adfa5b967390");
    check(
        "order_{uuid8}",
        u64::MAX,
        "order_ffffffff-ffff-8fff-bcfb-adfa5b967390",
    );
    let of_tag = |tag: &str| {
        Formats::new()
            .compile(&Tag::new(tag).unwrap(), "{uuid8}")
            .unwrap()
    };
    let (order, user) = (of_tag("order"), of_tag("user"));
    let text = write(&*order, 4711, 0);
    assert!(user.read(&text).is_err() && write(&*user, 4711, 0) != text);
    assert!(order.read(&text.to_uppercase()).is_err());
    assert!(order.read(&text.replace('-', "")).is_err());
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..500 {
        let number = fastrand::u64(..) >> fastrand::u32(0..64);
        let text = write(&*order, number, 0);
        assert_eq!(order.read(&text), Ok(number));
        texts.push(format!("{text} {number:020}"));
    }
    texts.sort();
    assert!(
        texts.is_sorted_by_key(|text| text[37..].to_owned()),
        "they sort by number"
    );

    let hashed = |template: &str, text: &str| {
        let format = compile(template);
        assert_eq!(write(&*format, 4711, 0), text);
        assert!(!format.is_readable() && !format.may_repeat());
        assert!(matches!(
            format.read(text),
            Err(FormatError::NotOfFormat(_))
        ));
    };
    hashed(
        "{uuid3 namespace=dns}",
        "892f53eb-2f58-31d9-b83a-6c8adfbddaa1",
    );
    hashed(
        "{uuid5 namespace=dns}",
        "fda03c3d-1324-5501-aca6-21b52ba2c359",
    );
    hashed(
        "{uuid3 namespace=url}",
        "bdb07df7-ae35-3fda-a6c9-b13439641bda",
    );
    hashed(
        "{uuid5 namespace=6ba7b811-9dad-11d1-80b4-00c04fd430c8}",
        "c4ebb694-63f8-56e8-baa9-5847b566964a",
    );
    // By the module uuid of Python, whose name is the same.
    hashed(
        "{uuid5 namespace=oid}",
        "a716d83e-7900-53aa-a592-c56658407c1b",
    );
    hashed(
        "{uuid3 namespace=x500}",
        "8254a7da-664d-3c77-aa95-78ad645f1fbe",
    );
}

#[test]
fn what_they_do_not_take_is_refused() {
    let refused = |template: &str, reason: &str| {
        let error = Formats::new()
            .compile(&Tag::new("order").unwrap(), template)
            .unwrap_err();
        assert!(error.to_string().contains(reason), "{template}: {error}");
    };
    refused("{uuid5}", "name the namespace");
    refused("{uuid5 namespace=ftp}", "name the namespace");
    refused("{uuid8 namespace=dns}", "means nothing");
    refused("{gene}", "{gene fixed=32}");
    refused("{gene fixed=1}", "from 2 to 65536");
    refused("{gene fixed=32 width=1}", "no room for a number");
    refused("{sqids min=65}", "from 1 to 64");
    refused("{sqids}{check 37-36}", "tell small letters");
    refused("{sqid}", "did you mean {sqids}?");
}
