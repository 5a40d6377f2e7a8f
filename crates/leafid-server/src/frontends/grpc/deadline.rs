//! `Deadline`: how long the caller waits for an answer (`grpc-timeout`).

use std::time::Duration;

use hyper::HeaderMap;
use tokio::time::timeout;

use super::error::Refusal;
use crate::service::ServiceError;

/// How long the caller waits, counted from the arrival of the call; for ever if it does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline(Option<Duration>);

/// More digits are no timeout.
const DIGITS_MAX: usize = 8;

impl Deadline {
    /// The caller waits for ever.
    pub(super) const NONE: Self = Self(None);

    /// Reads what the caller says.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let Some(value) = headers.get("grpc-timeout") else {
            return Ok(Self::NONE);
        };
        match value.to_str().ok().and_then(duration) {
            Some(left) => Ok(Self(Some(left))),
            None => Err(Refusal::bad_field(
                "grpc-timeout",
                "the value is not a timeout: send up to 8 digits and one of H M S m u n",
            )),
        }
    }

    /// Whether it had passed before the call came in.
    pub(super) fn has_passed(self) -> bool {
        self.0 == Some(Duration::ZERO)
    }

    /// How long the caller waits.
    pub(super) fn left(self) -> Option<Duration> {
        self.0
    }

    /// Waits for an answer, as long as the caller does, but not longer than `answer_max`.
    pub(super) async fn bound<T>(
        self,
        answering: impl Future<Output = T>,
        answer_max: Duration,
    ) -> Result<T, Refusal> {
        match self.0 {
            Some(left) if left <= answer_max => timeout(left, answering)
                .await
                .map_err(|_| Refusal::deadline_exceeded()),
            _ => timeout(answer_max, answering)
                .await
                .map_err(|_| ServiceError::StoreTimeout.into()),
        }
    }
}

/// A time as gRPC writes it, such as `250m` for 250 ms.
fn duration(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_grpc_writes_them() {
        let check = |text: &str, expected: Option<Duration>| {
            assert_eq!(duration(text), expected, "{text:?}");
        };
        check("1H", Some(Duration::from_secs(3600)));
        check("2M", Some(Duration::from_secs(120)));
        check("3S", Some(Duration::from_secs(3)));
        check("250m", Some(Duration::from_millis(250)));
        check("99999999H", Some(Duration::from_secs(99_999_999 * 3600)));
        check("7u", Some(Duration::from_micros(7)));
        check("0n", Some(Duration::ZERO));
        for bad in [
            "",
            "S",
            "1",
            "1s",
            "-1S",
            "+1S",
            "1.5S",
            "123456789S",
            "1 S",
            "1\u{e4}",
        ] {
            check(bad, None);
        }
    }
}
