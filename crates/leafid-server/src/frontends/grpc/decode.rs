//! `Decode` and `DecodeText`: what ids say.

use std::collections::HashMap;

use leafid::{Layout, ParseLayoutError};
use leafid_formats::{Decoded, Mark, Recognised};
use prost_types::Timestamp;

use super::error::Refusal;
use super::v1::{
    DecodeRequest, DecodeResponse, DecodeTextRequest, DecodeTextResponse, DecodedOfTag, Reading,
};
use crate::api;
use crate::service::{Caller, Service};

/// Decodes a number by a layout.
pub(super) fn number(service: &Service, request: DecodeRequest) -> Result<DecodeResponse, Refusal> {
    let DecodeRequest { id, layout } = request;
    let layout: Layout = if layout.is_empty() {
        service.layout()
    } else {
        let parsed = layout.parse();
        parsed.map_err(|error: ParseLayoutError| Refusal::bad_field("layout", error.to_string()))?
    };
    let parts = service.decode(id, layout)?;
    let data_center = parts.data_center;
    Ok(DecodeResponse {
        layout: layout.to_string(),
        time: Some(timestamp(parts.unix_ms)),
        tick: parts.tick,
        worker_id: parts.worker.get(),
        data_center,
        worker_in_data_center: data_center.map(|_| parts.worker_in_data_center),
        sequence: parts.sequence,
        marks: marks(&service.marks(layout, &parts)),
        shard: parts.shard,
    })
}

/// Decodes a text, of a tag or of any family.
pub(super) async fn text(
    service: &Service,
    caller: &Caller,
    request: DecodeTextRequest,
) -> Result<DecodeTextResponse, Refusal> {
    let DecodeTextRequest { text, tag } = request;
    if tag.is_empty() {
        let readings = service.recognise(&text);
        let readings = readings.iter().map(reading).collect();
        return Ok(DecodeTextResponse {
            of_tag: None,
            readings,
        });
    }
    let (found, found_marks) = service.decode_of(caller, &tag, &text).await?;
    let shown = api::DecodedOfTag::new(&text, &tag, &found, &found_marks);
    let of_tag = DecodedOfTag {
        tag,
        number: found.number(),
        time: found.unix_ms().map(timestamp),
        parts: shown.parts.into_iter().collect(),
        marks: shown.marks,
    };
    Ok(DecodeTextResponse {
        of_tag: Some(of_tag),
        readings: Vec::new(),
    })
}

fn reading(found: &Recognised) -> Reading {
    Reading {
        name: found.name.to_owned(),
        time: found.decoded.unix_ms.map(timestamp),
        parts: parts(&found.decoded),
        marks: marks(&found.marks),
        score: found.score.into(),
    }
}

fn parts(decoded: &Decoded) -> HashMap<String, String> {
    let parts = decoded.parts.iter();
    let parts = parts.map(|part| (part.name.to_owned(), part.value.to_string()));
    parts.collect()
}

fn marks(marks: &[Mark]) -> Vec<String> {
    marks.iter().map(ToString::to_string).collect()
}

/// Milliseconds since 1970 as a protobuf timestamp.
pub(super) fn timestamp(unix_ms: i64) -> Timestamp {
    let ms = i32::try_from(unix_ms.rem_euclid(1000)).unwrap_or_default();
    Timestamp {
        seconds: unix_ms.div_euclid(1000),
        nanos: ms * 1_000_000,
    }
}
