//! `shown`: what a caller sent, as an error quotes it: short, however long it was. Over
//! gRPC an error stands in the metadata, which clients take only little of.

use std::borrow::Cow;

/// Characters of it.
const SHOWN_LEN_MAX: usize = 100;

/// At most a hundred characters of a text.
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
