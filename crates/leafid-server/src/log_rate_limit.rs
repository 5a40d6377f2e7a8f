//! `LogRateLimiter`: bounds log lines that a client can cause without end.

use std::time::Duration;

/// How many lines of one kind are written in each span of time; the rest are counted.
const LINES_MAX: u32 = 10;
const SPAN: Duration = Duration::from_secs(10);

/// Bounds the lines of one kind.
#[derive(Debug, Default)]
pub(crate) struct LogRateLimiter {
    since: Duration,
    written: u32,
    left_out: u64,
}

impl LogRateLimiter {
    /// Whether to write a line now, and how many were suppressed since the last one.
    pub(crate) fn admit(&mut self, now: Duration) -> Option<u64> {
        if now.saturating_sub(self.since) >= SPAN {
            self.since = now;
            self.written = 0;
        }
        if self.written >= LINES_MAX {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted() {
        let mut limit = LogRateLimiter::default();
        let at = Duration::from_secs;
        let admitted = (0..25).filter(|_| limit.admit(at(100)).is_some());
        assert_eq!(admitted.count(), 10);
        assert_eq!(limit.admit(at(110)), Some(15));
        assert_eq!(limit.admit(at(111)), Some(0));
    }
}
