//! Bodies: read within their bounds, and parsed field by field, so that every error names
//! the field and what it may be.

use std::ops::RangeInclusive;

use axum::extract::Request;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::HeaderMap;
use hyper::body::Body;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use serde_json::{Map, Value};

use super::problem::{Kind, Problem};
use crate::config::Limits;
use crate::config::nearest;
use crate::service::Caller;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Reads a whole body.
pub(crate) async fn read_body<B>(body: B, limits: &Limits) -> Result<Bytes, Problem>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    let len_max = limits.body_len_max;
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > len_max as u64 {
        return Err(too_large(len_max));
    }
    let reading = Limited::new(body, len_max).collect();
    match tokio::time::timeout(limits.body_max, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(len_max)),
        Ok(Err(error)) => Err(Problem::new(
            Kind::BAD_JSON,
            format!("the body could not be read: {error}"),
            "send the whole body",
        )),
        Err(_) => Err(Problem::new(
            Kind::TIMEOUT,
            format!("the body took longer than {} s", limits.body_max.as_secs()),
            "send the body at once",
        )),
    }
}

fn too_large(len_max: usize) -> Problem {
    let detail = format!("the body has more than {len_max} bytes");
    Problem::new(
        Kind::TOO_LARGE,
        detail,
        format!("send at most {len_max} bytes"),
    )
}

/// The fields of a JSON object, each of which must be known.
#[derive(Debug)]
pub(crate) struct Fields {
    fields: Map<String, Value>,
    /// Where the object is: empty, or the name of the field that holds it with a dot.
    place: &'static str,
}

impl Fields {
    /// Reads the body of a request and takes it apart.
    pub(crate) async fn read(
        request: Request,
        limits: &Limits,
        known: &[&str],
    ) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let body = read_body(body, limits).await?;
        Self::parse(&parts.headers, &body, known)
    }

    /// Takes a body apart. An empty one has no fields.
    pub(crate) fn parse(headers: &HeaderMap, body: &[u8], known: &[&str]) -> Result<Self, Problem> {
        if body.is_empty() {
            let (fields, place) = (Map::new(), "");
            return Ok(Self { fields, place });
        }
        check_type(headers)?;
        let value = serde_json::from_slice(body).map_err(|error| {
            let detail = format!("the body is not JSON: {error}");
            Problem::new(Kind::BAD_JSON, detail, "send a JSON object")
        })?;
        Self::of(value, "", known)
    }

    /// Takes an object apart that is the value of a field.
    pub(crate) fn of(value: Value, place: &'static str, known: &[&str]) -> Result<Self, Problem> {
        let Value::Object(fields) = value else {
            let what = if place.is_empty() {
                "the body"
            } else {
                place.trim_end_matches('.')
            };
            let detail = format!("{what} is {}, which is not a JSON object", shown(&value));
            return Err(Problem::new(Kind::BAD_JSON, detail, "send a JSON object"));
        };
        if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(unknown_name(
                "field",
                &format!("{place}{name}"),
                &placed(place, known),
            ));
        }
        Ok(Self { fields, place })
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name)
    }

    /// A whole number, also as a string, because JavaScript holds no large ones.
    pub(crate) fn number(&mut self, name: &str, max: u64) -> Result<Option<u64>, Problem> {
        self.number_in(name, 1..=max, max)
    }

    /// How many ids: a whole number of any size, since the service has its own word for one that
    /// is 0 or too large. `max` is only told.
    pub(crate) fn count(&mut self, name: &str, max: u64) -> Result<Option<u64>, Problem> {
        self.number_in(name, 0..=u64::MAX, max)
    }

    fn number_in(
        &mut self,
        name: &str,
        allowed: RangeInclusive<u64>,
        max: u64,
    ) -> Result<Option<u64>, Problem> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let number = match &value {
            Value::String(text) if !text.starts_with('+') => text.parse().ok(),
            value => whole(value),
        };
        let number = number.filter(|number| allowed.contains(number));
        let wanted = || format!("a whole number from 1 to {max}");
        number
            .map(Some)
            .ok_or_else(|| self.bad(name, &value, &wanted()))
    }

    /// A text; the inner `None` is null.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<Option<String>>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Null) => Ok(Some(None)),
            Some(Value::String(text)) => Ok(Some(Some(text))),
            Some(value) => Err(self.bad(name, &value, "a string")),
        }
    }

    pub(crate) fn bad(&self, name: &str, value: &Value, wanted: &str) -> Problem {
        let field = format!("{}{name}", self.place);
        let detail = format!(
            "field \"{field}\" is {}, but must be {wanted}",
            shown(value)
        );
        let next = format!("send {field} as {wanted}");
        Problem::new(Kind::BAD_FIELD, detail, next).with_field(field)
    }

    pub(crate) fn missing(&self, name: &str, wanted: &str) -> Problem {
        let field = format!("{}{name}", self.place);
        let detail = format!("field \"{field}\" is missing");
        Problem::new(Kind::BAD_FIELD, detail, format!("send {field} as {wanted}")).with_field(field)
    }
}

/// A whole number, also written as `5.0`: JSON has one kind of number.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    /// A float is exact up to here.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    let exact = || {
        let float = value.as_f64()?;
        let is_whole = (0.0..=EXACT_MAX).contains(&float) && float.fract() == 0.0;
        // All digits and no sign, so it is read back as it is.
        is_whole.then(|| format!("{float:.0}").parse().ok())?
    };
    value.as_u64().or_else(exact)
}

fn placed(place: &str, known: &[&str]) -> Vec<String> {
    known.iter().map(|name| format!("{place}{name}")).collect()
}

/// A name that nothing here has, with the nearest one that something has.
pub(crate) fn unknown_name(what: &str, name: &str, known: &[impl AsRef<str>]) -> Problem {
    let names = || known.iter().map(AsRef::as_ref);
    let next = match nearest(name, names()) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None if known.is_empty() => format!("leave it out: this call takes no {what}"),
        None => format!("known here: {}", names().collect::<Vec<_>>().join(", ")),
    };
    let detail = format!(
        "{what} \"{}\" is not known here",
        crate::excerpt::shown(name)
    );
    Problem::new(Kind::UNKNOWN_FIELD, detail, next).with_field(name)
}

/// Refuses a request without a token that does not say that its body is JSON, also one without a
/// body.
pub(crate) fn check_declared(headers: &HeaderMap, caller: &Caller) -> Result<(), Problem> {
    if caller.token().is_some() {
        return Ok(());
    }
    if headers.contains_key(CONTENT_TYPE) {
        return check_type(headers);
    }
    let len = headers.get(CONTENT_LENGTH);
    let has_body =
        headers.contains_key(TRANSFER_ENCODING) || len.is_some_and(|len| len.as_bytes() != b"0");
    let kind = match has_body {
        true => Kind::UNSUPPORTED_MEDIA_TYPE,
        // No media type is at fault where there is nothing of one.
        false => Kind::UNDECLARED,
    };
    let detail = "this call has no content-type, and without a token it needs one";
    Err(Problem::new(kind, detail, DECLARE))
}

/// What to do about a body that is not declared as JSON.
const DECLARE: &str = "add the header content-type: application/json (curl: --json, or -H)";

/// A form or plain text is what a foreign web page can send without being asked, so a body must
/// say that it is JSON.
fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(declared) = headers.get(CONTENT_TYPE) else {
        return Ok(());
    };
    let declared = declared.to_str().unwrap_or("");
    let essence = declared.split(';').next().unwrap_or("").trim();
    let essence = essence.to_ascii_lowercase();
    if essence == "application/json" || essence.ends_with("+json") {
        return Ok(());
    }
    let declared = crate::excerpt::shown(declared);
    let detail = format!("the body is declared as \"{declared}\"");
    Err(Problem::new(Kind::UNSUPPORTED_MEDIA_TYPE, detail, DECLARE))
}

/// A value as it stands in a message: short.
fn shown(value: &Value) -> String {
    crate::excerpt::shown(&value.to_string()).into_owned()
}
