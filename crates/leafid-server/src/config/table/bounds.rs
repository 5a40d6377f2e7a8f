//! Times and sizes that bound several settings.

use std::time::Duration;

pub(super) const TENTH: Duration = Duration::from_millis(100);
pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const TEN_MINUTES: Duration = Duration::from_secs(600);
pub(super) const HOUR: Duration = Duration::from_secs(3600);
pub(super) const DAY: Duration = Duration::from_secs(86_400);
pub(super) const CENTURY: Duration = Duration::from_secs(36_525 * 86_400);
