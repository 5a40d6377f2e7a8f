//! `Mutator`: new inputs from known ones.

use fastrand::Rng;

use crate::corpus::Corpus;

/// The longest input in bytes: longer than any parser reads at once.
const LEN_MAX: usize = 8 * 1024;
/// Accepted inputs that are kept for further mutations.
const KEPT_MAX: usize = 256;

/// Numbers at which parsers go wrong, and what they must not take for parts of numbers.
const EDGES: [&str; 18] = [
    "0",
    "-1",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "4294967295",
    "4294967296",
    "9007199254740992",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
    "1e9",
    "+1",
    "0x10",
];

/// Characters at which parsers go wrong: of one byte, of several, invisible, and no text at all.
const SIGNS: [&[u8]; 14] = [
    b"\0",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b"%",
    b"{",
    b"}",
    b"\"",
    b"\\",
    "é".as_bytes(),
    "订".as_bytes(),
    "\u{202e}".as_bytes(),
    b"\xff",
];

/// Makes inputs from a corpus, and from what was accepted since.
pub(crate) struct Mutator {
    rng: Rng,
    /// The corpus, and then what was kept.
    inputs: Vec<Vec<u8>>,
    corpus_len: usize,
    /// The words of the corpus, and what is between them.
    words: Vec<Vec<u8>>,
}

impl Mutator {
    pub(crate) fn new(corpus: &Corpus, rng: Rng) -> Self {
        let inputs: Vec<Vec<u8>> = corpus.inputs().map(<[u8]>::to_vec).collect();
        let is_same = |a: &u8, b: &u8| a.is_ascii_alphanumeric() == b.is_ascii_alphanumeric();
        let words = inputs.iter().flat_map(|input| input.chunk_by(is_same));
        let mut words: Vec<Vec<u8>> = words.map(<[u8]>::to_vec).collect();
        words.sort_unstable();
        words.dedup();
        Self {
            corpus_len: inputs.len(),
            rng,
            inputs,
            words,
        }
    }

    /// Keeps an accepted input, in place of an earlier one if there are too many.
    pub(crate) fn keep(&mut self, input: Vec<u8>) {
        if self.inputs.len() < self.corpus_len + KEPT_MAX {
            self.inputs.push(input);
        } else {
            let at = self.rng.usize(self.corpus_len..self.inputs.len());
            self.inputs[at] = input;
        }
    }

    /// The next input: mostly a few changes, seldom many.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        let at = self.rng.usize(..self.inputs.len());
        let mut input = self.inputs[at].clone();
        let changes = 1 << self.rng.u32(0..5);
        for _ in 0..self.rng.u32(1..=changes) {
            self.change(&mut input);
        }
        input.truncate(LEN_MAX);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let range = self.range(input);
        let at = range.start;
        match self.rng.u8(..9) {
            0 => drop(input.drain(range)),
            1 => input.truncate(at),
            2 => {
                let copy = input[range].repeat(self.rng.usize(1..=8));
                input.splice(at..at, copy);
            }
            3 if at < input.len() => input[at] ^= 1 << self.rng.u8(..8),
            4 => input.insert(at, self.rng.u8(..)),
            5 => {
                let sign = SIGNS[self.rng.usize(..SIGNS.len())];
                input.splice(range, sign.iter().copied());
            }
            6 => {
                let number = self.number_in(input).unwrap_or(range);
                let edge = EDGES[self.rng.usize(..EDGES.len())];
                input.splice(number, edge.bytes());
            }
            7 => {
                let other = &self.inputs[self.rng.usize(..self.inputs.len())];
                let from = self.rng.usize(..=other.len());
                input.splice(at.., other[from..].iter().copied());
            }
            _ => {
                let word = self.words[self.rng.usize(..self.words.len())].clone();
                input.splice(range, word);
            }
        }
    }

    /// A range of bytes, mostly short, often empty.
    fn range(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let start = self.rng.usize(..=input.len());
        let len_max = (input.len() - start).min(1 << self.rng.u32(0..6));
        start..start + self.rng.usize(..=len_max)
    }

    /// The decimal digits at or after a random place.
    fn number_in(&mut self, input: &[u8]) -> Option<std::ops::Range<usize>> {
        let from = self.rng.usize(..=input.len());
        let start = from + input[from..].iter().position(u8::is_ascii_digit)?;
        let len = input[start..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        Some(start..start + len.count())
    }
}
