//! A family as the generator of a tag.

use leafid::format::{FormatError, TextGenerator};

use super::{Families, FamilyFormat};

/// The ids of one tag of a family.
#[derive(Debug)]
pub(crate) struct FamilyGenerator {
    pub(crate) families: Families,
    pub(crate) format: FamilyFormat,
}

impl TextGenerator for FamilyGenerator {
    fn push_next(&self, text: &mut String) -> Result<(), FormatError> {
        let pushed = self.families.push_next(&self.format, text);
        pushed.map_err(|error| FormatError::Unavailable(error.to_string()))
    }

    fn text_len_max(&self) -> usize {
        self.format.text_len()
    }
}
