//! Percent-decoding of paths and queries, strictly: input that is not well-formed UTF-8 is refused,
//! never guessed at.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
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
            "\"{}\" has a % that is not followed by two hexadecimal digits",
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

/// The parameters of a query.
#[derive(Debug)]
pub(crate) struct Query(Value);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Result<Self, Problem> {
        let query = query.unwrap_or_default();
        // A lenient decoder would turn malformed input into another value.
        decode(query)?;
        let mut parameters = Map::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = Value::String(value.into_owned());
            if parameters.insert(name.to_string(), value).is_some() {
                let detail = format!("parameter \"{name}\" is given twice");
                let problem = Problem::new(Kind::BAD_FIELD, detail, "give it once");
                return Err(problem.with_field(name));
            }
        }
        Ok(Self(Value::Object(parameters)))
    }

    /// Refuses a call with parameters that takes none.
    pub(crate) fn check_empty(&self) -> Result<(), Problem> {
        self.to::<NoParameters>().map(drop)
    }

    /// The parameters, each of which must be known.
    pub(crate) fn to<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        super::json::read_named("parameter", &self.0)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParameters {}

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
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Page {
            after: Option<String>,
            limit: Option<crate::api::Whole<9>>,
        }
        let parse = |query| Query::parse(Some(query)).and_then(|query| query.to::<Page>());
        let page = parse("after=a%26b+c&&limit=5").unwrap();
        assert_eq!(page.after.as_deref(), Some("a&b c"));
        assert_eq!(page.limit.map(crate::api::Whole::get), Some(5));
        for wrong in [
            "limit=x",
            "limit=",
            "limit=%2B1",
            "limt=1",
            "limit=1&limit=2",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        for malformed in ["limit=%zz", "limit=%FF"] {
            assert!(Query::parse(Some(malformed)).is_err(), "{malformed}");
        }
        let empty = |query| Query::parse(query).is_ok_and(|query| query.check_empty().is_ok());
        assert!(empty(None) && empty(Some("&")) && !empty(Some("limit")));
    }

    /// Guards that no query panics, and that its parameters are encoded as a query with the same.
    #[test]
    fn any_query_is_read_or_refused() {
        leafid_fuzz::fuzz("queries", |data| {
            let text = str::from_utf8(data).unwrap_or_default();
            if let Ok(name) = decode(text) {
                let encoded = crate::config::percent_encoded(&name);
                assert_eq!(decode(&encoded).ok(), Some(name.clone()));
            }
            let Ok(query) = Query::parse(Some(text)) else {
                return false;
            };
            let _known = query.to::<crate::api::LayoutRequest>();
            let Value::Object(parameters) = &query.0 else {
                return false;
            };
            let mut again = form_urlencoded::Serializer::new(String::new());
            for (name, value) in parameters {
                again.append_pair(name, value.as_str().unwrap());
            }
            assert_eq!(Query::parse(Some(&again.finish())).unwrap().0, query.0);
            true
        });
    }
}
