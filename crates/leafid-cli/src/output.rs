//! Answers on standard output: lines for people, JSON for scripts.

use std::io::{self, Write as _};

use leafid::Escaped;
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

/// Prints a note on something that otherwise succeeds, on standard error.
pub(crate) fn note(text: &str) {
    let line = format!("note: {}\n", Escaped(text));
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Prints names and values, one on each line, those that are there; characters from outside are
/// escaped.
pub(crate) fn fields<const COUNT: usize>(fields: [(&str, Option<String>); COUNT]) -> Outcome {
    let width = fields.iter().map(|(name, _)| name.len() + 2).max();
    let width = width.unwrap_or_default().max(16);
    let line = |(name, value): (&str, Option<String>)| {
        value.map(|value| format!("{name:<width$}{}\n", Escaped(&value)))
    };
    print(&fields.into_iter().filter_map(line).collect::<String>())
}

/// Prints a table; characters from outside are escaped.
pub(crate) fn table<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> Outcome {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(header);
    for row in rows {
        table.add_row(row.map(|cell| Escaped(&cell).to_string()));
    }
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    print(&lines.collect::<String>())
}

/// Prints a value as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string(value).map_err(io::Error::from)?;
    line(&text)
}
