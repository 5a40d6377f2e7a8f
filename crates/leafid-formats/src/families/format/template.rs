//! The text of a family's format: literal text, one `{id ...}`, literal text.

use leafid::format::FormatError;

/// The longest text of a format, in bytes.
const TEMPLATE_LEN_MAX: usize = 255;

/// The longest prefix of a TypeID, without its underscore. Source: the TypeID specification 0.3.
const TYPE_ID_PREFIX_LEN_MAX: usize = 63;

/// A format in its parts. Positions are in characters, from 1.
#[derive(Debug)]
pub(super) struct Template<'text> {
    /// The literal text before the id, without doubled braces.
    pub(super) before: String,
    pub(super) after: String,
    /// `name=value` of the id, each with its position.
    pub(super) options: Vec<(usize, &'text str)>,
}

/// An error at a position.
pub(super) fn invalid(position: usize, reason: impl std::fmt::Display) -> FormatError {
    FormatError::Invalid(format!("at character {position}: {reason}"))
}

impl<'text> Template<'text> {
    pub(super) fn parse(text: &'text str) -> Result<Self, FormatError> {
        if text.len() > TEMPLATE_LEN_MAX {
            let reason = format!("a format has at most {TEMPLATE_LEN_MAX} bytes: shorten it");
            return Err(FormatError::Invalid(reason));
        }
        let mut template = Self {
            before: String::new(),
            after: String::new(),
            options: Vec::new(),
        };
        let mut has_id = false;
        let mut at = 0;
        while let Some(sign) = text[at..].chars().next() {
            let rest = &text[at..];
            let position = text[..at].chars().count() + 1;
            let literal = if has_id {
                &mut template.after
            } else {
                &mut template.before
            };
            if rest.starts_with("{{") || rest.starts_with("}}") {
                literal.push(sign);
                at += 2;
            } else if sign == '{' {
                let end = part_end(rest, position)?;
                template.options = id_options(&rest[1..end], position)?;
                if has_id {
                    return Err(invalid(position, "a second {id}: keep one"));
                }
                has_id = true;
                at += end + 1;
            } else if sign == '}' {
                return Err(invalid(
                    position,
                    "a closing brace without an opening one: write }} for a brace",
                ));
            } else if sign.is_control() {
                return Err(invalid(position, "a control character: remove it"));
            } else {
                literal.push(sign);
                at += sign.len_utf8();
            }
        }
        match has_id {
            true => Ok(template),
            false => Err(invalid(
                text.chars().count() + 1,
                "no {id}: write it where the id belongs",
            )),
        }
    }

    /// The rules for the prefix of a TypeID.
    pub(super) fn check_type_id(&self) -> Result<(), FormatError> {
        let form = self
            .options
            .iter()
            .find(|(_, word)| word.starts_with("form="));
        let position = form.map_or(1, |(position, _)| *position);
        let refuse = |reason: String| Err(invalid(position, format!("form=typeid: {reason}")));
        if !self.after.is_empty() {
            return refuse(format!(
                "a TypeID ends with its id: remove {:?}",
                self.after
            ));
        }
        if self.before.is_empty() {
            return Ok(());
        }
        let Some(prefix) = self.before.strip_suffix('_') else {
            return refuse(format!(
                "an underscore ends the prefix: write {}_",
                self.before
            ));
        };
        match is_type_id_prefix(prefix) {
            true => Ok(()),
            false => refuse(format!(
                "a prefix is 1 to {TYPE_ID_PREFIX_LEN_MAX} letters a to z, with underscores \
                 between them: change {prefix:?}"
            )),
        }
    }
}

/// Whether a TypeID may have this prefix, given without its underscore.
pub(crate) fn is_type_id_prefix(prefix: &str) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_lowercase();
    let bytes = prefix.as_bytes();
    bytes.len() <= TYPE_ID_PREFIX_LEN_MAX
        && bytes.iter().all(|byte| is_letter(byte) || *byte == b'_')
        && bytes.first().is_some_and(is_letter)
        && bytes.last().is_some_and(is_letter)
}

/// Where the `}` of a part is.
fn part_end(rest: &str, position: usize) -> Result<usize, FormatError> {
    let reason = "the brace is not closed: close it, or write {{ for a brace";
    rest.find('}').ok_or_else(|| invalid(position, reason))
}

/// The options within `{id ...}`, whose brace is at a position.
fn id_options(part: &str, at: usize) -> Result<Vec<(usize, &str)>, FormatError> {
    let mut words = part.split(' ').scan(at, |position, word| {
        let begins = *position;
        *position += word.chars().count() + 1;
        Some((begins + 1, word))
    });
    match words.next() {
        Some((_, "id")) => Ok(words.filter(|(_, word)| !word.is_empty()).collect()),
        _ => {
            let reason = format!("{{{part}}} is not a part of a family's format: write {{id}}");
            Err(invalid(at, reason))
        }
    }
}
