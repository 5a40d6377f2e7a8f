//! `shown`: a value that a caller sent, shortened for quoting in an error. Over gRPC an error is
//! sent as metadata, whose size clients limit.

use std::borrow::Cow;

/// The characters that are shown.
const SHOWN_LEN_MAX: usize = 100;

/// Returns at most a hundred characters of a text.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_LEN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut() {
        let text = "\u{e4}".repeat(SHOWN_LEN_MAX);
        assert_eq!(shown(&text), text);
        let longer = text.clone() + "a";
        assert_eq!(shown(&longer), text + "...");
    }
}
