//! `Escaped`: a text from outside, safe to show in a log line, an error text, a table or a
//! terminal. Characters that are invisible, or change how others are shown, are escaped.

use std::fmt::{self, Write as _};

/// A text whose invisible characters are written as `\u{202e}`: control characters, line and
/// paragraph separators, bidirectional controls, and all others that Unicode ignores by default.
///
/// # Example
///
/// ```
/// use leafid::Escaped;
///
/// assert_eq!(Escaped("order\u{202e}\n").to_string(), r"order\u{202e}\u{a}");
/// assert_eq!(Escaped("\u{8ba2}\u{5355} 2026").to_string(), "\u{8ba2}\u{5355} 2026");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Escaped<'a>(pub &'a str);

impl Escaped<'_> {
    /// Whether a character is escaped.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::Escaped;
    ///
    /// assert!(Escaped::is_invisible('\u{2028}'));
    /// assert!(!Escaped::is_invisible(' '));
    /// ```
    #[must_use]
    pub const fn is_invisible(c: char) -> bool {
        c.is_ascii_control() || (!c.is_ascii() && is_ignored(c))
    }
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(Self::is_invisible) {
            f.write_str(&rest[..at])?;
            let mut others = rest[at..].chars();
            for c in others.next().into_iter().flat_map(char::escape_unicode) {
                f.write_char(c)?;
            }
            rest = others.as_str();
        }
        f.write_str(rest)
    }
}

/// `Default_Ignorable_Code_Point` of Unicode 16 (DerivedCoreProperties.txt), and what it leaves
/// out of the categories Cc, Zl and Zp and of the block Specials: C1 controls, U+2028, U+2029 and
/// the annotation characters. The bidirectional controls of UAX #9 are all among them.
const fn is_ignored(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards the kinds of characters that could disguise a name, and letters that look odd.
    #[test]
    fn what_cannot_be_seen_is_written_out() {
        let invisible = [
            '\n',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}', // controls
            '\u{2028}',
            '\u{2029}', // separators of lines and paragraphs
            '\u{61c}',
            '\u{200e}',
            '\u{200f}',
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{ad}',
            '\u{200b}',
            '\u{200d}',
            '\u{2060}',
            '\u{feff}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{fff9}',
            '\u{e0041}',
        ];
        for c in invisible {
            assert!(Escaped::is_invisible(c), "{c:?}");
            let text = format!("a{c}b");
            let expected = format!("a\\u{{{:x}}}b", u32::from(c));
            assert_eq!(Escaped(&text).to_string(), expected);
        }
        let visible =
            "order-1_\u{e9}\u{8ba2}\u{5355}\u{5d0}\u{627}\u{600}\u{1f600} \u{3000}\u{fffd}\\";
        assert_eq!(Escaped(visible).to_string(), visible);
    }
}
