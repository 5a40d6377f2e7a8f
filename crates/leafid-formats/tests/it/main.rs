//! Formats from the outside, by the text of a template.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test ends at the first surprise, and prints its seed"
)]

mod allocations;
mod calendar;
mod dates;
mod fuzz;
mod gear;
mod numbers;
mod opaque;
mod random_templates;
mod refused;
mod rfc9562;
mod sqids;
mod template;

use std::sync::Arc;

use leafid::format::{CompileFormat, FormatContext, IdFormat};
use leafid::{Tag, WorkerId};
use leafid_formats::Formats;

/// 2019-10-11T23:22:18.079+08:00, the time of the vectors of ns4_gear_idgen.
const GEAR_MS: u64 = 1_570_807_338_079;

fn compile(template: &str) -> Arc<dyn IdFormat> {
    let tag = Tag::new("order").unwrap();
    let format = Formats::new().compile(&tag, template);
    format.unwrap_or_else(|error| panic!("{template}: {error}"))
}

fn context(unix_ms: u64) -> FormatContext {
    FormatContext {
        unix_ms,
        worker_id: Some(WorkerId::new(39)),
    }
}

fn write(format: &dyn IdFormat, number: u64, unix_ms: u64) -> String {
    let mut text = String::new();
    let written = format.write(number, &context(unix_ms), &mut text);
    written.unwrap_or_else(|error| panic!("{number}: {error}"));
    text
}

/// A template writes a number as this text, at the time of the vectors, and reads it back.
fn check(template: &str, number: u64, text: &str) {
    let format = compile(template);
    assert_eq!(write(&*format, number, GEAR_MS), text, "{template}");
    assert_eq!(format.read(text), Ok(number), "{template} {text}");
}
