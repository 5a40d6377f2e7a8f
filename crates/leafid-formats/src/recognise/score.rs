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
        let unix_ms = self.decoded.unix_ms;
        let mut reading = Recognised {
            name: self.name,
            layout: self.layout,
            decoded: self.decoded,
            marks: Vec::new(),
            score: self.base.min(100),
        };
        for mark in unix_ms
            .into_iter()
            .flat_map(|ms| Mark::of_times(ms, self.born_ms, now_ms))
        {
            reading.add_mark(mark);
        }
        reading
    }
}
