//! Percent-encoding in paths and queries, strictly: what is not well-formed UTF-8 is refused, and
//! never taken for something near it.

use std::borrow::Cow;

use super::problem::{Kind, Problem};

/// Decodes one segment of a path.
pub(crate) fn decode(segment: &str) -> Result<Cow<'_, str>, Problem> {
    if !segment.contains('%') {
        return Ok(Cow::Borrowed(segment));
    }
    let bytes = decoded_bytes(segment.as_bytes()).ok_or_else(|| {
        bad_path(format!(
            "\"{segment}\" has a % that no two hexadecimal digits follow"
        ))
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|_| bad_path(format!("\"{segment}\" does not decode to UTF-8")))?;
    Ok(Cow::Owned(text))
}

fn bad_path(detail: String) -> Problem {
    let next = "percent-encode the UTF-8 bytes of the name, and a % itself as %25";
    Problem::new(Kind::BAD_PATH, detail, next)
}

fn decoded_bytes(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let (digits, after) = rest.split_first_chunk::<2>()?;
            bytes.push(hex(digits[0])? << 4 | hex(digits[1])?);
            rest = after;
        } else {
            bytes.push(byte);
        }
    }
    Some(bytes)
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

/// Encodes a name so that it is one segment of a path, or one value of a query.
pub(crate) fn encode(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The parameters of a query, each of which must be known.
#[derive(Debug)]
pub(crate) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    pub(crate) fn parse(query: Option<&'a str>, known: &[&str]) -> Result<Self, Problem> {
        let mut pairs: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::new();
        let parts = query.unwrap_or("").split('&');
        for part in parts.filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (decode_value(name)?, decode_value(value)?);
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
            let detail = format!("parameter \"{name}\" is \"{text}\", which is no whole number");
            Problem::new(Kind::BAD_FIELD, detail, "give a whole number").with_field(name)
        })
    }
}

fn decode_value(text: &str) -> Result<Cow<'_, str>, Problem> {
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        return Ok(Cow::Owned(decode(&spaced)?.into_owned()));
    }
    decode(text)
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
            let encoded = encode(name);
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
    }
}
