//! `GearKey`: a row of ns4_gear_idgen as a template.

use crate::template::date::is_gear;

/// How ns4_gear_idgen writes the ids of one `gear_key` row, to be written as a template of
/// [`Formats`](crate::Formats).
///
/// The texts are those of ns4_gear_idgen, but for two: a number that is too long is an error and
/// not cut, and a row without room for a number is refused.
///
/// # Example
///
/// ```
/// use leafid_formats::GearKey;
///
/// let key = GearKey { prefix: "TS${date6}", suffix: "", length: 16, radix: 10 };
/// assert_eq!(key.template("Asia/Shanghai"), "{zone Asia/Shanghai}TS${date6}{number total=16}");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GearKey<'a> {
    /// `key_prefix`, empty for NULL: literal text with at most one date.
    pub prefix: &'a str,
    /// `key_suffix`, alike.
    pub suffix: &'a str,
    /// `key_length`: the characters of the whole text.
    pub length: u32,
    /// `key_digit`: 36 and 62; all others count as 10.
    pub radix: u32,
}

impl GearKey<'_> {
    /// The template of the row, with dates of this time zone: ns4_gear_idgen takes that of its
    /// process, which is `Asia/Shanghai` nearly always.
    #[must_use]
    pub fn template(&self, zone: &str) -> String {
        let radix = match self.radix {
            36 => "radix=36 ",
            62 => "radix=62 ",
            _ => "",
        };
        let (prefix, suffix) = (affix(self.prefix), affix(self.suffix));
        let length = self.length;
        format!("{{zone {zone}}}{prefix}{{number {radix}total={length}}}{suffix}")
    }
}

/// A prefix or suffix. Its date goes from the first `${` to the last `}`; one with an unknown name
/// is date17.
fn affix(text: &str) -> String {
    let text = text.trim();
    let parts = text.split_once("${").and_then(|(before, left)| {
        let (name, after) = left.rsplit_once('}')?;
        Some((before, name, after))
    });
    let Some((before, name, after)) = parts else {
        return literal(text);
    };
    let name = if is_gear(name) { name } else { "date17" };
    let (before, after) = (literal(before), literal(after));
    format!("{before}${{{name}}}{after}")
}

fn literal(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
