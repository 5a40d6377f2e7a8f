//! A line typed by hand, split into arguments by Redis's rules for quotes (`sdssplitargs`).

use std::ops::Range;

/// Appends the arguments of a line, without quotes, to `text`, and their ranges to `ranges`.
/// Returns false if a quotation mark is not closed, or is followed by anything but a space.
pub(super) fn split(line: &[u8], text: &mut Vec<u8>, ranges: &mut Vec<Range<usize>>) -> bool {
    let mut rest = line;
    loop {
        rest = skip_spaces(rest);
        if rest.is_empty() {
            return true;
        }
        let start = text.len();
        match word(rest, text) {
            Some(after) => rest = after,
            None => return false,
        }
        ranges.push(start..text.len());
    }
}

fn skip_spaces(line: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let len = line.iter().take_while(|byte| is_space(byte)).count();
    &line[len..]
}

/// Reads one argument, and returns the rest of the line; `None` if its quotes are unbalanced.
fn word<'a>(mut rest: &'a [u8], text: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let Some((byte, after)) = rest.split_first() else {
            return Some(rest);
        };
        rest = after;
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' | 0 => return Some(after),
            b'"' => return closed(double_quoted(after, text)?),
            b'\'' => return closed(single_quoted(after, text)?),
            other => text.push(*other),
        }
    }
}

/// Only a space may follow a closing quotation mark.
fn closed(rest: &[u8]) -> Option<&[u8]> {
    let is_end = skip_spaces(rest).len() < rest.len() || rest.is_empty();
    is_end.then_some(rest)
}

fn double_quoted<'a>(mut rest: &'a [u8], text: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [b'\\', b'x', high, low, after @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                text.push(digit(*high) << 4 | digit(*low));
                after
            }
            [b'\\', escaped, after @ ..] => {
                text.push(unescaped(*escaped));
                after
            }
            [b'"', after @ ..] => return Some(after),
            [byte, after @ ..] => {
                text.push(*byte);
                after
            }
            [] => return None,
        };
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], text: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [b'\\', b'\'', after @ ..] => {
                text.push(b'\'');
                after
            }
            [b'\'', after @ ..] => return Some(after),
            [byte, after @ ..] => {
                text.push(*byte);
                after
            }
            [] => return None,
        };
    }
}

fn digit(hex: u8) -> u8 {
    match hex {
        b'0'..=b'9' => hex - b'0',
        b'a'..=b'f' => hex - b'a' + 10,
        _ => hex - b'A' + 10,
    }
}

fn unescaped(escaped: u8) -> u8 {
    match escaped {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<&[&str]>) {
        let (mut text, mut ranges) = (Vec::new(), Vec::new());
        let is_balanced = split(line.as_bytes(), &mut text, &mut ranges);
        let words = ranges
            .into_iter()
            .map(|range| String::from_utf8_lossy(&text[range]).into_owned());
        let words: Vec<_> = words.collect();
        let expected = expected.map(|words| words.iter().map(ToString::to_string).collect());
        assert_eq!(is_balanced.then_some(words), expected, "{line:?}");
    }

    #[test]
    fn quotes_are_read_as_in_redis() {
        check("", Some(&[]));
        check("  INCR \t order ", Some(&["INCR", "order"]));
        check(r#"ECHO "a b""#, Some(&["ECHO", "a b"]));
        check(r#"EC"HO" ''"#, Some(&["ECHO", ""]));
        check(r#""\x41\n\q\"""#, Some(&["A\nq\""]));
        check(r#""\x4g""#, Some(&["x4g"]));
        check(r"'it\'s' '\n'", Some(&["it's", r"\n"]));
        check(r#""open"#, None);
        check(r"'open", None);
        check(r#""open\"#, None);
        check(r#""a"b"#, None);
        check("'a''b'", None);
    }
}
