//! The time of day, for display only: durations are measured by a [`leafid::Clock`].

/// The current time, by the system clock.
pub(crate) fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// Formats an instant, in milliseconds since 1970-01-01T00:00:00Z, as RFC 3339 in UTC.
pub(crate) fn time(unix_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(unix_ms)
        .map(|time| time.to_string())
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
