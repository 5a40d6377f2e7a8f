//! `/v1/decode/{id}`: decodes an id of any layout, tag or family.

use axum::extract::{Path, RawQuery, State};
use hyper::HeaderMap;
use leafid::Layout;
use leafid_formats::decimal;
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer;
use super::auth::Served;
use super::path::Query;
use super::problem::{Answered, Kind, Problem};
use crate::api::{
    DecodeAnswer, DecodedId, DecodedNumber, DecodedOfTag, DecodedText, LayoutRequest, Reading,
};
use crate::frontends::bearer;

/// The id to decode.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct IdPath {
    /// The id: a number in decimal, or a text.
    id: String,
}

/// Decodes an id: a number by a layout, an id of a tag exactly, and any other text by what it looks
/// like.
#[utoipa::path(
    get, path = "/v1/decode/{id}", tag = "ids", operation_id = "decode",
    params(IdPath, LayoutRequest),
    responses((status = 200, description = "its parts", body = DecodeAnswer))
)]
pub(crate) async fn show(
    State(service): Served,
    headers: HeaderMap,
    Path(IdPath { id }): Path<IdPath>,
    RawQuery(query): RawQuery,
) -> Answered {
    let request: LayoutRequest = Query::parse(query.as_deref())?.to()?;
    if let Some(tag) = &request.tag {
        if request.layout.is_some() {
            let message = "a tag's ids have one layout: tag and layout exclude each other";
            let next = "send tag or layout, not both";
            return Err(Problem::new(Kind::BAD_FIELD, message, next).with_field("layout"));
        }
        let caller = bearer::caller(&service, &headers)?;
        let (found, marks) = service.decode_of(&caller, tag, &id).await?;
        let answer = DecodedOfTag::new(&id, tag, &found, &marks);
        return Ok(answer::ok(&DecodeAnswer::OfTag(answer)));
    }
    let readings: Vec<Reading> = service.recognise(&id).iter().map(Reading::from).collect();
    let is_ours = service.number_of_layout(&id).is_some();
    if !is_ours && request.layout.is_none() && !readings.is_empty() {
        let answer = DecodedText { id, readings };
        return Ok(answer::ok(&DecodeAnswer::Text(answer)));
    }
    let layout = match &request.layout {
        Some(text) => layout(text)?,
        None => service.layout(),
    };
    let number = number(&id)?;
    let parts = service.decode(number, layout)?;
    let marks = service.marks(layout, &parts);
    let readings = request.layout.is_none().then_some(readings);
    let answer = DecodedNumber::new(DecodedId::new(number, layout, parts), &marks, readings);
    Ok(answer::ok(&DecodeAnswer::Number(Box::new(answer))))
}

fn layout(text: &str) -> Result<Layout, Problem> {
    text.parse().map_err(|error: leafid::ParseLayoutError| {
        let next = "name a layout as the detail says; in a query, a + is written %2B";
        Problem::new(Kind::UNKNOWN_LAYOUT, error.to_string(), next).with_field("layout")
    })
}

/// An id of up to 64 bits: some layouts use them all.
fn number(text: &str) -> Result<u64, Problem> {
    decimal(text).ok_or_else(|| {
        let text = crate::excerpt::shown(text);
        let detail = format!(
            "\"{text}\" is neither a whole number of at most 64 bits nor like the ids of any family"
        );
        let next = "give the id as it was issued; add ?tag=NAME for a tag with a format of its own";
        Problem::new(Kind::BAD_FIELD, detail, next).with_field("id")
    })
}
