//! `/v1/decode/{id}`: decodes a snowflake id of any layout.

use axum::extract::{Path, RawQuery, State};
use leafid::Layout;
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer;
use super::auth::Served;
use super::path::Query;
use super::problem::{Answered, Kind, Problem};
use crate::api::{DecodedId, LayoutRequest};

/// The id to decode.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct IdPath {
    /// The id, in decimal.
    #[param(schema_with = crate::api::schema::id)]
    id: String,
}

/// Takes a snowflake id apart.
#[utoipa::path(
    get, path = "/v1/decode/{id}", tag = "ids", operation_id = "decode",
    params(IdPath, LayoutRequest),
    responses((status = 200, description = "its parts", body = DecodedId))
)]
pub(crate) async fn show(
    State(service): Served,
    Path(IdPath { id }): Path<IdPath>,
    RawQuery(query): RawQuery,
) -> Answered {
    let request: LayoutRequest = Query::parse(query.as_deref())?.to()?;
    let layout = match request.layout {
        Some(text) => layout(&text)?,
        None => service.layout(),
    };
    let id = number(&id)?;
    let parts = service.decode(id, layout)?;
    Ok(answer::ok(&DecodedId::new(id, layout, parts)))
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
        let detail = format!("\"{text}\" is not an id: an id is a whole number of at most 64 bits");
        Problem::new(Kind::BAD_FIELD, detail, "give the id in decimal").with_field("id")
    })
}
