//! `HpackTable`: how much memory a peer's HPACK table keeps alive, found by walking through header
//! blocks as they come in.
//!
//! The HTTP/2 library takes names and values out of the buffer that a frame was read into without
//! copying them, so an entry of some bytes keeps a buffer of up to 16 KiB, and a table of 4096
//! bytes some megabytes. What is counted for an entry is all that came in since the entry before
//! it, up to the size of a buffer: a frame's header block and bodies in between alike.
//!
//! Only lengths are read (RFC 7541, sections 5 and 6), nothing is decoded. Sizes of entries are
//! lower bounds, so the table holds at most the entries that are counted here.

use std::collections::VecDeque;

/// Bytes of entries that the table may hold. The server does not change the default.
const TABLE_LEN_MAX: usize = 4096;
/// What each entry takes of the table beside its name and value (RFC 7541, section 4.1).
const ENTRY_OVERHEAD: usize = 32;
/// The most that an entry can keep: a frame of the largest size, and what was read with it.
const KEPT_LEN_MAX: usize = 24 * 1024;

/// The dynamic table of a connection.
#[derive(Debug, Default)]
pub(super) struct HpackTable {
    state: State,
    entries: VecDeque<Entry>,
    /// Sums over the entries.
    table_len: usize,
    kept_len: usize,
    /// Bytes that came in since the newest entry.
    since_entry: usize,
    /// Bytes of the entry that is read, and whether it goes into the table.
    entry_len: usize,
    is_indexed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    len: usize,
    kept_len: usize,
}

/// What comes next in a block.
#[derive(Debug, Clone, Copy, Default)]
enum State {
    /// A representation: the reference to an entry, a literal or a new size.
    #[default]
    Representation,
    /// The length of a string.
    Length(Text),
    /// More bytes of a number.
    Number {
        value: usize,
        shift: u32,
        of: Number,
    },
    /// The bytes of a string.
    Skip { left: usize, text: Text },
}

/// A string of a literal.
#[derive(Debug, Clone, Copy)]
enum Text {
    Name,
    Value,
}

/// What a number is.
#[derive(Debug, Clone, Copy)]
enum Number {
    /// The index of an entry.
    Reference,
    /// The index of a literal's name; 0: the name follows.
    Name,
    TableSize,
    Length {
        text: Text,
        is_huffman: bool,
    },
}

impl HpackTable {
    /// Memory that the entries keep alive, in bytes.
    pub(super) const fn kept_len(&self) -> usize {
        self.kept_len
    }

    /// Counts bytes that came in, of whatever frame.
    pub(super) const fn count(&mut self, len: usize) {
        self.since_entry = self.since_entry.saturating_add(len);
    }

    /// Begins a header block.
    pub(super) const fn begin(&mut self) {
        self.state = State::Representation;
    }

    /// Walks through bytes of a header block.
    pub(super) fn read(&mut self, mut bytes: &[u8]) {
        while let [byte, rest @ ..] = bytes {
            bytes = match self.state {
                State::Skip { left, text } => {
                    let passed = left.min(bytes.len());
                    self.skipped(left - passed, text);
                    &bytes[passed..]
                }
                state => {
                    self.step(state, *byte);
                    rest
                }
            };
        }
    }

    fn step(&mut self, state: State, byte: u8) {
        match state {
            State::Representation => {
                let (bits, of) = match byte {
                    0x80.. => (7, Number::Reference),
                    0x40.. => (6, Number::Name),
                    0x20.. => (5, Number::TableSize),
                    _ => (4, Number::Name),
                };
                self.is_indexed = byte & 0xc0 == 0x40;
                self.entry_len = ENTRY_OVERHEAD;
                self.number(byte, bits, of);
            }
            State::Length(text) => {
                let is_huffman = byte & 0x80 != 0;
                self.number(byte, 7, Number::Length { text, is_huffman });
            }
            State::Number { value, shift, of } => {
                let more = usize::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
                let value = value.saturating_add(more);
                match byte & 0x80 {
                    0 => self.found(value, of),
                    _ => {
                        let shift = shift + 7;
                        self.state = State::Number { value, shift, of };
                    }
                }
            }
            State::Skip { .. } => {}
        }
    }

    /// A number that begins in the last bits of a byte (RFC 7541, section 5.1).
    fn number(&mut self, byte: u8, bits: u32, of: Number) {
        let max = (1 << bits) - 1;
        match usize::from(byte) & max {
            value if value == max => {
                let shift = 0;
                self.state = State::Number { value, shift, of };
            }
            value => self.found(value, of),
        }
    }

    fn found(&mut self, value: usize, of: Number) {
        self.state = match of {
            Number::Reference => State::Representation,
            Number::TableSize => {
                self.evict(value);
                State::Representation
            }
            Number::Name if value == 0 => State::Length(Text::Name),
            Number::Name => State::Length(Text::Value),
            Number::Length { text, is_huffman } => {
                // No code has more than 30 bits.
                let len = if is_huffman { value / 30 * 8 } else { value };
                self.entry_len = self.entry_len.saturating_add(len);
                return self.skipped(value, text);
            }
        };
    }

    /// Goes on in a string, of which so many bytes are left.
    fn skipped(&mut self, left: usize, text: Text) {
        self.state = match text {
            text if left > 0 => State::Skip { left, text },
            Text::Name => State::Length(Text::Value),
            Text::Value => {
                if self.is_indexed {
                    self.insert();
                }
                State::Representation
            }
        };
    }

    fn insert(&mut self) {
        let len = self.entry_len;
        self.evict(TABLE_LEN_MAX.saturating_sub(len));
        let kept_len = std::mem::take(&mut self.since_entry).min(KEPT_LEN_MAX);
        if len <= TABLE_LEN_MAX {
            self.entries.push_back(Entry { len, kept_len });
            self.table_len += len;
            self.kept_len += kept_len;
        }
    }

    /// Takes the oldest entries away until so many bytes are left.
    fn evict(&mut self, len_max: usize) {
        while self.table_len > len_max
            && let Some(oldest) = self.entries.pop_front()
        {
            self.table_len -= oldest.len;
            self.kept_len -= oldest.kept_len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &[u8]) -> Vec<u8> {
        let mut encoded = number(0, 7, text.len());
        encoded.extend(text);
        encoded
    }

    fn number(first: u8, bits: u32, value: usize) -> Vec<u8> {
        let max = (1 << bits) - 1;
        if value < max {
            return vec![first | u8::try_from(value).unwrap()];
        }
        let mut encoded = vec![first | u8::try_from(max).unwrap()];
        let mut rest = value - max;
        while rest >= 128 {
            encoded.push(u8::try_from(rest % 128).unwrap() | 128);
            rest /= 128;
        }
        encoded.push(u8::try_from(rest).unwrap());
        encoded
    }

    fn read(table: &mut HpackTable, block: &[u8], at_once: usize) {
        table.begin();
        table.count(block.len());
        block.chunks(at_once).for_each(|part| table.read(part));
    }

    /// The examples of RFC 7541, appendix C.2 to C.4: the sizes of the table after each block.
    #[test]
    fn blocks_are_walked_through_as_the_standard_says() {
        let check = |blocks: &[&[u8]], wanted: &[usize]| {
            for at_once in [1, 3, 1000] {
                let mut table = HpackTable::default();
                let lens = blocks.iter().map(|block| {
                    read(&mut table, block, at_once);
                    table.entries.len()
                });
                assert_eq!(lens.collect::<Vec<_>>(), wanted);
            }
        };
        // C.2: with indexing, without, never, and a reference.
        check(&[b"\x40\x0acustom-key\x0dcustom-header"], &[1]);
        check(&[b"\x04\x0c/sample/path"], &[0]);
        check(&[b"\x10\x08password\x06secret"], &[0]);
        check(&[b"\x82"], &[0]);
        // C.3: three requests.
        check(
            &[
                b"\x82\x86\x84\x41\x0fwww.example.com",
                b"\x82\x86\x84\xbe\x58\x08no-cache",
                b"\x82\x87\x85\xbf\x40\x0acustom-key\x0ccustom-value",
            ],
            &[1, 2, 3],
        );
        // C.4: the same in Huffman's code.
        check(
            &[
                b"\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff",
                b"\x82\x86\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf",
                b"\x82\x87\x85\xbf\x40\x88\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f\x89\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf",
            ],
            &[1, 2, 3],
        );
        // C.5.1: a new size, which takes entries away.
        check(
            &[b"\x41\x0fwww.example.com", b"\x3f\x19\x82", b"\x20"],
            &[1, 1, 0],
        );
    }

    /// Guards: small entries that each keep the buffer of a large frame are seen, and large
    /// headers that are not indexed keep nothing.
    #[test]
    fn what_small_entries_keep_is_counted() {
        let large = [b"\x00\x01x".to_vec(), text(&[b'a'; 15_000])].concat();
        let request =
            |authority: &[u8]| [b"\x82\x86", authority, b"\x09localhost", &large].concat();
        let mut table = HpackTable::default();
        for _ in 0..200 {
            read(&mut table, &request(b"\x01"), 4096);
        }
        assert_eq!(table.kept_len(), 0);
        for _ in 0..200 {
            read(&mut table, &request(b"\x41"), 4096);
        }
        let entries = TABLE_LEN_MAX / (ENTRY_OVERHEAD + "localhost".len());
        assert_eq!(table.entries.len(), entries);
        let kept_len = table.kept_len();
        assert!(
            (entries * 15_000..entries * 15_100).contains(&kept_len),
            "{kept_len}"
        );
        // Bodies between the requests count as well, up to the size of a buffer.
        let mut table = HpackTable::default();
        for _ in 0..10 {
            table.count(100_000);
            read(&mut table, b"\x41\x01a", 10);
        }
        assert_eq!(table.kept_len(), 10 * KEPT_LEN_MAX);
        read(&mut table, b"\x20", 1);
        assert_eq!((table.kept_len(), table.table_len), (0, 0));
    }

    /// Guards against sums that overflow, and a table without end.
    #[test]
    fn any_bytes_are_walked_through() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut table = HpackTable::default();
        for _ in 0..20_000 {
            let block: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(64).collect();
            read(&mut table, &block, 64);
            assert!(table.table_len <= TABLE_LEN_MAX && table.entries.len() <= 128);
        }
        read(&mut table, &[0x7f; 1], 1);
        read(&mut table, &[0xff; 4096], 4096);
    }
}
