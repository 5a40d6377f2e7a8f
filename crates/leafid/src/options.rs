//! `Options`: the settings of issuing and supply, with their trade-offs.

use std::time::Duration;

use crate::format::FormatCompiler;
use crate::setters::setters;
use crate::step::StepPolicy;
use crate::store::TagSettings;

/// The settings of issuing and supply.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use leafid::{Options, StepPolicy};
///
/// let options = Options::default().with_policy(StepPolicy::leaf()).with_wait_max(Duration::from_millis(200));
/// assert_eq!(options.refresh_interval, Duration::from_secs(60));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The step policy of tags without one. Default: [`StepPolicy::cover`].
    pub policy: StepPolicy,
    /// How long `next` waits for a segment that is being reserved. Longer hides longer failures
    /// of the store from callers, and holds more of them. Default: 1 s.
    pub wait_max: Duration,
    /// The settings with which a tag without a row is created on first use; `None` refuses it.
    /// Convenient on one machine; on a shared database a typing error creates a tag. Default: none.
    pub create_missing: Option<TagSettings>,
    /// How often the rows of tags in use are read again, 500 tags per statement. Shorter notices a
    /// changed or deleted tag sooner. Default: 60 s.
    pub refresh_interval: Duration,
    /// How often the store is probed while no reservation shows that it works, and how long the
    /// answer may take. An outage and its end are noticed within twice that time. Shorter probes an
    /// idle store more often; longer tolerates a store that answers slowly. At least 10 ms.
    /// Default: 2 s.
    pub probe_interval: Duration,
    /// How long an unknown tag stays unknown without asking the store again. Shorter notices a new
    /// tag sooner, longer spares the store. At least 10 ms. Default: 1 s.
    pub unknown_for: Duration,
    /// How many calls to the store may run at once, at least 2. A quarter of them, and at least
    /// one, is for names that may not exist; the others are for tags in use, which such names never
    /// delay. It should not exceed the store's connections. Default: 64.
    pub calls_max: usize,
    /// How many tags may be loaded at once, at about 1.3 kB each. A tag that has a segment stays
    /// loaded while it has a row, since it knows its floor. The row of an idle one is read each hour;
    /// without one it is evicted, and its floor kept, up to a million of them. Names that were only
    /// requested are evicted if room is needed, oldest first; if there are none, a new tag is
    /// refused. Default: 1,000,000.
    pub tags_max: usize,
    /// How many ids to skip above what this process knows of when the store of a tag went back in
    /// time: other processes may have come further, and their ids must not repeat. `None`: the
    /// largest of sixteen times the longest segment that any process recorded for the tag, sixteen
    /// times the longest that its policy allows here, and twice what the others reserved between
    /// two segments of this one. More is safer, but uses up a tag near its limit. Default: none.
    pub regression_margin: Option<u64>,
    /// The back-off after a failure of the store; it doubles with each failure in a row, less a
    /// random half. At least 1 ms. Default: 50 ms.
    pub retry_min: Duration,
    /// The longest back-off. Default: 5 s.
    pub retry_max: Duration,
    /// After this long a call to the store counts as failed with its outcome unknown, whatever the
    /// store itself promises. Default: 30 s.
    pub call_max: Duration,
    /// Understands the formats of tags. Without it, tags that have a format or are of a family
    /// issue nothing.
    pub formats: Option<FormatCompiler>,
    /// Seed of the random part of retry times, and of the order in which loaded tags are visited.
    /// Default: random.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policy: StepPolicy::cover(),
            wait_max: Duration::from_secs(1),
            create_missing: None,
            refresh_interval: Duration::from_secs(60),
            probe_interval: Duration::from_secs(2),
            unknown_for: Duration::from_secs(1),
            calls_max: 64,
            tags_max: 1_000_000,
            regression_margin: None,
            retry_min: Duration::from_millis(50),
            retry_max: Duration::from_secs(5),
            call_max: Duration::from_secs(30),
            formats: None,
            seed: fastrand::u64(..),
        }
    }
}

impl Options {
    setters! {
        policy: StepPolicy => with_policy,
        wait_max: Duration => with_wait_max,
        create_missing: Option<TagSettings> => with_create_missing,
        refresh_interval: Duration => with_refresh_interval,
        probe_interval: Duration => with_probe_interval,
        unknown_for: Duration => with_unknown_for,
        calls_max: usize => with_calls_max,
        tags_max: usize => with_tags_max,
        regression_margin: Option<u64> => with_regression_margin,
        retry_min: Duration => with_retry_min,
        retry_max: Duration => with_retry_max,
        call_max: Duration => with_call_max,
        formats: Option<FormatCompiler> => with_formats,
        seed: u64 => with_seed,
    }
}
