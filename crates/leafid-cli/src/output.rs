//! Answers on standard output: lines for people, JSON for scripts.

use std::io::{self, Write as _};

use serde::Serialize;

use crate::failure::Outcome;

/// Prints text as it is.
pub(crate) fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints a line.
pub(crate) fn line(text: &str) -> Outcome {
    print(&format!("{text}\n"))
}

/// Prints a value as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string(value).map_err(io::Error::from)?;
    line(&text)
}
