//! Issuing a text allocates nothing but the text: here it has room already.

use leafid::Tag;
use leafid::format::CompileFormat;
use leafid_formats::{Formats, Keys};

use crate::{GEAR_MS, context};

#[test]
fn a_text_with_room_is_written_without_allocating() {
    let formats = Formats::new();
    formats.replace_keys(Keys::parse(&Keys::generate_line().unwrap()).unwrap());
    for template in [
        "{number radix=62}",
        "{zone Asia/Shanghai}SO-{date %Y-%m-%d %b}{number width=20}{check 97-10}",
        "{zone America/New_York}${date17}{worker width=4}{random 6}{unix_ms}{number}{check damm}",
        "{key}{opaque radix=36}{check 37-36}",
        "{key}{opaque}",
        "{gene fixed=32}",
        "{uuid8}",
    ] {
        let format = formats
            .compile(&Tag::new("order").unwrap(), template)
            .unwrap();
        let mut text = String::with_capacity(200);
        let mut write = |number: u64| {
            text.clear();
            format.write(number, &context(GEAR_MS), &mut text).unwrap();
        };
        // The dates of this time are rendered once.
        write(1);
        let measured = allocation_counter::measure(|| (2..100).for_each(&mut write));
        assert_eq!(measured.count_total, 0, "{template}");
    }
    let format = formats.compile(
        &Tag::new("order").unwrap(),
        "{date %Y}{number restart=year}",
    );
    let format = format.unwrap();
    format.period(GEAR_MS);
    let measured = allocation_counter::measure(|| {
        format.period(GEAR_MS);
    });
    assert_eq!(measured.count_total, 0);
}
