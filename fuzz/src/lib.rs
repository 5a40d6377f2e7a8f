//! Feeds parsers with the inputs of a corpus, and with mutations of them. For tests only.
//!
//! A **target** is a function of bytes: it calls one parser, checks what must hold for what the
//! parser accepts, such as that the parsed value is written as a text that parses to the same, and
//! returns whether the parser accepted the input. Its **corpus** is `fuzz/corpus/NAME.txt`, an input
//! a line, with the escapes of [`u8::escape_ascii`]. An input that broke a parser becomes a line.
//!
//! The number of inputs is bounded, so that all targets together take a few seconds. For more, and
//! to repeat a run:
//!
//! ```text
//! LEAFID_FUZZ_INPUTS=1000000 cargo test -p leafid-formats --test it fuzz
//! LEAFID_FUZZ_SEED=42 cargo test -p leafid-formats --test it fuzz
//! ```

#![allow(
    clippy::panic,
    clippy::print_stdout,
    reason = "everything here serves a test"
)]

mod corpus;
mod mutate;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fastrand::Rng;

pub use corpus::{Corpus, escaped, unescaped};
use mutate::Mutator;

/// Inputs of a target in a usual run, beside its corpus.
const INPUTS: u64 = 10_000;

/// What a target did with its inputs.
///
/// # Example
///
/// See [`fuzz`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Inputs that the parser accepted.
    pub accepted: u64,
    /// Inputs that it refused.
    pub refused: u64,
}

/// Runs a target over its corpus and over mutations of it, and prints the seed. What the target
/// accepts is mutated again, so that inputs move away from the corpus without getting worse.
///
/// # Panics
///
/// As the target does, after printing the input as a line for the corpus; if there is no corpus of
/// that name; and if the target accepted or refused no mutated input, because it then tests nothing.
///
/// # Example
///
/// ```
/// let tally = leafid_fuzz::fuzz("numbers", |data| {
///     let text = std::str::from_utf8(data).unwrap_or_default();
///     let Ok(number) = text.parse::<u64>() else {
///         return false;
///     };
///     assert_eq!(number.to_string().parse(), Ok(number));
///     true
/// });
/// assert!(tally.accepted > 0 && tally.refused > 0);
/// ```
pub fn fuzz(name: &str, target: impl Fn(&[u8]) -> bool) -> Tally {
    let tally = run(name, &Corpus::read(name), seed(), inputs(), target);
    println!("{name}: {tally:?}");
    assert!(
        tally.accepted > 0,
        "{name}: no mutated input was accepted: improve the corpus"
    );
    assert!(
        tally.refused > 0,
        "{name}: no mutated input was refused: is the target a parser?"
    );
    tally
}

fn run(
    name: &str,
    corpus: &Corpus,
    seed: u64,
    inputs: u64,
    target: impl Fn(&[u8]) -> bool,
) -> Tally {
    println!("{name}: LEAFID_FUZZ_SEED={seed}");
    for input in corpus.inputs() {
        checked(name, input, &target);
    }
    let mut mutator = Mutator::new(corpus, Rng::with_seed(seed));
    let mut tally = Tally::default();
    for _ in 0..inputs {
        let input = mutator.next();
        if checked(name, &input, &target) {
            tally.accepted += 1;
            mutator.keep(input);
        } else {
            tally.refused += 1;
        }
    }
    tally
}

/// Runs the target on one input, and prints the input if it panics.
fn checked(name: &str, input: &[u8], target: &impl Fn(&[u8]) -> bool) -> bool {
    match catch_unwind(AssertUnwindSafe(|| target(input))) {
        Ok(is_accepted) => is_accepted,
        Err(panic) => {
            println!("add to fuzz/corpus/{name}.txt:\n{}", escaped(input));
            resume_unwind(panic)
        }
    }
}

fn seed() -> u64 {
    let seed = number_of("LEAFID_FUZZ_SEED");
    seed.unwrap_or_else(|| fastrand::u64(..))
}

fn inputs() -> u64 {
    number_of("LEAFID_FUZZ_INPUTS").unwrap_or(INPUTS)
}

fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is a whole number, not {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parser of `NAME=NUMBER` with a defect.
    fn defective(data: &[u8], is_defect: impl Fn(&str, u8) -> bool) -> bool {
        let text = std::str::from_utf8(data).unwrap_or_default();
        let Some((name, number)) = text.split_once('=') else {
            return false;
        };
        let Ok(number) = number.parse::<u8>() else {
            return false;
        };
        assert!(!is_defect(name, number), "found");
        true
    }

    fn finds(is_defect: impl Fn(&str, u8) -> bool) -> bool {
        let corpus = Corpus::of("order=1\nuser=20\n");
        let runs = (0..20).filter(|seed| {
            let run = || {
                run("canary", &corpus, *seed, INPUTS, |data| {
                    defective(data, &is_defect)
                })
            };
            catch_unwind(AssertUnwindSafe(run)).is_err()
        });
        let count = runs.count();
        println!("{count} of 20");
        count >= 15
    }

    /// Guards that a usual run would find such defects: an empty name, a number at its bound, a name
    /// of two parts of the corpus.
    #[test]
    fn a_planted_defect_is_found() {
        assert!(finds(|name, _| name.is_empty()));
        assert!(finds(|_, number| number == u8::MAX));
        assert!(finds(
            |name, _| name.contains("order") && name.contains("user")
        ));
        assert!(!finds(|name, _| name == "nobody would guess this name"));
    }

    #[test]
    fn a_seed_repeats_its_run() {
        let corpus = Corpus::of("order=1\n\\x00\\xff\n");
        let inputs = |seed| {
            let seen = std::cell::RefCell::new(Vec::new());
            run("repeat", &corpus, seed, 100, |data| {
                seen.borrow_mut().push(data.to_vec());
                data.len() % 2 == 0
            });
            seen.into_inner()
        };
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
    }
}
