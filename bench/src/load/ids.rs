//! `Expected`: whether the number in an answer is the one that may be there.

/// Ids above this are counted and not checked: a bit for each is 256 MiB then.
const CHECKED_MAX: u64 = 1 << 31;

/// What numbers may be answered.
pub(crate) enum Expected {
    /// Always this one: a server that issues nothing.
    Constant(u64),
    /// Each only once.
    Ids(Ids),
}

/// Which ids have come; they begin near 0 and leave few gaps.
#[derive(Default)]
pub(crate) struct Ids {
    seen: Vec<u64>,
    repeated: u64,
}

impl Expected {
    pub(crate) fn ids() -> Self {
        Self::Ids(Ids::default())
    }

    /// Takes note of a number; whether it may be there.
    pub(super) fn note(&mut self, number: u64) -> bool {
        match self {
            Self::Constant(constant) => number == *constant,
            Self::Ids(ids) => ids.note(number),
        }
    }

    pub(super) fn repeated(&self) -> u64 {
        match self {
            Self::Constant(_) => 0,
            Self::Ids(ids) => ids.repeated,
        }
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
    fn only_digits_are_a_number() {
        assert_eq!(number(b"1230"), Some(1230));
        for text in ["", "12a", "-1", "99999999999999999999"] {
            assert_eq!(number(text.as_bytes()), None, "{text:?}");
        }
    }
}
