//! `ID.DECODE`: what an id says, with the field names of HTTP.

use std::collections::BTreeMap;

use leafid::{Layout, Parts};
use leafid_formats::decimal;

use super::{Outcome, Turn, Wanted};
use crate::api::{DecodedOfTag, Reading};
use crate::frontends::resp::args::Args;
use crate::frontends::resp::reply::Reply;
use crate::wall_clock::time;

const BAD_ID: &str = "ERR bad_field an id is a whole number of at most 64 bits in decimal, or a \
                      text of a family";

pub(super) fn decode(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let text = |at| std::str::from_utf8(args.get(at)).unwrap_or_default();
    match args.len() {
        2 => decode_any(turn, text(1)),
        3 => match text(2).parse() {
            Ok(layout) => decode_number(turn, text(1), layout, None),
            Err(error) => turn.fail(&format!("ERR bad_field {error}")),
        },
        4 if args.is(2, "TAG") => {
            let (tag, id) = (text(3).to_owned(), text(1).to_owned());
            Outcome::Wait(Wanted::Decoded { tag, id })
        }
        _ => turn.syntax_error(),
    }
}

/// By what it looks like; a number by the server's layout too.
fn decode_any(turn: &mut Turn<'_>, id: &str) -> Outcome {
    let service = &turn.context.service;
    let readings: Vec<Reading> = service.recognise(id).iter().map(Reading::from).collect();
    let is_ours = service.number_of_layout(id).is_some();
    if is_ours || readings.is_empty() {
        return decode_number(turn, id, service.layout(), Some(&readings));
    }
    turn.reply.map(2);
    turn.reply.field("id", id);
    write_readings(&mut turn.reply, &readings);
    Outcome::Done
}

fn decode_number(
    turn: &mut Turn<'_>,
    id: &str,
    layout: Layout,
    readings: Option<&[Reading]>,
) -> Outcome {
    let service = &turn.context.service;
    let Some(number) = decimal(id) else {
        return turn.fail(BAD_ID);
    };
    let parts = match service.decode(number, layout) {
        Ok(parts) => parts,
        Err(error) => return turn.fail_of(&error, 1),
    };
    let marks = service.marks(layout, &parts);
    let reply = &mut turn.reply;
    let fields_len = if parts.data_center.is_some() { 10 } else { 8 };
    let fields_len = fields_len + usize::from(parts.shard.is_some());
    reply.map(fields_len + usize::from(readings.is_some()));
    write_parts(reply, number, layout, parts);
    write_texts(reply, "marks", marks.iter().map(ToString::to_string));
    if let Some(readings) = readings {
        write_readings(reply, readings);
    }
    Outcome::Done
}

fn write_parts(reply: &mut Reply<'_>, id: u64, layout: Layout, parts: Parts) {
    reply.field("id", id);
    reply.field("layout", layout);
    reply.field("time", time(parts.unix_ms));
    reply.field("unix_ms", parts.unix_ms);
    reply.field("tick", parts.tick);
    reply.bulk(b"worker_id");
    reply.number(parts.worker.get().into());
    if let Some(data_center) = parts.data_center {
        reply.bulk(b"data_center");
        reply.number(data_center.into());
        reply.bulk(b"worker_in_data_center");
        reply.number(parts.worker_in_data_center.into());
    }
    reply.field("sequence", parts.sequence);
    if let Some(shard) = parts.shard {
        reply.bulk(b"shard");
        reply.number(shard.into());
    }
}

fn write_readings(reply: &mut Reply<'_>, readings: &[Reading]) {
    reply.bulk(b"readings");
    reply.array(readings.len());
    for reading in readings {
        reply.map(4 + usize::from(reading.time.is_some()));
        reply.field("name", &reading.name);
        if let Some(time) = &reading.time {
            reply.field("time", time);
        }
        write_named(reply, &reading.parts);
        write_texts(reply, "marks", &reading.marks);
        reply.bulk(b"score");
        reply.number(reading.score.into());
    }
}

fn write_named(reply: &mut Reply<'_>, parts: &BTreeMap<String, String>) {
    reply.bulk(b"parts");
    reply.map(parts.len());
    for (name, value) in parts {
        reply.field(name, value);
    }
}

fn write_texts<T: AsRef<str>>(
    reply: &mut Reply<'_>,
    name: &str,
    texts: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
) {
    let texts = texts.into_iter();
    reply.bulk(name.as_bytes());
    reply.array(texts.len());
    for text in texts {
        reply.bulk(text.as_ref().as_bytes());
    }
}

/// Reads the tag, and decodes an id of it.
pub(super) async fn wait(turn: &mut Turn<'_>, tag: &str, id: &str) {
    let (service, caller) = (&turn.context.service, &turn.state.caller);
    match service.decode_of(caller, tag, id).await {
        Ok((found, marks)) => {
            let decoded = DecodedOfTag::new(id, tag, &found, &marks);
            write_id_of_tag(&mut turn.reply, &decoded);
        }
        Err(error) => drop(turn.fail_of(&error, 1)),
    }
}

fn write_id_of_tag(reply: &mut Reply<'_>, decoded: &DecodedOfTag) {
    let optional = [("number", &decoded.number), ("time", &decoded.time)];
    let optional = optional
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_ref()?)));
    reply.map(4 + optional.clone().count());
    reply.field("id", &decoded.id);
    reply.field("tag", &decoded.tag);
    for (name, value) in optional {
        reply.field(name, value);
    }
    write_named(reply, &decoded.parts);
    write_texts(reply, "marks", &decoded.marks);
}
