//! ns4_gear_idgen @ b271bfb, executed: its prefixes, suffixes and lengths give its texts.

use leafid::format::FormatError;
use leafid_formats::GearKey;

use crate::{GEAR_MS, check, compile, context};

/// Gear cuts 66311 to 6311 and 1234567 to 34567 here, and so repeats.
#[test]
fn what_gear_cuts_is_an_error() {
    for (prefix, length, number) in [("${date6}", 10, 66_311), ("", 5, 1_234_567)] {
        let key = GearKey {
            prefix,
            suffix: "",
            length,
            radix: 10,
        };
        let format = compile(&key.template("Asia/Shanghai"));
        let error = format.write(number, &context(GEAR_MS), &mut String::new());
        assert!(matches!(error, Err(FormatError::TooLong(_))), "{error:?}");
    }
}

#[test]
fn rows_give_the_texts_of_gear() {
    let row = |prefix: &str, suffix: &str, length: u32, radix: u32, number: u64, text: &str| {
        let key = GearKey {
            prefix,
            suffix,
            length,
            radix,
        };
        check(&key.template("Asia/Shanghai"), number, text);
    };
    row("${date6}", "", 20, 10, 521_217, "19101100000000521217");
    row("${date14}", "", 22, 10, 181_578, "2019101123221800181578");
    row(
        "T${date12}",
        "$",
        26,
        10,
        181_491,
        "T191011232218000000181491$",
    );
    row("TS${date6}", "", 16, 10, 181_687, "TS19101100181687");
    row(
        "${date17}",
        "",
        26,
        10,
        181_534,
        "20191011232218079000181534",
    );
    row("${date6}", "", 20, 36, 2_576_460, "1910110000000001j80c");
    row("${date6}", "", 20, 62, 2_576_460, "1910110000000000aOfO");
    row("A${foo}B", "", 30, 10, 7, "A20191011232218079B00000000007");
    row("${date12}", "", 17, 10, 66_311, "19101123221866311");
    row(" ${date8} ", " {x} ", 16, 11, 7, "1910112300007{x}");
    row("a${date6}b}c", "", 25, 10, 7, "a20191011232218079c000007");
    row("$", "${", 8, 10, 7, "$00007${");
}

#[test]
fn each_date_is_that_of_gear() {
    let date = |name: &str, text: &str| {
        let template = format!("{{zone Asia/Shanghai}}${{{name}}}-{{number}}");
        check(&template, 7, &format!("{text}-7"));
    };
    date("date6", "191011");
    date("date8", "19101123");
    date("date10", "1910112322");
    date("date12", "191011232218");
    date("date14", "20191011232218");
    date("date15", "191011232218079");
    date("date16", "0191011232218079");
    date("date17", "20191011232218079");
}
