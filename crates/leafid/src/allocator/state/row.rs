//! `Row`: what is known of a tag's row in the store.

use crate::limit::Limit;
use crate::step::StepPolicy;
use crate::store::TagSettings;

/// A warning is given when this many hundredths of a tag's numbers are left.
const LIMIT_WARNINGS: [u64; 2] = [10, 1];
/// No warning was given yet.
const UNWARNED: u64 = 100;

/// What is known of a tag's row.
pub(in crate::allocator) struct Row {
    /// Its settings, once read.
    pub(in crate::allocator) settings: Option<TagSettings>,
    /// How often the row was created, changed or deleted through this process, or found gone: an
    /// answer of the store that was asked for at an earlier version is out of date.
    pub(in crate::allocator) version: u64,
    /// It was looked for among those of many tags, and not found: the next look is for this tag
    /// alone, and creates it if it may.
    pub(in crate::allocator) is_absent: bool,
    /// It went, and the store was not asked for it again since.
    pub(in crate::allocator) is_dropped: bool,
    /// The part of the numbers left at which the last warning was given, in hundredths.
    warned_below: u64,
}

impl Row {
    pub(super) const fn unknown() -> Self {
        Self {
            settings: None,
            version: 0,
            is_absent: false,
            is_dropped: false,
            warned_below: UNWARNED,
        }
    }

    /// It was read, and there it is.
    pub(in crate::allocator) fn found(&mut self, settings: TagSettings) {
        self.settings = Some(settings);
        self.is_absent = false;
        self.is_dropped = false;
    }

    /// It was read again; answers whether its limit was raised.
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

    /// Whether it was not changed since it had this version; `None` is a change made now.
    pub(in crate::allocator) fn is_at(&self, version: Option<u64>) -> bool {
        version.is_none_or(|version| version == self.version)
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

    /// The step in the store; 0 while it is not known.
    pub(in crate::allocator) fn own_step(&self) -> u64 {
        self.settings.map_or(0, |settings| u64::from(settings.step))
    }

    /// The ids left, when they fell to the next mark for a warning.
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
