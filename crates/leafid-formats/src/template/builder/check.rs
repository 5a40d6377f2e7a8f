//! The check digit of a template: which one, and whether it can count what stands before it.

use leafid::format::{CheckDigit, FormatError};

use super::Builder;
use crate::number::Letters;
use crate::template::field::{Field, advice};
use crate::template::part::Part;

const CHECKS: [(&str, CheckDigit); 5] = [
    ("luhn", CheckDigit::Luhn),
    ("damm", CheckDigit::Damm),
    ("verhoeff", CheckDigit::Verhoeff),
    ("37-36", CheckDigit::Mod37_36),
    ("97-10", CheckDigit::Mod97_10),
];

impl<'a> Builder<'a> {
    pub(super) fn push_check(&mut self, field: &Field<'a>) -> Result<(), FormatError> {
        let known = CHECKS.iter().find(|(name, _)| *name == field.rest);
        let (name, check) = known.ok_or_else(|| {
            let known = CHECKS.map(|(name, _)| name);
            let advice = advice(field.rest, &known, |known| format!("{{check {known}}}"));
            field.error(format_args!("there is no such check digit{advice}"))
        })?;
        if self.parts.iter().any(|part| matches!(part, Part::Check(_))) {
            return Err(field.error("a format has one check digit: remove this one"));
        }
        if self.letters.is_empty() {
            return Err(field.error("nothing before it varies: move it after the number"));
        }
        let is_for_digits = !matches!(check, CheckDigit::Mod37_36 | CheckDigit::Mod97_10);
        for (letters, part) in &self.letters {
            if *letters != Letters::None && is_for_digits {
                return Err(field.error(format_args!(
                    "{name} counts digits only, and {{{part}}} writes letters: write {{check \
                    37-36}}, or decimal digits"
                )));
            }
            if *letters == Letters::BothCases {
                return Err(field.error(format_args!(
                    "{name} does not tell small letters from capital ones, as {{{part}}} does: \
                    write it with radix=36 or radix=crockford"
                )));
            }
        }
        self.parts.push(Part::Check(*check));
        Ok(())
    }
}
