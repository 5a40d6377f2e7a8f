//! `wrong_value`: the words for an option of a format whose value is none that it may have.

use std::fmt::Display;

/// Says what an option is, and what it must be.
pub(crate) fn wrong_value(name: &str, value: &str, wanted: impl Display) -> String {
    let value = if value.is_empty() { "empty" } else { value };
    format!("{name} is {value}, but must be {wanted}")
}
