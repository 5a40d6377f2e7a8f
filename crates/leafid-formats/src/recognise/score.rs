//! The score of one reading.

use leafid::Layout;

use super::{Mark, Recognised};
use crate::decode::Decoded;

/// A reading before its marks.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) name: &'static str,
    pub(super) layout: Option<Layout>,
    pub(super) decoded: Decoded,
    /// How likely it is if nothing speaks against it.
    pub(super) base: u8,
    /// No id of the family is older: milliseconds since 1970.
    pub(super) born_ms: i64,
}

impl Candidate {
    pub(super) fn scored(self, now_ms: i64) -> Recognised {
        let time_ms = self.decoded.unix_ms;
        let future = time_ms.and_then(|ms| Mark::of_time(ms, now_ms));
        let is_early = time_ms.is_some_and(|ms| ms < self.born_ms);
        let early = is_early.then_some(Mark::BeforeItsFamily);
        let mut reading = Recognised {
            name: self.name,
            layout: self.layout,
            decoded: self.decoded,
            marks: Vec::new(),
            score: self.base.min(100),
        };
        for mark in future.into_iter().chain(early) {
            reading.add_mark(mark);
        }
        reading
    }
}
