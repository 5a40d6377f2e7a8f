//! The public tests of sqids-spec, from its published files: each against the crate with the
//! options of the test, and each that has one number and the usual alphabet against `{sqids}` too.
//!
//! The folder `internal` of the suite is not for implementations, and numbers below 0 or beyond
//! 2^53 - 1, which JavaScript refuses, cannot be asked for or are ids like others here.

use std::collections::HashSet;

use leafid::Tag;
use leafid::format::CompileFormat as _;
use leafid_formats::Formats;
use sqids::{DEFAULT_ALPHABET, Error, Sqids};

use crate::{compile, write};

const ALPHABET: &str = include_str!("../suites/sqids/alphabet.test.ts");
const BLOCKLIST: &str = include_str!("../suites/sqids/blocklist.test.ts");
const ENCODING: &str = include_str!("../suites/sqids/encoding.test.ts");
const MIN_LENGTH: &str = include_str!("../suites/sqids/minlength.test.ts");

const JS_MAX: u64 = (1 << 53) - 1;

/// The tests of a file by name, with what each of them says.
fn tests(file: &str) -> Vec<(&str, &str)> {
    let tests = file.split("\ntest(").skip(1);
    let named = tests.map(|test| {
        let quote = test.chars().next().unwrap();
        test[1..].split_once(quote).unwrap()
    });
    named.collect()
}

fn test<'a>(file: &'a str, name: &str) -> &'a str {
    tests(file)
        .iter()
        .find(|(found, _)| *found == name)
        .unwrap()
        .1
}

fn number(text: &str) -> u64 {
    match text.trim() {
        "Number.MAX_SAFE_INTEGER" => JS_MAX,
        digits => digits.replace('_', "").parse().unwrap(),
    }
}

/// The numbers of `[1, 2_000]`.
fn numbers(list: &str) -> Vec<u64> {
    let list = list.trim().trim_start_matches('[');
    let (list, _) = list.split_once(']').unwrap();
    let numbers = list.split(',').filter(|number| !number.trim().is_empty());
    numbers.map(number).collect()
}

/// The rows `id: [1, 2]` of a test.
fn rows(test: &str) -> Vec<(&str, Vec<u64>)> {
    let lines = test
        .lines()
        .filter_map(|line| line.trim().split_once(": ["));
    let rows = lines.map(|(id, list)| (id.trim_matches('\''), numbers(list)));
    rows.collect()
}

/// The texts in single quotes of a part of a test, its comments left out.
fn quoted(part: &str) -> Vec<&str> {
    let lines = part.lines().map(|line| line.split("//").next().unwrap());
    lines
        .flat_map(|line| line.split('\'').skip(1).step_by(2))
        .collect()
}

fn usual() -> Sqids {
    Sqids::default()
}

fn with_blocklist(words: &[&str]) -> Sqids {
    let words: HashSet<String> = words.iter().map(ToString::to_string).collect();
    Sqids::builder().blocklist(words).build().unwrap()
}

fn with_alphabet(alphabet: &str) -> Result<Sqids, Error> {
    Sqids::builder()
        .alphabet(alphabet.chars().collect())
        .build()
}

fn check(sqids: &Sqids, list: &[u64], id: &str) {
    assert_eq!(sqids.encode(list).unwrap(), id, "{list:?}");
    assert_eq!(sqids.decode(id), list, "{id}");
}

/// Checks ids with the usual alphabet and words: those of one number are our format's too, and it
/// reads no other.
fn check_ours(template: &str, list: &[u64], id: &str) {
    let format = compile(template);
    match list {
        [number] => {
            assert_eq!(write(&*format, *number, 0), id, "{template}");
            assert_eq!(format.read(id), Ok(*number), "{template} {id}");
        }
        _ => assert!(format.read(id).is_err(), "{template} {id}"),
    }
}

fn round_trip(sqids: &Sqids, list: &[u64]) -> String {
    let id = sqids.encode(list).unwrap();
    assert_eq!(sqids.decode(&id), list, "{id}");
    id
}

/// Guards that a newer suite is not run by half.
#[test]
fn the_files_have_the_tests_that_are_run_here() {
    let count = |file: &str| (tests(file).len(), file.matches("expect").count() - 1);
    assert_eq!(count(ENCODING), (10, 15));
    assert_eq!(count(ALPHABET), (6, 7));
    assert_eq!(count(BLOCKLIST), (9, 29));
    assert_eq!(count(MIN_LENGTH), (5, 11));
}

#[test]
fn encoding() {
    let sqids = usual();
    check(&sqids, &[1, 2, 3], quoted(test(ENCODING, "simple"))[0]);
    check_ours("{sqids}", &[1, 2, 3], "86Rf07");
    let mut count = 0;
    for name in [
        "incremental numbers",
        "incremental numbers, same index 0",
        "incremental numbers, same index 1",
    ] {
        for (id, list) in rows(test(ENCODING, name)) {
            check(&sqids, &list, id);
            check_ours("{sqids}", &list, id);
            count += 1;
        }
    }
    assert_eq!(count, 30);
    for name in ["different inputs", "multi input"] {
        let (_, list) = test(ENCODING, name).split_once("numbers = ").unwrap();
        let list = numbers(list);
        assert!([11, 100].contains(&list.len()));
        check_ours("{sqids}", &list, &round_trip(&sqids, &list));
        for number in list {
            check_ours("{sqids}", &[number], &round_trip(&sqids, &[number]));
        }
    }
    assert_eq!(sqids.encode(&[]).unwrap(), "");
    for id in ["", "*"] {
        assert!(sqids.decode(id).is_empty());
        check_ours("{sqids}", &[], id);
    }
}

#[test]
fn alphabets() {
    let simple = quoted(test(ALPHABET, "simple"));
    check(&with_alphabet(simple[0]).unwrap(), &[1, 2, 3], simple[1]);
    round_trip(&with_alphabet("abc").unwrap(), &[1, 2, 3]);
    let long = test(ALPHABET, "long alphabet");
    let (_, long) = long.split_once("alphabet:\n\t\t\t'").unwrap();
    let (long, _) = long.split_once("'\n").unwrap();
    round_trip(
        &with_alphabet(&long.replace("\\'", "'")).unwrap(),
        &[1, 2, 3],
    );
    let refused = |name: &str| {
        let alphabet = quoted(test(ALPHABET, name))[0];
        with_alphabet(alphabet).unwrap_err()
    };
    let multibyte = refused("multibyte characters");
    assert_eq!(multibyte, Error::AlphabetMultibyteCharacters);
    let repeating = refused("repeating alphabet characters");
    assert_eq!(repeating, Error::AlphabetUniqueCharacters);
    assert_eq!(refused("too short of an alphabet"), Error::AlphabetLength);
    // Ours has one alphabet.
    let error = Formats::new().compile(&Tag::new("order").unwrap(), "{sqids alphabet=abc}");
    let error = error.unwrap_err().to_string();
    assert!(error.contains("\"alphabet=abc\" means nothing"), "{error}");
}

/// The calls with literal arguments in a test, each by the options before it.
fn check_calls(test: &str) -> usize {
    let mut count = 0;
    for part in test.split("new Sqids(").skip(1) {
        let (options, calls) = part.split_once(");").unwrap();
        let sqids = match options.contains("blocklist") {
            true => with_blocklist(&quoted(options)),
            false => usual(),
        };
        for call in calls.lines() {
            if let Some((_, call)) = call.split_once("sqids.encode([") {
                let (list, call) = call.split_once(']').unwrap();
                let id = quoted(call).first().copied();
                let Some(id) = id else { continue };
                assert_eq!(sqids.encode(&numbers(&format!("{list}]"))).unwrap(), id);
                count += 1;
            } else if let Some((_, call)) = call.split_once("sqids.decode('") {
                let (id, list) = call.split_once('\'').unwrap();
                let (_, list) = list.split_once('[').unwrap();
                assert_eq!(sqids.decode(id), numbers(list));
                count += 1;
            }
        }
    }
    count
}

#[test]
fn blocked_words() {
    let count = tests(BLOCKLIST)
        .into_iter()
        .map(|(_, test)| check_calls(test));
    assert_eq!(count.sum::<usize>(), 23);
    // Those whose arguments are no literals.
    round_trip(&with_blocklist(&["pnd"]), &[1000]);
    let upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ".chars().collect();
    let words: HashSet<String> = ["sxnzkl".to_owned()].into();
    let sqids = Sqids::builder().alphabet(upper).blocklist(words);
    check(&sqids.build().unwrap(), &[1, 2, 3], "IBSHOZ");
    let words: HashSet<String> = ["cab", "abc", "bca"].map(str::to_owned).into();
    let sqids = Sqids::builder().alphabet("abc".chars().collect());
    let sqids = sqids.min_length(3).blocklist(words).build().unwrap();
    assert_eq!(sqids.encode(&[0]), Err(Error::BlocklistMaxAttempts));
    // Ours has the usual list; a blocked text decodes, but it is not what is written.
    check_ours("{sqids}", &[4_572_721], "JExTR");
    assert!(compile("{sqids}").read("aho1e").is_err());
}

#[test]
fn lengths() {
    let with_length = |len: u8| Sqids::builder().min_length(len).build().unwrap();
    let all = u8::try_from(DEFAULT_ALPHABET.len()).unwrap();
    let simple = quoted(test(MIN_LENGTH, "simple"))[0];
    check(&with_length(all), &[1, 2, 3], simple);
    let incremental = quoted(test(MIN_LENGTH, "incremental"));
    assert_eq!(incremental.len(), 12);
    for (id, len) in incremental.into_iter().zip((6..=13).chain(all..)) {
        assert_eq!(id.len(), usize::from(len));
        check(&with_length(len), &[1, 2, 3], id);
    }
    let rows = rows(test(MIN_LENGTH, "incremental numbers"));
    assert_eq!(rows.len(), 10);
    for (id, list) in rows {
        check(&with_length(all), &list, id);
        check_ours("{sqids min=62}", &list, id);
    }
    let lists = test(MIN_LENGTH, "min lengths");
    let (_, lists) = lists.split_once("numbers of [").unwrap();
    let lists = lists.lines().map(str::trim);
    let lists = lists.filter(|line| line.starts_with('[')).map(numbers);
    let lists: Vec<Vec<u64>> = lists.collect();
    assert_eq!(lists.len(), 7);
    for len in [0, 1, 5, 10, all] {
        for list in &lists {
            let id = round_trip(&with_length(len), list);
            assert!(id.len() >= usize::from(len));
            let template = match len {
                0 => "{sqids}".to_owned(),
                len => format!("{{sqids min={len}}}"),
            };
            check_ours(&template, list, &id);
        }
    }
}
