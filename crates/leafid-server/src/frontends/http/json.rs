//! Bodies: read within their bounds, and into the types of [`crate::api`]. An error names the field
//! and what it may be.

mod deserializer;

use axum::extract::Request;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::HeaderMap;
use hyper::body::Body;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::problem::{Kind, Problem};
use crate::config::Limits;
use crate::config::nearest;
use crate::excerpt::shown;
use crate::service::Caller;

use deserializer::{Json, Mistake};

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

/// A JSON object that came as the body of a request.
#[derive(Debug)]
pub(crate) struct JsonBody(Value);

impl JsonBody {
    /// Reads the body of a request.
    pub(crate) async fn read(request: Request, limits: &Limits) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let body = read_body(body, limits).await?;
        Self::parse(&parts.headers, &body)
    }

    /// Parses a body. An empty one has no fields.
    pub(crate) fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Self, Problem> {
        if body.is_empty() {
            return Ok(Self(Value::Object(Map::new())));
        }
        check_type(headers)?;
        let bad = |detail| Problem::new(Kind::BAD_JSON, detail, "send a JSON object");
        match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => Ok(Self(Value::Object(fields))),
            Ok(value) => {
                let value = shown_value(&value);
                Err(bad(format!(
                    "the body is {value}, which is not a JSON object"
                )))
            }
            Err(error) => Err(bad(format!("the body is not JSON: {error}"))),
        }
    }

    /// The text of a field, if it is one.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// The fields.
    pub(crate) fn to<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        read_named("field", &self.0)
    }
}

/// Reads an object whose members are called `what` in errors.
pub(super) fn read_named<T: DeserializeOwned>(what: &str, object: &Value) -> Result<T, Problem> {
    read(object).map_err(|(path, mistake)| match mistake {
        Mistake::Unknown { known } => {
            let place = path.split_last().map_or(&[][..], |(_, place)| place);
            let known: Vec<_> = known.iter().map(|name| joined(place, name)).collect();
            unknown_name(what, &path.join("."), &known)
        }
        Mistake::Missing { name } => {
            let wanted = wanted::<T>(object, &path, name);
            let field = joined(&path, name);
            let detail = format!("{what} \"{field}\" is missing");
            bad_field(field, detail, &wanted)
        }
        Mistake::Wrong { wanted } => {
            let field = path.join(".");
            let value = object.pointer(&format!("/{}", path.join("/")));
            let value = value.map_or_else(String::new, shown_value);
            let detail = format!("{what} \"{field}\" is {value}, but must be {wanted}");
            bad_field(field, detail, &wanted)
        }
    })
}

/// What a missing field may be, which is what serde says of it once it is there and null.
fn wanted<T: DeserializeOwned>(object: &Value, place: &[String], name: &str) -> String {
    let mut object = object.clone();
    let place: String = place.iter().map(|name| format!("/{name}")).collect();
    if let Some(Value::Object(fields)) = object.pointer_mut(&place) {
        fields.insert(name.to_owned(), Value::Null);
    }
    match read::<T>(&object) {
        Err((_, Mistake::Wrong { wanted })) => wanted,
        _ => "its description says".to_owned(),
    }
}

/// Reads the body of a request, and its fields.
pub(crate) async fn read_json<T: DeserializeOwned>(
    request: Request,
    limits: &Limits,
) -> Result<T, Problem> {
    JsonBody::read(request, limits).await?.to()
}

/// Reads a value; an error comes with the path of the field.
fn read<T: DeserializeOwned>(value: &Value) -> Result<T, (Vec<String>, Mistake)> {
    serde_path_to_error::deserialize(Json(value)).map_err(|error| {
        let names = error.path().iter().filter_map(|segment| match segment {
            Segment::Map { key } => Some(key.clone()),
            _ => None,
        });
        (names.collect(), error.into_inner())
    })
}

fn joined(place: &[String], name: &str) -> String {
    let names = place.iter().map(String::as_str).chain([name]);
    names.collect::<Vec<_>>().join(".")
}

fn bad_field(field: String, detail: String, wanted: &str) -> Problem {
    let next = format!("send {field} as {wanted}");
    Problem::new(Kind::BAD_FIELD, detail, next).with_field(field)
}

/// A name that nothing here has, with the nearest one that something has.
pub(crate) fn unknown_name(what: &str, name: &str, known: &[impl AsRef<str>]) -> Problem {
    let names = || known.iter().map(AsRef::as_ref);
    let next = match nearest(name, names()) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None if known.is_empty() => format!("leave it out: this call takes no {what}"),
        None => format!("known here: {}", names().collect::<Vec<_>>().join(", ")),
    };
    let detail = format!("unknown {what} \"{}\"", shown(name));
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
    let declared = shown(declared);
    let detail = format!("the body is declared as \"{declared}\"");
    Err(Problem::new(Kind::UNSUPPORTED_MEDIA_TYPE, detail, DECLARE))
}

/// A value as it stands in a message: short.
fn shown_value(value: &Value) -> String {
    shown(&value.to_string()).into_owned()
}
