//! Opaque ids of numbers in a row: that no two are alike, and how long one takes.

use std::ops::Range;
use std::time::Instant;

use leafid::Tag;
use leafid::format::{CompileFormat as _, FormatContext};
use leafid_formats::{Formats, Keys};

const KEY: &str = "imJ2 = 2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94";

pub(crate) fn run() {
    println!("| format | numbers | distinct texts | ns an id |\n| --- | --- | --- | --- |");
    // All that six digits can write, and ten million of more.
    print("{opaque width=6 key=imJ2}", 0..1_000_000);
    print("{opaque width=8 key=imJ2}", 5_000_000..15_000_000);
    print("{opaque key=imJ2}", 1..10_000_001);
}

fn print(template: &str, numbers: Range<u64>) {
    let len = numbers.end - numbers.start;
    let formats = Formats::new();
    formats.replace_keys(Keys::parse(KEY).expect("a key"));
    let tag = Tag::new("order").expect("a tag");
    let format = formats.compile(&tag, template).expect("a format");
    let context = FormatContext::default();
    let mut texts = Vec::with_capacity(usize::try_from(len).expect("a count"));
    let mut text = String::new();
    let began = Instant::now();
    for number in numbers {
        text.clear();
        let written = format.write(number, &context, &mut text);
        written.expect("within the domain");
        texts.push(text.parse::<u64>().expect("digits"));
    }
    #[expect(clippy::cast_precision_loss, reason = "a figure needs no 53 bits")]
    let each_ns = began.elapsed().as_nanos() as f64 / len as f64;
    texts.sort_unstable();
    texts.dedup();
    println!("| `{template}` | {len} | {} | {each_ns:.0} |", texts.len());
    assert_eq!(texts.len() as u64, len, "two numbers have one text");
}
