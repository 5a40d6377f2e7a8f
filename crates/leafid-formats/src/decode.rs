//! `decode`: the text of an id of a family to its parts. Strict: a text that the family cannot have
//! written is refused, and never cut or wrapped to fit.

mod error;
mod forms;
mod parts;
mod read_digits;
mod uuid_parts;

use leafid::Family;

use crate::families::{FamilyFormat, Form};
pub use error::DecodeError;
pub(crate) use forms::{old_object_id, tsid_parts, type_id};
pub use parts::{Decoded, Part, PartValue};
pub(crate) use uuid_parts::{is_rfc_9562, uuid};

/// Decodes the text of an id of a family, in any of the forms that the family has. Letters may be
/// small or capital where the family's specification says so.
///
/// # Errors
///
/// [`DecodeError`] for a text that no id of the family has: a wrong length or character, a number
/// beyond its bits, another UUID version.
///
/// # Example
///
/// ```
/// use leafid::Family;
/// use leafid_formats::{DecodeError, decode};
///
/// let decoded = decode(Family::Ulid, "01ARZ3NDEKTSV4RRFFQ69G5FAV")?;
/// assert_eq!(decoded.unix_ms, Some(1_469_922_850_259));
///
/// let error = decode(Family::Ulid, "8ZZZZZZZZZZZZZZZZZZZZZZZZZ").unwrap_err();
/// assert_eq!(error, DecodeError::TooLarge { bits: 128 });
/// # Ok::<(), DecodeError>(())
/// ```
pub fn decode(family: Family, text: &str) -> Result<Decoded, DecodeError> {
    let forms = Form::of(family);
    let mut errors = Vec::new();
    for form in &forms {
        match forms::decode(family, form, text) {
            Ok(decoded) => return Ok(decoded),
            Err(error) => errors.push(error),
        }
    }
    // The error of the form that the text was most likely meant to have.
    let closest = errors
        .iter()
        .position(|error| !matches!(error, DecodeError::Length { .. }));
    Err(errors.swap_remove(closest.unwrap_or(0)))
}

impl FamilyFormat {
    /// Decodes a text that this format may have written.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for every other text.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::Family;
    /// use leafid_formats::FamilyFormat;
    ///
    /// let format = FamilyFormat::compile(Family::Uuid7, Some("order_{id form=typeid}"))?;
    /// let decoded = format.decode("order_01h455vb4pex5vsknk084sn02q")?;
    /// assert_eq!(decoded.unix_ms, Some(1_688_096_058_518));
    /// assert!(format.decode("01h455vb4pex5vsknk084sn02q").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(&self, text: &str) -> Result<Decoded, DecodeError> {
        let id = text
            .strip_prefix(self.before())
            .and_then(|rest| rest.strip_suffix(self.after()))
            .ok_or_else(|| DecodeError::OtherText {
                before: self.before().to_owned(),
                after: self.after().to_owned(),
            })?;
        let decoded = forms::decode(self.family(), self.form(), id)?;
        match text.len() == self.text_len() {
            true => Ok(decoded),
            // A friendly CosId without leading zeros, which this format does not write.
            false => Err(DecodeError::Length {
                found: text.len(),
                expected: self.text_len().to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod suites;
#[cfg(test)]
mod tests;
