//! `Disk`: the file of an embedded store, as SQLite keeps one: the file at its path, its copies,
//! and what a process that has opened it may still do with it.
//!
//! A process checks, before each change, whether its file is still the one at the path, and changes
//! nothing more once it is not, or once a flush has failed. No process may open an older copy
//! before an operator has restored it, which raises every tag.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use leafid::store::{MemoryStore, SegmentStore as _, StoreError, TagRecord, TagSpec};
use leafid::{Limit, Tag};

use crate::executor::{Process, lock};
use crate::segment::bug::Bug;

/// The file at the path.
pub(crate) struct Disk {
    state: Mutex<State>,
}

struct State {
    /// The identity of the file.
    number: u64,
    rows: Arc<MemoryStore>,
    copy: Option<Vec<TagRecord>>,
    /// How far the file had come that an older copy has replaced.
    lost: Option<Vec<TagRecord>>,
    /// Whose next flush fails.
    failing: Option<Process>,
    /// How far each tag is on the disk, if later reservations were never flushed.
    unflushed: BTreeMap<Tag, u64>,
}

/// A process's handle on the file that it has opened.
pub(crate) struct Opened {
    number: u64,
    rows: Arc<MemoryStore>,
    /// It may no longer be used.
    is_refused: AtomicBool,
    /// A flush of it has failed, and it is still used.
    goes_on: AtomicBool,
}

impl Disk {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                number: 0,
                rows: Arc::default(),
                copy: None,
                lost: None,
                failing: None,
                unflushed: BTreeMap::new(),
            }),
        }
    }

    /// The content of the file at the path.
    pub(crate) fn rows(&self) -> Arc<MemoryStore> {
        Arc::clone(&lock(&self.state).rows)
    }

    /// Opens the file at the path.
    pub(crate) fn open(&self) -> Opened {
        let state = lock(&self.state);
        Opened {
            number: state.number,
            rows: Arc::clone(&state.rows),
            is_refused: AtomicBool::new(state.lost.is_some()),
            goes_on: AtomicBool::new(false),
        }
    }

    /// What a process may change: the file that it has opened, while that is at the path.
    pub(crate) fn enter(
        &self,
        opened: &Opened,
        bug: Option<Bug>,
    ) -> Result<Arc<MemoryStore>, StoreError> {
        let is_moved = opened.number != lock(&self.state).number;
        if is_moved && bug != Some(Bug::MovedFileUsed) {
            // Relaxed, here and below: there is one thread.
            opened.is_refused.store(true, Ordering::Relaxed);
        }
        opened.rows()
    }

    /// Whether the flush of a change fails now. The change may have reached the disk anyway.
    pub(crate) fn fails(&self, opened: &Opened, process: Process, bug: Option<Bug>) -> bool {
        let mut state = lock(&self.state);
        let fails = state.failing == Some(process);
        if fails {
            state.failing = None;
            let goes_on = bug == Some(Bug::FlushRepeated);
            let end = [&opened.is_refused, &opened.goes_on][usize::from(goes_on)];
            end.store(true, Ordering::Relaxed);
        }
        fails
    }

    /// Before a change through this handle: after a failed flush, the next ones report success, and
    /// nothing reaches the disk.
    pub(crate) fn change(&self, opened: &Opened, tag: &Tag, max_id: u64) {
        if opened.goes_on.load(Ordering::Relaxed) {
            let mut state = lock(&self.state);
            state.unflushed.entry(tag.clone()).or_insert(max_id);
        }
    }

    /// The next flush of this process fails.
    pub(crate) fn fail(&self, process: Process) {
        lock(&self.state).failing = Some(process);
    }

    /// The machine loses power: what was not flushed is lost.
    pub(crate) fn cut(&self) {
        let unflushed = std::mem::take(&mut lock(&self.state).unflushed);
        let rows = self.rows();
        for (tag, max_id) in unflushed {
            // A tag that is gone has nothing to lose.
            let _outcome = rows.put_max_id(&tag, max_id);
        }
    }

    /// Copies the file.
    pub(crate) fn copy(&self) {
        let records = records(&self.rows());
        lock(&self.state).copy = Some(records);
    }

    /// Replaces the file by the last copy, if there is one and it is older.
    pub(crate) fn replace(&self) -> bool {
        let before = records(&self.rows());
        let mut state = lock(&self.state);
        let Some(copy) = state.copy.clone().filter(|copy| *copy != before) else {
            return false;
        };
        state.number += 1;
        state.rows = Arc::new(file_of(&copy));
        // One copy after the other, none of them restored: the furthest counts.
        state.lost.get_or_insert(before);
        true
    }

    /// An operator restores the older copy at the path: every tag is raised this far above what was
    /// acknowledged. Returns where each continues.
    pub(crate) fn restore(&self, margin: u64) -> Vec<(Tag, u64)> {
        let Some(lost) = lock(&self.state).lost.take() else {
            return Vec::new();
        };
        let rows = self.rows();
        let raised = lost.into_iter().map(|record| {
            let raised = record.max_id.saturating_add(margin);
            (record.tag, raised.min(Limit::INT64.largest() + 1))
        });
        let raised: Vec<(Tag, u64)> = raised.collect();
        for (tag, max_id) in &raised {
            // All tags of such a run are there from its beginning on.
            let _outcome = rows.put_max_id(tag, *max_id);
        }
        raised
    }
}

impl Opened {
    /// What a process may read.
    pub(crate) fn rows(&self) -> Result<Arc<MemoryStore>, StoreError> {
        if self.is_refused.load(Ordering::Relaxed) {
            return Err(StoreError::unavailable(
                "the file was replaced, or could not be flushed; then start this program again",
                "nothing more is reserved from it by this process",
            ));
        }
        Ok(Arc::clone(&self.rows))
    }
}

fn records(rows: &MemoryStore) -> Vec<TagRecord> {
    let listed = rows.list(None, u32::MAX).now_or_never();
    listed.and_then(Result::ok).unwrap_or_default()
}

/// A file with these rows.
fn file_of(records: &[TagRecord]) -> MemoryStore {
    let file = MemoryStore::new();
    for record in records {
        let mut spec = TagSpec::new(record.tag.clone());
        (spec.start, spec.settings) = (record.max_id, record.settings);
        // It completes at once, and the file has no such tag yet.
        let _outcome = file.create(&spec).now_or_never();
    }
    file
}
