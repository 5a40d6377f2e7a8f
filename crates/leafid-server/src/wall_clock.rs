//! The time of day, for display only: durations are measured by a [`leafid::Clock`].

use std::sync::LazyLock;
use std::time::Duration;

use leafid::{Clock as _, SystemClock};

/// Made once: a new one reads the boot clock, too, and each turn of a connection asks for the date.
static CLOCK: LazyLock<SystemClock> = LazyLock::new(SystemClock::new);

/// The current time, by the system clock. A clock set before 1970 reads as 1970, and one set beyond
/// the year 9999 as its end.
pub(crate) fn now() -> jiff::Timestamp {
    timestamp(CLOCK.wall())
}

/// Whether HTTP can write the present date. hyper panics at others, which only a broken clock shows.
pub(crate) fn has_http_date() -> bool {
    /// The year 10000.
    const END_S: u64 = 253_402_300_800;
    let seconds = CLOCK.wall().as_secs();
    // A clock set before 1970 reads as 0.
    (1..END_S - 1).contains(&seconds)
}

/// The time so long after the beginning of 1970.
pub(crate) fn timestamp(since_1970: Duration) -> jiff::Timestamp {
    let duration = jiff::SignedDuration::try_from(since_1970);
    let timestamp = duration.map(jiff::Timestamp::from_duration);
    timestamp.map_or(jiff::Timestamp::MAX, |time| {
        time.unwrap_or(jiff::Timestamp::MAX)
    })
}

/// Formats an instant, in milliseconds since 1970-01-01T00:00:00Z, as RFC 3339 in UTC: with three
/// digits of the second, or none, as [`leafid::Parts::time`].
pub(crate) fn time(unix_ms: i64) -> String {
    let digits = if unix_ms % 1000 == 0 { 0 } else { 3 };
    jiff::Timestamp::from_millisecond(unix_ms)
        .map(|time| format!("{time:.digits$}"))
        .unwrap_or_else(|_| "beyond the year 9999".into())
}

/// The date of an instant, in UTC.
pub(crate) fn date(unix_ms: i64) -> String {
    let mut text = time(unix_ms);
    if let Some(end) = text.find('T') {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that no clock makes the server panic, however wrong it is.
    #[test]
    fn a_time_beyond_all_dates_is_the_last_one() {
        let second = timestamp(Duration::from_secs(1));
        assert_eq!(second.to_string(), "1970-01-01T00:00:01Z");
        for years in [8_100, 300_000, 500_000_000_000] {
            let clock = Duration::from_secs(years * 31_556_952);
            assert_eq!(timestamp(clock), jiff::Timestamp::MAX, "{years}");
        }
    }
}
