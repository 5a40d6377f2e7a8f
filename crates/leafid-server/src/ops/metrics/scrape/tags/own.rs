//! Chooses the tags with series of their own: those that issue the most ids. Names that were only
//! requested have none.
//!
//! A tag keeps its series until another one has issued several times as many ids, so that series do
//! not come and go.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use leafid::{Stage, Status, Tag};

/// The tag under which tags without series of their own are summed up.
pub(super) const OTHER: &str = "(other)";

/// A tag that replaces another has issued this many times as many ids.
const TIMES_MORE: u64 = 10;

/// Chooses up to `own_max` of the visited tags.
pub(super) fn choose(
    own: &mut BTreeSet<Tag>,
    own_max: usize,
    for_each: impl FnOnce(&mut dyn FnMut(Status)),
) {
    let mut kept = Vec::new();
    let mut most = BinaryHeap::new();
    for_each(&mut |status| {
        if own.contains(&status.tag) {
            kept.push((status.issued, status.tag));
        } else if is_real(&status) {
            most.push(Reverse((status.issued, Reverse(status.tag))));
            if most.len() > own_max {
                let _least = most.pop();
            }
        }
    });
    kept.sort();
    // Tags that were evicted leave their place.
    *own = kept.iter().map(|(_, tag)| tag.clone()).collect();
    let mut kept = kept.into_iter();
    for Reverse((issued, Reverse(tag))) in most.into_sorted_vec() {
        if own.len() >= own_max {
            match kept.next() {
                Some((least, former)) if issued / TIMES_MORE > least => own.remove(&former),
                _ => return,
            };
        }
        own.insert(tag);
    }
}

/// Whether there is such a tag.
fn is_real(status: &Status) -> bool {
    let is_there = matches!(status.stage, Stage::Live | Stage::Exhausted);
    (is_there || status.issued > 0) && status.tag.as_str() != OTHER
}
