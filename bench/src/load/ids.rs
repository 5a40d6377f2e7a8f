//! `Expected`: whether the id in an answer is one that may be there, and how many answers were none.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

/// Ids above this are counted and not checked: a bit for each is 256 MiB then.
const CHECKED_MAX: u64 = 1 << 31;

/// What may be answered, and how often something else was.
pub(crate) struct Expected {
    answers: Answers,
    failures: u64,
}

enum Answers {
    /// Always this one: a server that issues nothing.
    Constant(u64),
    /// Numbers, each only once.
    Ids(Ids),
    /// Texts, each only once.
    Texts(Texts),
}

/// Which texts have come, by their hashes: of ten million, two have the same with a probability of
/// one in 400,000.
#[derive(Default)]
pub(crate) struct Texts {
    hasher: RandomState,
    seen: HashSet<u64>,
    repeated: u64,
}

/// Which ids have come; they begin near 0 and leave few gaps.
#[derive(Default)]
pub(crate) struct Ids {
    seen: Vec<u64>,
    repeated: u64,
}

impl Expected {
    /// Always this number.
    pub(crate) fn constant(number: u64) -> Self {
        Self::new(Answers::Constant(number))
    }

    /// Numbers, each only once.
    pub(crate) fn ids() -> Self {
        Self::new(Answers::Ids(Ids::default()))
    }

    /// Texts, each only once.
    pub(crate) fn texts() -> Self {
        Self::new(Answers::Texts(Texts::default()))
    }

    fn new(answers: Answers) -> Self {
        Self {
            answers,
            failures: 0,
        }
    }

    /// Counts an answer that is no success, and shows the first.
    #[inline]
    pub(super) fn count(&mut self, is_success: bool, answer: &[u8]) {
        if !is_success {
            self.fail(answer);
        }
    }

    #[cold]
    fn fail(&mut self, answer: &[u8]) {
        self.failures += 1;
        if self.failures == 1 {
            let answer = String::from_utf8_lossy(answer);
            eprintln!("an answer is no success: {answer}");
        }
    }

    /// How many answers were no success.
    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }

    /// Takes note of the text of an answer; whether it may be there.
    pub(super) fn note_text(&mut self, text: &[u8]) -> bool {
        match &mut self.answers {
            Answers::Texts(texts) => texts.note(text),
            _ => number(text).is_some_and(|number| self.note(number)),
        }
    }

    /// Takes note of a number; whether it may be there.
    pub(super) fn note(&mut self, number: u64) -> bool {
        match &mut self.answers {
            Answers::Constant(constant) => number == *constant,
            Answers::Ids(ids) => ids.note(number),
            Answers::Texts(texts) => texts.note(&number.to_le_bytes()),
        }
    }

    /// How many ids came twice.
    pub(crate) fn repeated(&self) -> u64 {
        match &self.answers {
            Answers::Constant(_) => 0,
            Answers::Ids(ids) => ids.repeated,
            Answers::Texts(texts) => texts.repeated,
        }
    }
}

impl Texts {
    fn note(&mut self, text: &[u8]) -> bool {
        let is_new = !text.is_empty() && self.seen.insert(self.hasher.hash_one(text));
        self.repeated += u64::from(!is_new);
        is_new
    }
}

impl Ids {
    #[inline]
    fn note(&mut self, id: u64) -> bool {
        if id >= CHECKED_MAX {
            return true;
        }
        let word = usize::try_from(id / 64).unwrap_or(usize::MAX);
        if word >= self.seen.len() {
            self.seen.resize((word + 1).next_power_of_two(), 0);
        }
        let (seen, bit) = (&mut self.seen[word], 1 << (id % 64));
        let is_new = *seen & bit == 0;
        *seen |= bit;
        self.repeated += u64::from(!is_new);
        is_new
    }
}

/// The number that these digits write, or `None`.
#[inline]
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_comes_twice_is_seen() {
        let mut expected = Expected::ids();
        for id in [1, 2, 70, 3] {
            assert!(expected.note(id), "{id}");
        }
        assert!(!expected.note(70));
        assert_eq!(expected.repeated(), 1);
    }

    #[test]
    fn a_text_that_comes_twice_is_seen() {
        let mut expected = Expected::texts();
        for text in ["SO-1", "SO-2", "17"] {
            assert!(expected.note_text(text.as_bytes()), "{text}");
        }
        assert!(!expected.note_text(b"SO-2") && !expected.note_text(b""));
        assert_eq!(expected.repeated(), 2);
        let mut numbers = Expected::ids();
        assert!(numbers.note_text(b"17") && !numbers.note_text(b"SO-1"));
    }

    #[test]
    fn only_digits_are_a_number() {
        assert_eq!(number(b"1230"), Some(1230));
        for text in ["", "12a", "-1", "99999999999999999999"] {
            assert_eq!(number(text.as_bytes()), None, "{text:?}");
        }
    }
}
