//! `Frames`: detects floods of HTTP/2 frames (DoS). Frames that request no answer are cheap to send
//! but not free to read: a peer that sends little else is cut off. Only frame headers and
//! the lengths in header blocks are read; nothing is changed or delayed.
//!
//! A credit counter: each frame that carries a request, or a part of one, adds credit; each other
//! frame uses some. Time adds credit, and so do bytes sent to the peer, which has to acknowledge
//! them. Any normal client has far more than it needs.

use tokio::time::Instant;

use super::hpack_table::HpackTable;

/// The length of a frame header (RFC 9113, section 4.1).
const HEAD_LEN: usize = 9;

/// The maximum credit, with which a connection starts.
const CREDIT_MAX: i64 = 4000;
/// The credit of a frame of a request.
const REQUEST_CREDIT: i64 = 32;
/// The credit of each millisecond.
const CREDIT_PER_MS: i64 = 1;
/// How many bytes sent to the peer add one credit.
const BYTES_PER_CREDIT: u64 = 1024;

/// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;

/// Flags of HEADERS (RFC 9113, section 6.2), and the bytes that the second announces.
const HAS_PADDING: u8 = 0x08;
const HAS_PRIORITY: u8 = 0x20;
const PRIORITY_LEN: usize = 5;

/// The frame parser of one connection.
pub(crate) struct Frames {
    /// The header of the next frame, as far as it has arrived.
    head: [u8; HEAD_LEN],
    head_len: usize,
    /// Bytes to skip before the next header.
    skip: usize,
    /// Where those are a part of a header block.
    block: Option<BlockPart>,
    table: HpackTable,
    credit: i64,
    /// When credit was last added for time, and for how many sent bytes.
    since: Instant,
    sent: u64,
}

/// A frame's part of a header block: what stands around it.
#[derive(Debug, Clone, Copy)]
struct BlockPart {
    /// Bytes before the block, of which the first may be the length of the padding.
    lead_len: usize,
    is_padded: bool,
    pad_len: usize,
}

/// The peer sends little but frames that request no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flood;

impl Frames {
    /// For a connection with this many bytes before the first frame.
    pub(crate) fn new(skip: usize) -> Self {
        Self {
            head: [0; HEAD_LEN],
            head_len: 0,
            skip,
            block: None,
            table: HpackTable::default(),
            credit: CREDIT_MAX,
            since: Instant::now(),
            sent: 0,
        }
    }

    /// Checks bytes that arrived; `sent` bytes were sent to the peer so far.
    ///
    /// # Errors
    ///
    /// [`Flood`].
    #[inline]
    pub(crate) fn read(&mut self, mut bytes: &[u8], sent: u64) -> Result<(), Flood> {
        while !bytes.is_empty() {
            let passed = self.skip.min(bytes.len());
            self.table.count(passed);
            if self.block.is_some() {
                self.read_block(&bytes[..passed]);
            }
            self.skip -= passed;
            bytes = &bytes[passed..];
            let taken = (HEAD_LEN - self.head_len).min(bytes.len());
            self.head[self.head_len..][..taken].copy_from_slice(&bytes[..taken]);
            self.head_len += taken;
            bytes = &bytes[taken..];
            if self.head_len == HEAD_LEN {
                self.head_len = 0;
                self.charge(sent)?;
            }
        }
        Ok(())
    }

    fn charge(&mut self, sent: u64) -> Result<(), Flood> {
        let [l0, l1, l2, kind, flags, ..] = self.head;
        let len = u32::from_be_bytes([0, l0, l1, l2]);
        // The length has 24 bits.
        self.skip = usize::try_from(len).unwrap_or(usize::MAX);
        self.begin_block(kind, flags);
        let credit = match kind {
            HEADERS => REQUEST_CREDIT,
            DATA if len > 0 => REQUEST_CREDIT,
            // Uses more than its request added: clients may cancel some requests, not all.
            RST_STREAM => -REQUEST_CREDIT - 4,
            // Frames that require an answer.
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

    /// Memory that the peer's HPACK table keeps alive, in bytes.
    pub(crate) const fn kept_len(&self) -> usize {
        self.table.kept_len()
    }

    /// Reads bytes of a frame with a part of a header block, whose rest has `skip` bytes.
    fn read_block(&mut self, mut bytes: &[u8]) {
        let Some(block) = &mut self.block else {
            return;
        };
        let mut left = self.skip;
        while block.lead_len > 0
            && let [byte, rest @ ..] = bytes
        {
            if std::mem::take(&mut block.is_padded) {
                block.pad_len = usize::from(*byte);
            }
            block.lead_len -= 1;
            left -= 1;
            bytes = rest;
        }
        let len = left.saturating_sub(block.pad_len).min(bytes.len());
        self.table.read(&bytes[..len]);
    }

    /// What a frame holds of a header block.
    fn begin_block(&mut self, kind: u8, flags: u8) {
        let has = |flag| kind == HEADERS && flags & flag != 0;
        let is_padded = has(HAS_PADDING);
        let priority_len = if has(HAS_PRIORITY) { PRIORITY_LEN } else { 0 };
        self.block = matches!(kind, HEADERS | CONTINUATION).then_some(BlockPart {
            lead_len: usize::from(is_padded) + priority_len,
            is_padded,
            pad_len: 0,
        });
        if kind == HEADERS {
            self.table.begin();
        }
    }

    /// Adds credit for the time that has passed, and for bytes sent to the peer.
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

    /// After how many rounds these frames count as a flood; `None`: not in a million.
    fn flood_after(round: &[(u8, u8)], sent_each: u64) -> Option<u64> {
        let round: Vec<u8> = round
            .iter()
            .flat_map(|(kind, len)| frame(*kind, *len))
            .collect();
        let mut frames = Frames::new(0);
        (0..1_000_000).find(|count| frames.read(&round, count * sent_each).is_err())
    }

    /// Guards that each kind of flood is detected, and normal clients are not.
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
        // All requests are cancelled.
        assert!(flood_after(&[(HEADERS, 40), (RST_STREAM, 4)], 0).is_some());
        // One in ten is cancelled.
        let mut calls = [(HEADERS, 40), (DATA, 20)].repeat(10);
        calls.push((RST_STREAM, 4));
        assert_eq!(flood_after(&calls, 0), None);
        // Each answer is acknowledged twice, and the round-trip time measured.
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

    /// Guards that an idle connection with any number of keep-alive PINGs is not a flood, and that
    /// frames are found wherever the reads were cut.
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

    /// As many entries as the table has room for, each with its largest buffer.
    const KEPT_LEN_MAX: usize = 4096 / 32 * 24 * 1024;

    /// Guards that no bytes panic, that it does not matter how they are cut, and that what a table
    /// is said to keep has a bound.
    #[test]
    fn any_frames_are_read_alike_however_they_are_cut() {
        leafid_fuzz::fuzz("http2-frames", |data| {
            let mut whole = Frames::new(0);
            let is_flood = whole.read(data, 0).is_err();
            for len in [1, 2, 7, 64] {
                let mut cut = Frames::new(0);
                let mut parts = data.chunks(len);
                let is_cut_off = parts.any(|part| cut.read(part, 0).is_err());
                // Time adds credit.
                if is_flood || is_cut_off {
                    continue;
                }
                let state = |frames: &Frames| (frames.skip, frames.head_len);
                assert_eq!(state(&cut), state(&whole), "cut after {len}");
                assert!(cut.kept_len() <= KEPT_LEN_MAX);
            }
            assert!(whole.kept_len() <= KEPT_LEN_MAX);
            whole.kept_len() > 0
        });
    }
}
