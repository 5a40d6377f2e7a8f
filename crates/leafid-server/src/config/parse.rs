//! Parses values as people write them: `1s`, `250ms`, `127.0.0.1:8080`, `true`. Errors say what is
//! wrong; the caller adds the setting, the origin of the value, and what is allowed.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::suggest::nearest;

/// Units of time, from the longest to the shortest, in milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];

/// `1s`, `250ms`, `10m`, `24h`, `7d`.
pub(super) fn duration(text: &str, allowed: &RangeInclusive<Duration>) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text[digits.len()..].trim();
    let Some((_, unit_ms)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err("a time needs a unit, such as 250ms, 1s or 10m".to_owned());
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| "a time is a whole number and a unit, such as 250ms, 1s or 10m".to_owned())?;
    let duration = Duration::from_millis(number.saturating_mul(*unit_ms));
    within(duration, allowed)
}

/// The shortest way to write a duration of whole milliseconds.
pub(super) fn duration_text(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms == 0 {
        return "0s".to_owned();
    }
    let fits = |unit_ms: u64| ms.is_multiple_of(u128::from(unit_ms));
    let (name, unit_ms) = UNITS
        .into_iter()
        .find(|(_, unit_ms)| fits(*unit_ms))
        .unwrap_or(("ms", 1));
    format!("{}{name}", ms / u128::from(unit_ms))
}

pub(super) fn count(text: &str, allowed: &RangeInclusive<u64>) -> Result<u64, String> {
    let number = text.replace('_', "").parse();
    within(number.map_err(|_| "not a whole number")?, allowed)
}

fn within<T: PartialOrd>(value: T, allowed: &RangeInclusive<T>) -> Result<T, String> {
    if value < *allowed.start() {
        Err("too small".to_owned())
    } else if value > *allowed.end() {
        Err("too large".to_owned())
    } else {
        Ok(value)
    }
}

/// An IP address and a port; `localhost` stands for 127.0.0.1.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let numeric = text.replacen("localhost:", "127.0.0.1:", 1);
    numeric
        .parse()
        .map_err(|_| "not an address and a port".to_owned())
}

pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("a path must not be empty".to_owned());
    }
    Ok(PathBuf::from(text))
}

pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("neither true nor false".to_owned()),
    }
}

pub(super) fn choice(text: &str, names: &'static [&'static str]) -> Result<&'static str, String> {
    if let Some(name) = names.iter().find(|name| **name == text) {
        return Ok(name);
    }
    Err(match nearest(text, names.iter().copied()) {
        Some(name) => format!("not a choice, did you mean {name}?"),
        None => "not a choice".to_owned(),
    })
}

/// A space or a comma separates URLs if another URL begins after it; otherwise it is part of the
/// URL, for example of its password.
pub(super) fn urls(texts: &[String]) -> Vec<String> {
    texts.iter().flat_map(|text| urls_of(text)).collect()
}

fn urls_of(text: &str) -> Vec<String> {
    let is_separator = |c: char| c.is_whitespace() || c == ',';
    let separators = text.char_indices().filter(|(_, c)| is_separator(*c));
    let ends = separators.filter(|(at, c)| begins_url(text[at + c.len_utf8()..].trim_start()));
    let mut urls = Vec::new();
    let mut start = 0;
    for end in ends.map(|(at, _)| at).chain([text.len()]) {
        let url = text[start..end].trim_matches(is_separator);
        urls.extend(Some(url.to_owned()).filter(|url| !url.is_empty()));
        start = end;
    }
    urls
}

/// Only known schemes count, so that no password is mistaken for a URL.
fn begins_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_known = leafid_stores::known_schemes().contains(&scheme);
    is_known && (rest.starts_with("//") || scheme == "sqlite")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_duration(text: &str, expected_ms: Option<u64>) {
        let max = Duration::from_secs(3600);
        let actual = duration(text, &(Duration::ZERO..=max)).ok();
        assert_eq!(actual, expected_ms.map(Duration::from_millis), "{text:?}");
    }

    #[test]
    fn durations_are_a_number_and_a_unit() {
        check_duration("1s", Some(1000));
        check_duration("250ms", Some(250));
        check_duration("10m", Some(600_000));
        check_duration("1h", Some(3_600_000));
        check_duration("0s", Some(0));
        check_duration("10 m", Some(600_000));
        check_duration("61m", None);
        check_duration("5", None);
        check_duration("s", None);
        check_duration("", None);
        check_duration("-1s", None);
        check_duration("1.5s", None);
        check_duration("99999999999999999999s", None);
        check_duration("18446744073709551615d", None);
        check_duration("1µs", None);
    }

    #[test]
    fn durations_are_written_shortly() {
        for text in ["0s", "1ms", "250ms", "1s", "90s", "10m", "24h", "7d"] {
            let max = Duration::from_secs(86_400 * 30);
            let parsed = duration(text, &(Duration::ZERO..=max)).unwrap();
            let expected = if text == "24h" { "1d" } else { text };
            assert_eq!(duration_text(parsed), expected);
        }
    }

    #[test]
    fn other_values() {
        assert_eq!(count("1_000", &(1..=1000)), Ok(1000));
        assert_eq!(count("0", &(1..=1000)), Err("too small".into()));
        assert_eq!(count("1001", &(1..=1000)), Err("too large".into()));
        assert!(count("-1", &(0..=1000)).is_err());
        assert_eq!(address("localhost:1").unwrap().to_string(), "127.0.0.1:1");
        assert_eq!(address("[::1]:80").unwrap().to_string(), "[::1]:80");
        assert!(address("8080").is_err());
        assert!(switch("yes").is_err());
        assert_eq!(
            choice("jsn", &["text", "json"]).unwrap_err(),
            "not a choice, did you mean json?"
        );
    }

    /// Guards that a password with a space or a comma is not split, which would show its second
    /// half.
    #[test]
    fn urls_are_cut_where_another_one_begins() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(urls(&[text.to_owned()]), expected, "{text:?}");
        };
        check("mysql://b,c:2 redis://e", &["mysql://b,c:2", "redis://e"]);
        check(
            "mysql://u:p,q@g,mysql://i",
            &["mysql://u:p,q@g", "mysql://i"],
        );
        check(
            "mysql://u:p  q@g  mysql://i ",
            &["mysql://u:p  q@g", "mysql://i"],
        );
        check(
            "mysql://u:p\u{2003}q://x@g",
            &["mysql://u:p\u{2003}q://x@g"],
        );
        check("mysql://i,\u{2003}mysql://j", &["mysql://i", "mysql://j"]);
        check(
            "sqlite:a b.db sqlite:c.db",
            &["sqlite:a b.db", "sqlite:c.db"],
        );
        check("", &[]);
        check("none", &["none"]);
    }
}
