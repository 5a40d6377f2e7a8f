//! `Waiting`: which traced requests are in progress for which tag, so that a store call of the
//! driver belongs to the trace of a request that waits for it.

use std::sync::{Mutex, PoisonError};

use leafid::Tag;

use super::place::Place;

/// Requests beyond this many are not found. All of them are traced, so they are few.
const WAITING_MAX: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<Vec<(Tag, Place)>>);

impl Waiting {
    pub(super) fn add(&self, tag: &Tag, place: &Place) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < WAITING_MAX {
            waiting.push((tag.clone(), place.clone()));
        }
    }

    pub(super) fn remove(&self, place: &Place) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|(_, other)| other.span_id != place.span_id);
    }

    /// The request that has waited longest for one of these tags.
    pub(super) fn find(&self, tags: &[Tag]) -> Option<Place> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waiting = waiting.iter();
        let found = waiting.find(|(tag, _)| tags.contains(tag));
        found.map(|(_, place)| place.clone())
    }
}
