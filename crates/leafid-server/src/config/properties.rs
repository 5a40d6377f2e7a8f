//! The syntax of Java properties files, as `java.util.Properties.load` reads it.

/// One entry, with the line it starts on, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) line: usize,
}

/// Parses a file. Its bytes are Latin-1, as Java reads them: other characters are `\uXXXX`.
///
/// # Errors
///
/// A `\u` without four hexadecimal digits, with its line.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Property>, String> {
    let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    let mut properties = Vec::new();
    for (line, logical) in logical_lines(&text) {
        let (key, value) = split(&logical);
        let unescaped = |text: &str| unescape(text).map_err(|problem| format!("{line}: {problem}"));
        properties.push(Property {
            key: unescaped(key)?,
            value: unescaped(value)?,
            line,
        });
    }
    Ok(properties)
}

/// Lines with their continuations, without comments and blank lines; each with its number.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut logical = Vec::new();
    let mut lines = text.split('\n').enumerate();
    while let Some((index, line)) = lines.next() {
        let mut whole = line.trim_start_matches(is_blank).to_owned();
        if whole.is_empty() || whole.starts_with(['#', '!']) {
            continue;
        }
        while continues(&whole) {
            whole.pop();
            let Some((_, next)) = lines.next() else { break };
            whole.push_str(next.trim_start_matches(is_blank));
        }
        logical.push((index + 1, whole));
    }
    logical
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

/// An odd number of backslashes at the end joins the next line.
fn continues(line: &str) -> bool {
    let backslashes = line.len() - line.trim_end_matches('\\').len();
    backslashes % 2 == 1
}

/// Splits at the first `=`, `:` or blank that no backslash escapes.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.char_indices().find(|(_, c)| {
        let is_end = !escaped && (matches!(c, '=' | ':') || is_blank(*c));
        escaped = *c == '\\' && !escaped;
        is_end
    });
    let Some((end, _)) = end else {
        return (line, "");
    };
    let value = line[end..].trim_start_matches(is_blank);
    let value = value.strip_prefix(['=', ':']).unwrap_or(value);
    (&line[..end], value.trim_start_matches(is_blank))
}

fn unescape(text: &str) -> Result<String, String> {
    // UTF-16, because a character outside the basic plane is two escapes.
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let c = match (c, rest.clone().next()) {
            ('\\', Some('u')) => {
                rest.next();
                let digits: String = rest.by_ref().take(4).collect();
                units.push(hexadecimal(&digits)?);
                continue;
            }
            ('\\', Some(next)) => {
                rest.next();
                escaped(next)
            }
            ('\\', None) => continue,
            (c, _) => c,
        };
        units.extend(c.encode_utf16(&mut [0; 2]).iter());
    }
    Ok(String::from_utf16_lossy(&units))
}

fn hexadecimal(digits: &str) -> Result<u16, String> {
    let is_hexadecimal = digits.len() == 4 && digits.chars().all(|c| c.is_ascii_hexdigit());
    let unit = u16::from_str_radix(digits, 16)
        .ok()
        .filter(|_| is_hexadecimal);
    unit.ok_or_else(|| "\\u must be followed by four hexadecimal digits".to_owned())
}

const fn escaped(c: char) -> char {
    match c {
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        'f' => '\u{c}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str, usize)]) {
        let actual = parse(text.as_bytes()).unwrap();
        let actual: Vec<_> = actual
            .iter()
            .map(|property| (&*property.key, &*property.value, property.line))
            .collect();
        assert_eq!(actual, expected, "{text:?}");
    }

    /// Guards the rules of `java.util.Properties.load`, one by one.
    #[test]
    fn the_syntax_is_that_of_java() {
        check("a=b", &[("a", "b", 1)]);
        check("a = b", &[("a", "b", 1)]);
        check("a:b", &[("a", "b", 1)]);
        check("a b", &[("a", "b", 1)]);
        check("a\t:\u{c} b c ", &[("a", "b c ", 1)]);
        check("a", &[("a", "", 1)]);
        check("a==b", &[("a", "=b", 1)]);
        check("a = =b", &[("a", "=b", 1)]);
        check("  a=b", &[("a", "b", 1)]);
        check("# c\n ! c\n\na=b", &[("a", "b", 4)]);
        check("a=b # no comment", &[("a", "b # no comment", 1)]);
        check("a=b\\\n   c\nd=e", &[("a", "bc", 1), ("d", "e", 3)]);
        check("a=b\\\\\nc=d", &[("a", "b\\", 1), ("c", "d", 2)]);
        check("a=b\\\n# c", &[("a", "b# c", 1)]);
        check("a=b\\", &[("a", "b", 1)]);
        check("a\\ b\\=c=d", &[("a b=c", "d", 1)]);
        check("a=\\t\\n\\q\\\\", &[("a", "\t\nq\\", 1)]);
        check("a=\\u0041\\ud83d\\ude00", &[("a", "A😀", 1)]);
        check(
            "a=1\r\nb=2\rc=3",
            &[("a", "1", 1), ("b", "2", 2), ("c", "3", 3)],
        );
        check("=b", &[("", "b", 1)]);
    }

    #[test]
    fn bytes_are_latin_1() {
        assert_eq!(parse(b"a=\xe9").unwrap()[0].value, "é");
    }

    #[test]
    fn a_bad_escape_is_a_mistake() {
        for text in ["a=\\u12", "a=\\u12g4", "x=1\na=\\u+123"] {
            let problem = parse(text.as_bytes()).unwrap_err();
            assert!(problem.contains("four hexadecimal digits"), "{problem}");
        }
    }
}
