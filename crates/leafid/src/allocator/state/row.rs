//! `Row`: the row of a tag, as far as it is known.

use crate::allocator::floors::KeptFloor;
use crate::allocator::form::KnownForm;
use crate::format::Form;
use crate::limit::Limit;
use crate::step::StepPolicy;
use crate::store::{TagKind, TagSettings};

/// A warning is logged when this many hundredths of a tag's numbers are left.
const LIMIT_WARNINGS: [u64; 2] = [10, 1];
/// No warning was logged yet.
const UNWARNED: u64 = 100;

/// The row of a tag, as far as it is known.
pub(in crate::allocator) struct Row {
    /// Its settings, once read.
    pub(in crate::allocator) settings: Option<TagSettings>,
    /// How often the row was created, changed or deleted through this process, or found missing: a
    /// store's answer to a request from an earlier version is out of date.
    pub(in crate::allocator) version: u64,
    /// It was read together with many other tags, and not found: the next read is for this tag
    /// alone, and may create it.
    pub(in crate::allocator) is_absent: bool,
    /// It was deleted, and the store has not been asked for it since.
    pub(in crate::allocator) is_dropped: bool,
    /// It was that of a snowflake tag. Its ids are not known here, so it is never again that of a
    /// segment tag.
    pub(in crate::allocator) was_snowflake: bool,
    /// The part of the numbers left at which the last warning was logged, in hundredths.
    /// What its ids look like, once a row was read; kept when the row is gone.
    pub(in crate::allocator) known: Option<KnownForm>,
    warned_below: u64,
}

impl Row {
    pub(super) const fn unknown() -> Self {
        Self {
            settings: None,
            version: 0,
            is_absent: false,
            is_dropped: false,
            was_snowflake: false,
            known: None,
            warned_below: UNWARNED,
        }
    }

    /// It was read and exists.
    pub(in crate::allocator) fn found(&mut self, settings: TagSettings) {
        self.settings = Some(settings);
        self.is_absent = false;
        self.is_dropped = false;
    }

    /// It was read again; returns whether its limit was raised.
    pub(in crate::allocator) fn refreshed(&mut self, settings: TagSettings) -> bool {
        let is_raised = self.limit() < settings.limit;
        self.settings = Some(settings);
        if is_raised {
            self.warned_below = UNWARNED;
        }
        is_raised
    }

    /// It is gone.
    pub(in crate::allocator) fn gone(&mut self, was_live: bool) {
        self.settings = None;
        self.is_absent = false;
        self.is_dropped |= was_live;
        self.version += 1;
    }

    /// Whether it has not changed since this version; `None` means a change made now.
    pub(in crate::allocator) fn is_at(&self, version: Option<u64>) -> bool {
        version.is_none_or(|version| version == self.version)
    }

    /// Whether its ids are known to be plain numbers of segments.
    pub(in crate::allocator) fn is_plain(&self) -> bool {
        self.known.as_ref().is_some_and(KnownForm::is_plain)
    }

    /// Takes over what is known of an evicted tag: it may not get another form.
    pub(in crate::allocator) fn recall(&mut self, kept: KeptFloor) {
        if kept.is_plain && self.known.is_none() {
            self.known = Some(KnownForm::plain());
        }
    }

    pub(in crate::allocator) fn kind(&self) -> TagKind {
        self.known
            .as_ref()
            .map_or(TagKind::Segment, |known| known.kind)
    }

    pub(in crate::allocator) fn form(&self) -> Form {
        let known = self.known.as_ref();
        known.map_or(Form::Plain, |known| known.form.clone())
    }

    pub(in crate::allocator) fn limit(&self) -> Limit {
        self.settings
            .map(|settings| settings.limit)
            .unwrap_or_default()
    }

    pub(in crate::allocator) fn policy(&self, default: StepPolicy) -> StepPolicy {
        self.settings
            .and_then(|settings| settings.policy)
            .unwrap_or(default)
    }

    /// The step in the store; 0 while unknown.
    pub(in crate::allocator) fn own_step(&self) -> u64 {
        self.settings.map_or(0, |settings| u64::from(settings.step))
    }

    /// The ids left, if they fell to the next warning mark.
    pub(in crate::allocator) fn near_limit(&mut self, max_id: u64) -> Option<u64> {
        let limit = self.limit();
        let headroom = limit.headroom(max_id);
        let is_below = |hundredths: &u64| headroom / *hundredths <= limit.largest() / 100;
        let mark = LIMIT_WARNINGS.into_iter().filter(is_below).min()?;
        if mark >= self.warned_below {
            return None;
        }
        self.warned_below = mark;
        Some(headroom)
    }
}
