//! Leaf's own API: `/api/segment/get/{key}`, `/api/snowflake/get/{key}`, `/cache`, `/db`,
//! `/decodeSnowflakeId`. Every method, text bodies, errors with status 500 and Spring's fields.

pub(crate) mod error;
pub(crate) mod table;

use axum::extract::{RawQuery, State};
use hyper::StatusCode;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use leafid::Id;
use serde::Serialize;
use url::form_urlencoded;
use utoipa::ToSchema;

use super::answer::{self, Answer};
use super::auth::Served;
use super::path;
use super::problem::{Answered, Kind, Problem};
use crate::service::{Caller, IssuedId, Service};

/// A decoded id, or `errorMsg`.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Decoded {
    /// The parts of the id.
    Parts {
        /// Milliseconds, and the time in the server's time zone.
        #[schema(example = "1567733700834(2019-09-06 09:35:00.834)")]
        timestamp: String,
        /// The worker id that made it.
        #[schema(example = "39")]
        #[serde(rename = "workerId")]
        worker_id: String,
        /// Its number within the millisecond.
        #[schema(example = "3448")]
        #[serde(rename = "sequenceId")]
        sequence_id: String,
    },
    /// The text is not an id.
    Error {
        /// What is wrong.
        #[serde(rename = "errorMsg")]
        error_msg: String,
    },
}

/// Issues one id of a segment tag: the number and nothing else, or the text of a tag whose ids are
/// texts. As in Leaf, every method is accepted.
#[utoipa::path(
    get, path = "/api/segment/get/{key}", tag = "leaf", operation_id = "leaf_segment_get",
    params(("key" = String, Path, description = "the tag, percent-encoded")),
    responses(
        (status = 200, description = "the id", body = String, content_type = "text/plain",
         example = "2001"),
        (status = 500, description = "no id was issued", body = error::LeafError),
    )
)]
pub(crate) async fn segment(service: &Service, caller: &Caller, key: &str) -> Answered {
    if key.is_empty() {
        return Err(no_key("/api/segment/get/{key}"));
    }
    let tag = path::decode(key)?;
    match service.segment_next(caller, &tag).await {
        Ok(id) => Ok(issued(id)),
        Err(error) if error.has_no_segments() && service.has_format(&tag) => {
            Ok(issued(service.next(caller, &tag).await?))
        }
        // Leaf's clients see only the detail.
        Err(error) if error.has_no_segments() => {
            let detail = format!("this tag issues snowflake ids: ask for /api/snowflake/get/{key}");
            Err(Problem::new(Kind::SNOWFLAKE_TAG, detail, ""))
        }
        Err(error) => Err(error.into()),
    }
}

/// Issues one snowflake id: the number and nothing else. As in Leaf, the key may be any name but an
/// empty one, and every method is accepted.
#[utoipa::path(
    get, path = "/api/snowflake/get/{key}", tag = "leaf", operation_id = "leaf_snowflake_get",
    params(("key" = String, Path, description = "any name")),
    responses(
        (status = 200, description = "the id", body = String, content_type = "text/plain",
         example = "1169786042799259000"),
        (status = 500, description = "no id was issued", body = error::LeafError),
    )
)]
pub(crate) async fn snowflake(service: &Service, caller: &Caller, key: &str) -> Answered {
    if key.is_empty() {
        return Err(no_key("/api/snowflake/get/{key}"));
    }
    let id = service
        .snowflake_next(caller, Some(&path::decode(key)?))
        .await?;
    Ok(number(id))
}

fn issued(id: IssuedId) -> Answer {
    match id {
        IssuedId::Number(id) => number(id),
        IssuedId::Text(text) => answer::text(StatusCode::OK, text),
    }
}

fn number(id: Id) -> Answer {
    let mut digits = itoa::Buffer::new();
    answer::text(StatusCode::OK, digits.format(id.get()).to_owned())
}

fn no_key(path: &str) -> Problem {
    let detail = format!("no key in the path: ask for {path}");
    Problem::new(Kind::BAD_TAG, detail, "")
}

/// Decodes a snowflake id.
#[utoipa::path(
    get, path = "/decodeSnowflakeId", tag = "leaf", operation_id = "leaf_decode",
    params(("snowflakeId" = String, Query, description = "The id, in decimal.",
            example = "1169786042799259000")),
    responses((status = 200, description = "its parts, all of them strings", body = Decoded))
)]
pub(crate) async fn decode(State(service): Served, RawQuery(query): RawQuery) -> Answered {
    let id = query_value(&query.unwrap_or_default(), "snowflakeId")?;
    let decoded = match id.parse() {
        Ok(number) => decoded(&service, number),
        Err(_) => Decoded::Error {
            error_msg: format!(
                "\"{id}\" is not a snowflake id: it must be a whole number of at most 64 bits"
            ),
        },
    };
    Ok(answer::ok(&decoded))
}

fn decoded(service: &Service, id: i64) -> Decoded {
    let parts = service.decode_snowflake(id);
    let ms = parts.timestamp_ms;
    Decoded::Parts {
        timestamp: format!("{ms}({})", local_time(ms, "%Y-%m-%d %H:%M:%S.%3f")),
        worker_id: parts.worker_id.to_string(),
        sequence_id: parts.sequence.to_string(),
    }
}

/// The first value of a parameter; others are ignored, as in Spring.
fn query_value(query: &str, name: &str) -> Result<String, Problem> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    match pairs.find(|(other, _)| other == name) {
        Some((_, value)) => Ok(value.trim().to_owned()),
        None => {
            let detail = format!("parameter {name} is missing: add ?{name}=NUMBER");
            Err(Problem::new(Kind::BAD_FIELD, detail, ""))
        }
    }
}

/// A time in the server's time zone.
fn local_time(ms: i64, format: &str) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) => time
            .to_zoned(TimeZone::system())
            .strftime(format)
            .to_string(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that no query of Leaf's API panics: the id is the first value of that name.
    #[test]
    fn any_query_is_read_or_refused() {
        leafid_fuzz::fuzz("queries", |data| {
            let text = str::from_utf8(data).unwrap_or_default();
            let Ok(id) = query_value(text, "snowflakeId") else {
                return false;
            };
            let query: String = form_urlencoded::Serializer::new(String::new())
                .append_pair("snowflakeId", &id)
                .append_pair("snowflakeId", "2")
                .finish();
            assert_eq!(query_value(&query, "snowflakeId").ok(), Some(id));
            true
        });
    }
}
