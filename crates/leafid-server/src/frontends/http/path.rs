//! Percent-decoding of paths and queries, strictly: what is not well-formed UTF-8 is refused, and
//! never taken for something near it.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use url::form_urlencoded;

use super::problem::{Kind, Problem};
use crate::excerpt::shown;

/// Decodes a path, or a part of one.
pub(crate) fn decode(encoded: &str) -> Result<Cow<'_, str>, Problem> {
    let mut parts = encoded.split('%').skip(1).map(str::as_bytes);
    let is_coded =
        |part: &[u8]| matches!(part, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    if !parts.all(is_coded) {
        return Err(bad_path(format!(
            "\"{}\" has a % that no two hexadecimal digits follow",
            shown(encoded)
        )));
    }
    percent_decode_str(encoded)
        .decode_utf8()
        .map_err(|_| bad_path(format!("\"{}\" does not decode to UTF-8", shown(encoded))))
}

fn bad_path(detail: String) -> Problem {
    let next = "percent-encode the UTF-8 bytes of the name, and a % itself as %25";
    Problem::new(Kind::BAD_PATH, detail, next)
}

/// The parameters of a query, each of which must be known.
#[derive(Debug)]
pub(crate) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    pub(crate) fn parse(query: Option<&'a str>, known: &[&str]) -> Result<Self, Problem> {
        let query = query.unwrap_or_default();
        // What is malformed would come out below as something near it.
        decode(query)?;
        let mut pairs: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !known.contains(&&*name) {
                return Err(super::json::unknown_name("parameter", &name, known));
            }
            if pairs.iter().any(|(other, _)| *other == name) {
                let detail = format!("parameter \"{name}\" is given twice");
                let problem = Problem::new(Kind::BAD_FIELD, detail, "give it once");
                return Err(problem.with_field(name));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| &**value)
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let number = text.parse().ok().filter(|_| !text.starts_with('+'));
        number.map(Some).ok_or_else(|| {
            let text = shown(text);
            let detail = format!("parameter \"{name}\" is \"{text}\", which is no whole number");
            Problem::new(Kind::BAD_FIELD, detail, "give a whole number").with_field(name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(segment: &str, expected: Option<&str>) {
        assert_eq!(decode(segment).ok().as_deref(), expected, "{segment}");
    }

    #[test]
    fn segments_are_decoded_strictly() {
        check("order", Some("order"));
        check("a%2Fb", Some("a/b"));
        check("a%2fb", Some("a/b"));
        check("%E8%AE%A2%E5%8D%95", Some("订单"));
        check("a+b", Some("a+b"));
        check("100%25", Some("100%"));
        check("%", None);
        check("%2", None);
        check("%zz", None);
        check("%+1", None);
        check("%FF", None);
        check("%C3%28", None);
    }

    #[test]
    fn encoding_is_undone_by_decoding() {
        for name in ["order", "a/b c", "订单", "100%", "?#&=+'\"", "~._-"] {
            let encoded = crate::config::percent_encoded(name);
            assert!(!encoded.contains(['/', ' ', '?', '&']), "{encoded}");
            check(&encoded, Some(name));
        }
    }

    #[test]
    fn queries_are_parsed() {
        let query = Query::parse(Some("after=a%26b+c&&limit=5"), &["after", "limit"]);
        let query = query.expect("both are known");
        assert_eq!(query.text("after"), Some("a&b c"));
        assert_eq!(query.number("limit").ok().flatten(), Some(5));
        assert!(query.number("after").is_err());
        assert!(Query::parse(Some("limit=1&limit=2"), &["limit"]).is_err());
        assert!(Query::parse(Some("limt=1"), &["limit"]).is_err());
        assert!(Query::parse(Some("limit=%zz"), &["limit"]).is_err());
        assert!(Query::parse(Some("limit=%FF"), &["limit"]).is_err());
    }
}
