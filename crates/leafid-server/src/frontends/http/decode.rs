//! `/v1/decode/{id}`: what a snowflake id says, read by any layout.

use axum::extract::{Path, RawQuery, State};
use hyper::StatusCode;
use leafid::{Layout, Parts};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::answer;
use super::answered::Answered;
use super::openapi::values;
use super::path::Query;
use super::problem::{Kind, Problem};
use super::served::Served;

pub(crate) const DECODE_FIELDS: &[&str] = &["layout"];

/// Which id.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what is read by hand")]
pub(crate) struct IdPath {
    /// The id, in decimal.
    #[param(schema_with = values::id)]
    id: String,
}

/// By which layout.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what is read field by field")]
pub(crate) struct LayoutRequest {
    /// A preset, a preset with an epoch (`leaf@2020-01-01T00:00:00Z`), or widths with an epoch
    /// (`time41x1ms/worker10/sequence12@2020-01-01T00:00:00Z`); the server's own when it is missing.
    #[param(schema_with = values::layout, required = false)]
    layout: Option<String>,
}

/// What a snowflake id says. Numbers that may pass 2^53 are strings.
#[derive(Serialize, ToSchema)]
#[schema(as = DecodedId)]
pub(crate) struct DecodedDocument {
    /// The id.
    #[schema(example = "1169786042799259000")]
    id: String,
    /// The layout that it was read by.
    #[schema(example = "leaf")]
    layout: String,
    /// When its tick began.
    #[schema(format = DateTime, example = "2019-09-06T01:35:00.834Z")]
    time: String,
    /// The same in milliseconds since 1970-01-01T00:00:00Z.
    #[schema(example = "1567733700834")]
    unix_ms: String,
    /// The same in units of the layout since its epoch.
    #[schema(example = "278898726177")]
    tick: String,
    /// Who made it, the data centre's bits included.
    #[schema(example = 39)]
    worker_id: u32,
    /// The upper bits of the worker id; missing where the layout has no data centre.
    #[serde(skip_serializing_if = "Option::is_none")]
    data_center: Option<u32>,
    /// The lower bits of the worker id; missing where the layout has no data centre.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker_in_data_center: Option<u32>,
    /// Which id of its tick.
    #[schema(example = "3448")]
    sequence: String,
}

impl DecodedDocument {
    fn new(id: u64, layout: Layout, parts: Parts) -> Self {
        let data_center = parts.data_center;
        Self {
            id: id.to_string(),
            layout: layout.to_string(),
            time: parts.time().to_string(),
            unix_ms: parts.unix_ms.to_string(),
            tick: parts.tick.to_string(),
            worker_id: parts.worker.get(),
            data_center,
            worker_in_data_center: data_center.map(|_| parts.worker_in_data_center),
            sequence: parts.sequence.to_string(),
        }
    }
}

/// Takes a snowflake id apart.
#[utoipa::path(
    get, path = "/v1/decode/{id}", tag = "ids", operation_id = "decode",
    params(IdPath, LayoutRequest),
    responses((status = 200, description = "its parts", body = DecodedDocument))
)]
pub(crate) async fn show(
    State(service): Served,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Answered {
    let query = Query::parse(query.as_deref(), DECODE_FIELDS)?;
    let layout = match query.text("layout") {
        Some(text) => layout(text)?,
        None => service.layout(),
    };
    let id = number(&id)?;
    let parts = service.decode(id, layout)?;
    Ok(answer::json(
        StatusCode::OK,
        &DecodedDocument::new(id, layout, parts),
    ))
}

fn layout(text: &str) -> Result<Layout, Problem> {
    text.parse().map_err(|error: leafid::ParseLayoutError| {
        let next = "name a layout as the detail says; in a query, a + is written %2B";
        Problem::new(Kind::UNKNOWN_LAYOUT, error.to_string(), next).with_field("layout")
    })
}

/// An id of up to 64 bits: some layouts use them all.
fn number(text: &str) -> Result<u64, Problem> {
    let number = text.parse().ok().filter(|_| !text.starts_with('+'));
    number.ok_or_else(|| {
        let text = crate::excerpt::shown(text);
        let detail = format!("\"{text}\" is no id: an id is a whole number of at most 64 bits");
        Problem::new(Kind::BAD_FIELD, detail, "give the id in decimal").with_field("id")
    })
}
