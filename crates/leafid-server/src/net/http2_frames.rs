//! `Frames`: what a peer sends over HTTP/2, looked at frame by frame as it comes in. Frames that ask
//! for no answer are cheap to send and not free to read: who sends little else is found out, and
//! its connection is cut. Nothing is changed or held back, and nothing but the heads is read.
//!
//! Each frame that carries a request, or a part of one, gives credit; each other frame takes some.
//! Time gives credit too, and so do bytes that the peer was sent, as it has to say how far it read
//! them. A client of any kind has far more than it needs.

use tokio::time::Instant;

/// Bytes before the payload of a frame (RFC 9113, section 4.1).
const HEAD_LEN: usize = 9;

/// The most credit that is kept, and what a connection begins with.
const CREDIT_MAX: i64 = 4000;
/// What a frame of a request gives.
const REQUEST_CREDIT: i64 = 32;
/// What passing time gives, each millisecond.
const CREDIT_PER_MS: i64 = 1;
/// So many bytes that were sent to the peer give one.
const BYTES_PER_CREDIT: u64 = 1024;

/// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;

/// The frames of one connection.
pub(crate) struct Frames {
    /// The head of the next frame, as far as it came in.
    head: [u8; HEAD_LEN],
    head_len: usize,
    /// Bytes to pass over before the next head.
    skip: usize,
    credit: i64,
    /// When credit was last given for time, and for how many bytes that were sent.
    since: Instant,
    sent: u64,
}

/// A peer that sends little but frames that ask for no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flood;

impl Frames {
    /// Of a connection on which so many bytes come before the first frame.
    pub(crate) fn new(skip: usize) -> Self {
        Self {
            head: [0; HEAD_LEN],
            head_len: 0,
            skip,
            credit: CREDIT_MAX,
            since: Instant::now(),
            sent: 0,
        }
    }

    /// Looks at bytes that came in; the peer was sent `sent` bytes so far.
    ///
    /// # Errors
    ///
    /// [`Flood`].
    #[inline]
    pub(crate) fn read(&mut self, mut bytes: &[u8], sent: u64) -> Result<(), Flood> {
        while !bytes.is_empty() {
            let passed = self.skip.min(bytes.len());
            self.skip -= passed;
            bytes = &bytes[passed..];
            let taken = (HEAD_LEN - self.head_len).min(bytes.len());
            self.head[self.head_len..][..taken].copy_from_slice(&bytes[..taken]);
            self.head_len += taken;
            bytes = &bytes[taken..];
            if self.head_len == HEAD_LEN {
                self.head_len = 0;
                self.judge(sent)?;
            }
        }
        Ok(())
    }

    fn judge(&mut self, sent: u64) -> Result<(), Flood> {
        let [l0, l1, l2, kind, ..] = self.head;
        let len = u32::from_be_bytes([0, l0, l1, l2]);
        // It has 24 bits.
        self.skip = usize::try_from(len).unwrap_or(usize::MAX);
        let credit = match kind {
            HEADERS => REQUEST_CREDIT,
            DATA if len > 0 => REQUEST_CREDIT,
            // More than its request gave: a few may be given up, not all of them.
            RST_STREAM => -REQUEST_CREDIT - 4,
            // Those that we have to answer.
            SETTINGS | PING => -4,
            _ => -1,
        };
        self.credit = (self.credit + credit).min(CREDIT_MAX);
        if self.credit < 0 {
            self.earn(sent);
        }
        match self.credit < 0 {
            true => Err(Flood),
            false => Ok(()),
        }
    }

    /// Credit for the time that has passed, and for what the peer was sent.
    #[cold]
    fn earn(&mut self, sent: u64) {
        let now = Instant::now();
        let passed = now.duration_since(self.since).as_millis();
        let for_time = i64::try_from(passed).unwrap_or(CREDIT_MAX) * CREDIT_PER_MS;
        let for_bytes = sent.wrapping_sub(self.sent) / BYTES_PER_CREDIT;
        let for_bytes = i64::try_from(for_bytes).unwrap_or(CREDIT_MAX);
        (self.since, self.sent) = (now, sent);
        let earned = for_time.min(CREDIT_MAX) + for_bytes.min(CREDIT_MAX);
        self.credit = (self.credit + earned).min(CREDIT_MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PRIORITY: u8 = 2;
    const WINDOW_UPDATE: u8 = 8;
    const UNKNOWN: u8 = 0xbe;

    fn frame(kind: u8, len: u8) -> Vec<u8> {
        let mut frame = vec![0; HEAD_LEN + usize::from(len)];
        (frame[2], frame[3]) = (len, kind);
        frame
    }

    /// After how many rounds of these frames it is a flood; `None`: not in a million.
    fn flood_after(round: &[(u8, u8)], sent_each: u64) -> Option<u64> {
        let round: Vec<u8> = round
            .iter()
            .flat_map(|(kind, len)| frame(*kind, *len))
            .collect();
        let mut frames = Frames::new(0);
        (0..1_000_000).find(|count| frames.read(&round, count * sent_each).is_err())
    }

    /// Guards: each kind of flood is found, and what clients do is none.
    #[tokio::test(start_paused = true)]
    async fn floods_are_told_from_clients() {
        for (kind, len) in [
            (PRIORITY, 5),
            (SETTINGS, 6),
            (PING, 8),
            (WINDOW_UPDATE, 4),
            (UNKNOWN, 100),
            (DATA, 0),
        ] {
            let after = flood_after(&[(kind, len)], 0);
            assert!(
                after.is_some_and(|count| count <= 4000),
                "{kind}: {after:?}"
            );
        }
        // Requests that are all given up.
        assert!(flood_after(&[(HEADERS, 40), (RST_STREAM, 4)], 0).is_some());
        // One in ten is.
        let mut calls = [(HEADERS, 40), (DATA, 20)].repeat(10);
        calls.push((RST_STREAM, 4));
        assert_eq!(flood_after(&calls, 0), None);
        // Each answer acknowledged twice, and the time of the way measured.
        let stream = [
            (DATA, 20),
            (WINDOW_UPDATE, 4),
            (WINDOW_UPDATE, 4),
            (PING, 8),
        ];
        assert_eq!(flood_after(&stream, 0), None);
        // Long answers to one request.
        let download = [(WINDOW_UPDATE, 4), (WINDOW_UPDATE, 4), (PING, 8)];
        assert_eq!(flood_after(&download, 16 * 1024), None);
    }

    /// Guards: a connection at rest that is kept alive with PINGs, however often, is no flood, and
    /// frames are found wherever what came in was cut.
    #[tokio::test(start_paused = true)]
    async fn time_gives_credit() {
        let mut frames = Frames::new(24);
        assert_eq!(frames.read(&[b'x'; 24], 0), Ok(()));
        for _ in 0..10_000 {
            for byte in frame(PING, 8) {
                assert_eq!(frames.read(&[byte], 0), Ok(()));
            }
            tokio::time::advance(Duration::from_millis(10)).await;
        }
    }
}
