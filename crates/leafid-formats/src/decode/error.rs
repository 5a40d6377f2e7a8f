//! `DecodeError`: why a text is no id of a family.

/// Why a text is no id of a family.
///
/// # Example
///
/// ```
/// use leafid::Family;
/// use leafid_formats::decode;
///
/// let error = decode(Family::Ksuid, "0ujtsYcgvSTl8PAuAdqWYSMnLO").unwrap_err();
/// assert_eq!(error.to_string(), "the id has 26 characters and needs 27");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The length is wrong.
    #[error("the id has {found} characters and needs {expected}")]
    Length {
        /// How many it has.
        found: usize,
        /// How many the family has; a range such as `2 to 32` for some.
        expected: String,
    },
    /// A character is none of the family's.
    #[error("{character:?} at character {position} is not a character of such an id")]
    BadCharacter {
        /// The character.
        character: char,
        /// Where it begins, in bytes from 1.
        position: usize,
    },
    /// The number in the text needs more bits than the family has.
    #[error("the id is larger than any of {bits} bits")]
    TooLarge {
        /// The bits of the family's ids.
        bits: u32,
    },
    /// The UUID has another version.
    #[error("the UUID has version {found}, not {expected}")]
    Version {
        /// The version of the text.
        found: u8,
        /// The version of the family.
        expected: u8,
    },
    /// The UUID is not of the variant of RFC 9562.
    #[error("the variant of the UUID is not that of RFC 9562")]
    Variant,
    /// The prefix of a TypeID breaks the rules.
    #[error(
        "the prefix of a TypeID is 1 to 63 letters a to z, with underscores between them, and one \
         underscore after it"
    )]
    TypeIdPrefix,
    /// A date does not exist.
    #[error("the id begins with a date that does not exist")]
    Date,
    /// The text around the id is not that of the format.
    #[error("a text of this format begins with {before:?} and ends with {after:?}")]
    OtherText {
        /// What the format has before the id.
        before: String,
        /// What the format has after the id.
        after: String,
    },
}
