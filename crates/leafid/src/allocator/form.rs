//! `KnownForm`: what the ids of a tag look like. A row that says otherwise later makes the tag
//! unusable here, because an old id and a new one could have the same text.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};

use super::state::{State, TagState};
use super::{Allocator, Shared};
use crate::format::{Form, FormatCompiler};
use crate::other_kind::OtherKind;
use crate::store::{TagKind, TagRecord};

/// The form of a tag, and what its row said.
pub(super) struct KnownForm {
    pub(super) kind: TagKind,
    pub(super) form: Form,
    text: Option<Arc<str>>,
    /// Whether [`OtherKindCell`] has it.
    is_in_cell: bool,
}

/// Where the ids of a tag without segments come from, for callers that hold no lock.
///
/// It says only what the allocator's state says: [`StateGuard`] writes it whenever the lock is
/// released. A caller that finds nothing here asks the state.
#[derive(Default)]
pub(super) struct OtherKindCell {
    /// The first kind without segments that the tag was found to have. It stays; the store of a
    /// tag that changes it once more is asked through the state.
    first: OnceLock<(TagKind, Form)>,
    /// No id below this may be issued; 0 while the state has to be asked.
    min_id: AtomicU64,
    /// Whether a caller has asked since the row was read.
    was_asked: AtomicBool,
}

/// The state of an allocator under its lock.
pub(super) struct StateGuard<'a> {
    state: MutexGuard<'a, State>,
    cell: &'a OtherKindCell,
}

impl Allocator {
    /// Learns the form of the tag from its row. Whether the tag issues segments, or in words why it
    /// issues nothing.
    ///
    /// The kind may change from segments to another: the store has allowed it.
    pub(super) fn learn_form(
        &self,
        shared: &Shared,
        state: &mut State,
        record: &TagRecord,
    ) -> Result<bool, String> {
        let kind = record.settings.kind;
        match &state.row.known {
            Some(known) if known.kind == kind && known.text == record.format => {
                return Ok(known.has_segments());
            }
            // Texts of a family never repeat, whatever their format.
            Some(known) if known.kind == kind && kind.is_numbered() => return Err(changed()),
            _ => {}
        }
        let compiler = shared.options.formats.as_ref().map(FormatCompiler::get);
        let form = Form::of(record, compiler).map_err(|error| error.to_string())?;
        if let Form::Formatted(format) = &form
            && kind == TagKind::Segment
        {
            // Only a tag of another kind, which is never a segment tag again, has set it before.
            let _ = self.format.set(Arc::clone(format));
        }
        let has_segments = has_segments(kind, &form);
        let known = KnownForm {
            is_in_cell: !has_segments && self.other_kind.set(kind, &form),
            kind,
            form,
            text: record.format.clone(),
        };
        state.row.known = Some(known);
        Ok(has_segments)
    }
}

impl KnownForm {
    /// That of plain numbers.
    pub(super) const fn plain() -> Self {
        Self {
            kind: TagKind::Segment,
            form: Form::Plain,
            text: None,
            is_in_cell: false,
        }
    }

    /// Whether it is that of plain numbers.
    pub(super) fn is_plain(&self) -> bool {
        self.kind == TagKind::Segment && matches!(self.form, Form::Plain)
    }

    fn has_segments(&self) -> bool {
        has_segments(self.kind, &self.form)
    }
}

fn has_segments(kind: TagKind, form: &Form) -> bool {
    kind == TagKind::Segment && !matches!(form, Form::Calendar(_))
}

impl OtherKindCell {
    /// Where the ids come from, if the tag is known to have no segments.
    #[inline]
    pub(super) fn get(&self) -> Option<OtherKind> {
        // Acquire pairs with the Release in `publish`, before which `first` was set.
        match self.min_id.load(Ordering::Acquire) {
            0 => None,
            min_id => self.ask(min_id),
        }
    }

    fn ask(&self, min_id: u64) -> Option<OtherKind> {
        // Relaxed: a hint to the driver, which rereads the rows of tags in use. Read first, so that
        // threads do not take the cache line from each other.
        if !self.was_asked.load(Ordering::Relaxed) {
            self.was_asked.store(true, Ordering::Relaxed);
        }
        let (kind, form) = self.first.get()?;
        Some(OtherKind {
            kind: *kind,
            form: form.clone(),
            min_id,
        })
    }

    /// Whether a caller has asked since the row was read.
    pub(super) fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Relaxed)
    }

    /// The row was read.
    pub(super) fn row_read(&self) {
        self.was_asked.store(false, Ordering::Relaxed);
    }

    /// Keeps the kind and form, if none are kept yet.
    fn set(&self, kind: TagKind, form: &Form) -> bool {
        self.first.set((kind, form.clone())).is_ok()
    }

    fn publish(&self, state: &State) {
        let is_in_cell = |known: &KnownForm| known.is_in_cell;
        let min_id = match state.tag_state {
            TagState::OtherKind { min_id } if state.row.known.as_ref().is_some_and(is_in_cell) => {
                min_id
            }
            _ => 0,
        };
        // The lock is held, so nobody else writes.
        if self.min_id.load(Ordering::Relaxed) != min_id {
            self.min_id.store(min_id, Ordering::Release);
        }
    }
}

impl<'a> StateGuard<'a> {
    pub(super) fn new(state: MutexGuard<'a, State>, cell: &'a OtherKindCell) -> Self {
        Self { state, cell }
    }
}

impl Deref for StateGuard<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for StateGuard<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for StateGuard<'_> {
    fn drop(&mut self) {
        self.cell.publish(&self.state);
    }
}

fn changed() -> String {
    "its format was changed, so that the text of an old id could repeat; change it back, or restart \
    this process if none of its ids is in use"
        .to_owned()
}
