//! Ids as text and back: digits of several radixes, check digits, and the contract of a tag's
//! format. Pure functions of their input: no clock, no state, **thread-safe**.
//!
//! ```
//! use leafid::format::{CheckDigit, Radix};
//!
//! let mut text = String::from("SO-");
//! Radix::Base36.push(2_576_460, 8, &mut text);
//! CheckDigit::Mod37_36.push(&mut text)?;
//! assert_eq!(text, "SO-0001j80cN");
//!
//! let text = CheckDigit::Mod37_36.strip(&text)?;
//! assert_eq!(Radix::Base36.parse(&text[3..])?, 2_576_460);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check_digit;
mod form;
mod id_format;
mod radix;

pub use check_digit::{CheckDigit, CheckDigitError};
pub use form::{Form, TextGenerator};
pub use id_format::{
    CompileFormat, FormatCompiler, FormatContext, FormatError, IdFormat, Period, TextParts,
};
pub use radix::{ParseRadixError, Radix};

/// More than most texts have, in bytes.
const TEXT_LEN_MAX: usize = 256;
