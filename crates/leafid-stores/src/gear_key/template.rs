//! The texts of a row as a format, and a format as the texts of a row.
//!
//! A prefix or suffix is literal text with at most one date, from the first `${` to the last `}`.
//! The format is the one of `leafid_formats::GearKey`, which the tests compare.

use leafid::Limit;

/// The dates that ns4_gear_idgen knows; it writes any other as `date17`.
const DATES: [&str; 8] = [
    "date6", "date8", "date10", "date12", "date14", "date15", "date16", "date17",
];

/// The columns of a row that say how its ids are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) prefix: String,
    pub(super) suffix: String,
    /// The characters of the whole text.
    pub(super) length: i64,
    /// `10`, `36` or `62`; any other counts as 10.
    pub(super) digit: String,
}

impl Columns {
    /// The format of the row, with dates of this zone.
    pub(super) fn format(&self, zone: &str) -> String {
        let radix = match self.digit.as_str() {
            "36" => "radix=36 ",
            "62" => "radix=62 ",
            _ => "",
        };
        let (prefix, suffix) = (affix(&self.prefix), affix(&self.suffix));
        let length = self.length;
        format!("{{zone {zone}}}{prefix}{{number {radix}total={length}}}{suffix}")
    }

    /// The largest number that the format can write.
    pub(super) fn limit(&self) -> Limit {
        let texts = width(&self.prefix) + width(&self.suffix);
        let room = u32::try_from(self.length.saturating_sub(texts)).ok();
        let radix: u64 = match self.digit.as_str() {
            "36" => 36,
            "62" => 62,
            _ => 10,
        };
        let count = room.and_then(|room| radix.checked_pow(room));
        let largest = count.map_or(u64::MAX, |count| count - 1);
        Limit::new(largest).unwrap_or_default()
    }

    /// The columns of a row with this format; `None` if no row has it.
    pub(super) fn of(format: &str, zone: &str) -> Option<Self> {
        let text = format.strip_prefix(&format!("{{zone {zone}}}"))?;
        let (prefix, number, suffix) = split(text)?;
        let (digit, total) = match number.strip_prefix("radix=") {
            Some(radix) => radix.split_once(' ')?,
            None => ("10", number),
        };
        let columns = Self {
            prefix: unescaped(prefix),
            suffix: unescaped(suffix),
            length: total.strip_prefix("total=")?.parse().ok()?,
            digit: digit.to_owned(),
        };
        (columns.format(zone) == format).then_some(columns)
    }
}

/// The text before the number, what the number has after its name, and the text after it.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    const NUMBER: &str = "{number ";
    let is_part = |at: &usize| {
        let braces = text[..*at].bytes().rev().take_while(|byte| *byte == b'{');
        braces.count() % 2 == 0
    };
    let mut starts = text.match_indices(NUMBER).map(|(at, _)| at);
    let start = starts.find(is_part)?;
    let (number, suffix) = text[start + NUMBER.len()..].split_once('}')?;
    Some((&text[..start], number, suffix))
}

fn affix(text: &str) -> String {
    let text = text.trim();
    let Some((before, date, after)) = dated(text) else {
        return escaped(text);
    };
    format!("{}${{{date}}}{}", escaped(before), escaped(after))
}

/// How many characters a prefix or suffix writes: a date has as many as its name says.
fn width(text: &str) -> i64 {
    let text = text.trim();
    let count = |text: &str| i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let Some((before, date, after)) = dated(text) else {
        return count(text);
    };
    let digits = date.trim_start_matches("date").parse().unwrap_or(0_i64);
    count(before) + digits + count(after)
}

/// The date of a prefix or suffix, and the text before and after it.
fn dated(text: &str) -> Option<(&str, &str, &str)> {
    let (before, left) = text.split_once("${")?;
    let (name, after) = left.rsplit_once('}')?;
    let date = match DATES.contains(&name) {
        true => name,
        false => "date17",
    };
    Some((before, date, after))
}

fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// A prefix or suffix that has this text in a format, if there is one.
fn unescaped(text: &str) -> String {
    text.replace("{{", "{").replace("}}", "}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(prefix: &str, suffix: &str, length: i64, digit: &str) -> Columns {
        Columns {
            prefix: prefix.to_owned(),
            suffix: suffix.to_owned(),
            length,
            digit: digit.to_owned(),
        }
    }

    fn check(columns: &Columns, format: &str) {
        assert_eq!(columns.format("UTC"), format);
        assert_eq!(Columns::of(format, "UTC").as_ref(), Some(columns));
        assert_eq!(Columns::of(format, "+08:00"), None);
    }

    #[test]
    fn columns_become_a_format_and_come_back() {
        check(
            &columns("TS${date6}", "", 16, "10"),
            "{zone UTC}TS${date6}{number total=16}",
        );
        check(
            &columns("T${date12}", "$", 26, "36"),
            "{zone UTC}T${date12}{number radix=36 total=26}$",
        );
        check(
            &columns("{a}", "}${date17}", 40, "62"),
            "{zone UTC}{{a}}{number radix=62 total=40}}}${date17}",
        );
        check(&columns("", "", 20, "10"), "{zone UTC}{number total=20}");
        check(
            &columns("{number total=5}", "", 20, "10"),
            "{zone UTC}{{number total=5}}{number total=20}",
        );
    }

    #[test]
    fn what_gear_writes_as_something_else_is_that() {
        let odd = columns(" A${foo}B", "${date6}x} ", 30, "16");
        let format = "{zone UTC}A${date17}B{number total=30}${date17}";
        assert_eq!(odd.format("UTC"), format);
    }

    #[test]
    fn the_room_for_a_number_is_its_limit() {
        let check = |prefix, suffix, length, digit, largest| {
            let columns = columns(prefix, suffix, length, digit);
            assert_eq!(columns.limit().largest(), largest, "{columns:?}");
        };
        let all = Limit::INT64.largest();
        check("TS${date6}", "", 16, "10", 99_999_999);
        check(" T${date12}", "${x}$ ", 32, "36", 35);
        check("", "", 5, "62", 62 * 62 * 62 * 62 * 62 - 1);
        check("", "", 20, "10", all);
        check("${date17}", "", 16, "10", all);
    }

    #[test]
    fn other_formats_are_of_no_row() {
        for format in [
            "{number total=16}",
            "{zone UTC}{number}",
            "{zone UTC}{number width=16}",
            "{zone UTC}{number radix=58 total=16}",
            "{zone UTC}{date %Y}{number total=16}",
            "{zone UTC}${date6}${date6}{number total=16}",
            "{zone UTC} {number total=16}",
            "{zone UTC}x",
            "",
        ] {
            assert_eq!(Columns::of(format, "UTC"), None, "{format}");
        }
    }
}
