//! Numbers to text, each way beside the bare crate, in one text that is used again: what it
//! allocates is the format's.
//!
//! ```text
//! cargo bench -p leafid-formats
//! ```

use std::sync::Arc;

use aes::Aes256;
use divan::{AllocProfiler, Bencher, black_box};
use fpe::ff1::{FF1, FlexibleNumeralString};
use leafid::format::{CompileFormat, FormatContext, IdFormat, Radix};
use leafid::{Tag, WorkerId};
use leafid_formats::{Formats, Keys};
use sqids::Sqids;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const KEY: &str = "imJ2 = 2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94";

/// A snowflake id of today, and so many steps on.
const FIRST: u64 = 660_125_991_150_026_752;

fn main() {
    divan::main();
}

/// Numbers in a row, each into the same text.
fn each(bencher: Bencher<'_, '_>, mut write: impl FnMut(u64, &mut String)) {
    let mut text = String::with_capacity(128);
    let mut number = FIRST;
    bencher.bench_local(|| {
        number += 1;
        text.clear();
        write(black_box(number), &mut text);
        black_box(text.len())
    });
}

fn compile(template: &str) -> Arc<dyn IdFormat> {
    let formats = Formats::new();
    formats.replace_keys(Keys::parse(KEY).expect("a key"));
    let tag = Tag::new("order").expect("a tag");
    formats.compile(&tag, template).expect("a template")
}

#[divan::bench]
fn itoa(bencher: Bencher<'_, '_>) {
    each(bencher, |number, text| {
        text.push_str(itoa::Buffer::new().format(number));
    });
}

#[divan::bench(args = [Radix::Decimal, Radix::Base36, Radix::Base62, Radix::Crockford32])]
fn radix(bencher: Bencher<'_, '_>, radix: Radix) {
    each(bencher, |number, text| radix.push(number, 0, text));
}

#[divan::bench(args = [
    "{number}",
    "{number radix=62}",
    "SO-{number width=20}",
    "{number radix=36}",
    "{number radix=58}",
    "{number radix=crockford}",
    "SO-{number}{check luhn}",
    "SO-{number}{check damm}",
    "SO-{number}{check verhoeff}",
    "SO-{number}{check 37-36}",
    "SO-{number}{check 97-10}",
    "{worker width=4}{number}",
    "{random 6}{number}",
    "{unix_ms}{number}",
    "{gene fixed=25}",
    "SO-{date %Y%m%d}-{number}",
    "{zone Asia/Shanghai}${date17}{number}",
    "{opaque key=imJ2}",
    "{opaque key=imJ2 radix=36}",
    "{opaque key=imJ2 radix=62}",
    "{opaque key=imJ2 radix=63bit}",
    "{key}{opaque radix=62}",
    "{sqids}",
    "{uuid8}",
    "{uuid3 namespace=url}",
    "{uuid5 namespace=url}",
])]
fn template(bencher: Bencher<'_, '_>, template: &str) {
    let format = compile(template);
    // A gene takes bits of the number.
    let shift = FIRST.ilog2().saturating_sub(format.largest().ilog2() - 1);
    let mut unix_ms = 1_570_807_338_079;
    each(bencher, |number, text| {
        // A million ids a second: the clock goes on by a millisecond each thousand.
        unix_ms += u64::from(number.is_multiple_of(1000));
        let context = FormatContext {
            unix_ms,
            worker_id: Some(WorkerId::new(39)),
        };
        format
            .write(number >> shift, &context, text)
            .expect("a number that fits");
    });
}

#[divan::bench]
fn calendar_counter(bencher: Bencher<'_, '_>) {
    let format = compile("{zone Asia/Shanghai}{date %Y%m%d}{number width=9 restart=day}");
    let context = FormatContext {
        unix_ms: 1_570_807_338_079,
        worker_id: None,
    };
    each(bencher, |number, text| {
        let period = format.period(black_box(context.unix_ms)).expect("a period");
        let number = period.first + number % 1_000_000;
        format
            .write(number, &context, text)
            .expect("a number that fits");
    });
}

#[divan::bench(args = [10, 36, 62])]
fn bare_fpe(bencher: Bencher<'_, '_>, radix: u32) {
    let cipher = FF1::<Aes256>::new(&[0x2b; 32], radix).expect("a radix");
    let width = match radix {
        10 => 19,
        36 => 13,
        _ => 11,
    };
    let digits = Radix::Base62.digits().as_bytes();
    each(bencher, |number, text| {
        let mut left = number;
        let mut numerals = vec![0; width];
        for numeral in numerals.iter_mut().rev() {
            *numeral = u16::try_from(left % u64::from(radix)).expect("a numeral");
            left /= u64::from(radix);
        }
        let plain = FlexibleNumeralString::from(numerals);
        let encrypted = cipher.encrypt(b"order", &plain).expect("enough numerals");
        let numerals = Vec::from(encrypted);
        text.extend(
            numerals
                .iter()
                .map(|numeral| char::from(digits[usize::from(*numeral)])),
        );
    });
}

#[divan::bench]
fn bare_sqids(bencher: Bencher<'_, '_>) {
    let sqids = Sqids::default();
    each(bencher, |number, text| {
        text.push_str(&sqids.encode(&[number]).expect("a Sqid"));
    });
}
