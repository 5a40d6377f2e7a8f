//! `Floors`: how far evicted tags had come, so that no number of theirs comes twice.
//!
//! A tag that has drawn segments is evicted only when its row is gone (`idle.rs`), and leaves what
//! its successor needs here: its floor, and what the margin above it is worked out from. Entries
//! are never removed: the successor takes them over whenever a row is read or a segment is reserved
//! for it. There is a fixed number of them; a tag for which there is no place stays loaded.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::quality::FixedState;

use crate::tag::Tag;

/// How many tags are remembered, at about 50 bytes each: the hours of one counter in a century.
const FLOORS_MAX: usize = 1_000_000;

/// What is remembered of a tag that was evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct KeptFloor {
    /// The highest max id that the store ever reported.
    pub(super) floor: u64,
    /// The longest segment that is known of.
    pub(super) longest: u64,
    /// How many numbers others reserved between two segments of this process.
    pub(super) others: u64,
    /// Whether its ids were plain numbers of segments, which no text may repeat.
    pub(super) is_plain: bool,
}

/// How far evicted tags had come, by the hash of their names. Should two have the same hash, both
/// continue above the higher one, which is safe.
pub(crate) struct Floors {
    by_hash: Mutex<HashMap<u64, KeptFloor>>,
    hasher: FixedState,
    has_any: AtomicBool,
    len_max: usize,
}

impl Floors {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            by_hash: Mutex::default(),
            hasher: FixedState::with_seed(seed),
            has_any: AtomicBool::new(false),
            len_max: FLOORS_MAX,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, KeptFloor>> {
        self.by_hash.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a tag; `false` if there is no place.
    pub(super) fn keep(&self, tag: &Tag, kept: KeptFloor) -> bool {
        let mut floors = self.lock();
        let is_full = floors.len() >= self.len_max;
        match floors.entry(self.hasher.hash_one(tag.as_str())) {
            Entry::Occupied(mut entry) => entry.get_mut().merge(kept),
            Entry::Vacant(_) if is_full => return false,
            Entry::Vacant(entry) => {
                entry.insert(kept);
            }
        }
        // Release pairs with the Acquire in `of`.
        self.has_any.store(true, Ordering::Release);
        true
    }

    /// What is remembered of a tag.
    pub(super) fn of(&self, tag: &Tag) -> Option<KeptFloor> {
        if !self.has_any.load(Ordering::Acquire) {
            return None;
        }
        let hash = self.hasher.hash_one(tag.as_str());
        self.lock().get(&hash).copied()
    }

    /// Whether a tag of this name was evicted after use.
    pub(crate) fn knows(&self, tag: &Tag) -> bool {
        self.of(tag).is_some()
    }
}

impl KeptFloor {
    fn merge(&mut self, other: Self) {
        self.floor = self.floor.max(other.floor);
        self.longest = self.longest.max(other.longest);
        self.others = self.others.max(other.others);
        self.is_plain |= other.is_plain;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(floor: u64) -> KeptFloor {
        KeptFloor {
            floor,
            ..KeptFloor::default()
        }
    }

    /// Guards that memory is bounded, and that nothing is forgotten for it: a new tag finds no
    /// place, and what is known stays and only rises.
    #[test]
    fn a_full_map_refuses_and_forgets_nothing() {
        let floors = Floors {
            len_max: 2,
            ..Floors::new(7)
        };
        let [a, b, c] = ["a@1", "a@2", "a@3"].map(|name| Tag::new(name).expect("a plain name"));
        assert!(floors.keep(&a, kept(10)) && floors.keep(&b, kept(20)));
        assert!(!floors.keep(&c, kept(30)) && !floors.knows(&c));
        assert!(floors.keep(&a, kept(5)));
        assert_eq!(floors.of(&a).map(|kept| kept.floor), Some(10));
        assert!(floors.keep(&a, kept(11)));
        assert_eq!(floors.of(&a).map(|kept| kept.floor), Some(11));
    }
}
