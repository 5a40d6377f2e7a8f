//! `Slots`: a journal's file as two slots for a record. A record is written to one, flushed, and
//! then written to the other and flushed; only then does it count. So whatever becomes of a write,
//! one of the two is complete, and one that is damaged later is detected.
//!
//! A file of an earlier version is shorter and has a text of that version at its front, which
//! counts until the second slot holds a record.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use leafid::store::{JournalRecord, StoreError};

use super::text::{self, Problem, TEXT_LEN_MAX as SLOT_LEN, Text};

const FILE_LEN: usize = SLOT_LEN * 2;

/// The file of a journal.
pub(super) trait Disk {
    /// Reads from the front, up to `len` bytes.
    fn read(&mut self, len: usize) -> io::Result<Vec<u8>>;
    fn write(&mut self, at: usize, bytes: &[u8]) -> io::Result<()>;
    fn flush(&mut self) -> io::Result<()>;
}

impl Disk for File {
    fn read(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.seek(SeekFrom::Start(0))?;
        Read::take(self, len as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&mut self, at: usize, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(at as u64))?;
        self.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Why nothing can be read.
#[derive(Debug)]
pub(super) enum ReadError {
    Io(io::Error),
    Text(Problem),
}

/// Why a record does not count as written.
#[derive(Debug)]
pub(super) enum WriteError {
    /// A retry may succeed.
    Write(io::Error),
    /// A retry may report success, and prove nothing.
    Flush(io::Error),
}

#[derive(Debug)]
pub(super) struct Slots<D> {
    disk: D,
    /// The state of the file since it was read.
    known: Option<Known>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    /// The number of the record that was tried last.
    number: u64,
    /// The slot that is written first: the other one may be the only complete one.
    first: usize,
    is_long: bool,
}

/// One of the two slots.
enum Slot {
    Empty,
    Whole(Box<Text>),
    Bad(Problem),
}

impl<D: Disk> Slots<D> {
    pub(super) const fn new(disk: D) -> Self {
        Self { disk, known: None }
    }

    /// The valid record; `None` if none was ever written.
    pub(super) fn read(&mut self) -> Result<Option<Text>, ReadError> {
        let bytes = self.disk.read(FILE_LEN + 1).map_err(ReadError::Io)?;
        let is_long = bytes.len() == FILE_LEN;
        let middle = bytes.len().min(SLOT_LEN);
        let [front, back] = [&bytes[..middle], &bytes[middle..]].map(slot);
        if bytes.len() > FILE_LEN {
            return Err(ReadError::Text(Problem::Damaged));
        }
        let number = |slot: &Slot| match slot {
            Slot::Whole(text) => Some(text.number),
            _ => None,
        };
        // The slot that does not hold the newest complete record is written first.
        let first = usize::from(number(&front) > number(&back));
        let last = number(&front).max(number(&back)).unwrap_or(0);
        let found = match (front, back) {
            // A newer version knows what the other slot is for.
            (Slot::Bad(Problem::OtherVersion), _) | (_, Slot::Bad(Problem::OtherVersion)) => {
                return Err(ReadError::Text(Problem::OtherVersion));
            }
            (Slot::Whole(front), Slot::Whole(back)) if front.number > back.number => Some(front),
            (_, Slot::Whole(text)) | (Slot::Whole(text), _) => Some(text),
            (Slot::Empty, Slot::Empty) => None,
            // The very first write was cut off. A file of an earlier version is shorter.
            (Slot::Bad(_), Slot::Empty) | (Slot::Empty, Slot::Bad(_)) if is_long => None,
            _ => return Err(ReadError::Text(Problem::Damaged)),
        };
        self.known = Some(Known {
            number: last,
            first,
            is_long,
        });
        Ok(found.map(|text| *text))
    }

    /// Writes a record.
    ///
    /// # Errors
    ///
    /// When it has no text; else, within the answer, [`WriteError`].
    pub(super) fn write(
        &mut self,
        record: &JournalRecord,
        file: &str,
    ) -> Result<Result<(), WriteError>, StoreError> {
        let known = match self.known_now() {
            Ok(known) => known,
            Err(fault) => return Ok(Err(fault)),
        };
        let text = text::render(record, file, known.number + 1)?;
        Ok(self.try_write(known, text.into_bytes()))
    }

    fn try_write(&mut self, mut known: Known, mut bytes: Vec<u8>) -> Result<(), WriteError> {
        if !known.is_long && known.number == 0 && known.first == 0 {
            // From here on a file of this length is recognised as one of this version.
            let zeros = self.disk.write(0, &[0; FILE_LEN]);
            zeros.map_err(WriteError::Write)?;
            self.disk.flush().map_err(WriteError::Flush)?;
            known.is_long = true;
        }
        known.number += 1;
        bytes.resize(SLOT_LEN, 0);
        for slot in [known.first, 1 - known.first] {
            // Until it is complete, this is the slot to begin with.
            self.known = Some(Known {
                first: slot,
                ..known
            });
            let written = self.disk.write(slot * SLOT_LEN, &bytes);
            written.map_err(WriteError::Write)?;
            self.disk.flush().map_err(WriteError::Flush)?;
        }
        Ok(())
    }

    /// What it holds must not be overwritten unread.
    fn known_now(&mut self) -> Result<Known, WriteError> {
        if let Some(known) = self.known {
            return Ok(known);
        }
        let found = self.read();
        match (found, self.known) {
            (Ok(_), Some(known)) => Ok(known),
            (Err(ReadError::Io(error)), _) => Err(WriteError::Write(error)),
            (Err(ReadError::Text(problem)), _) => {
                Err(WriteError::Write(io::Error::other(format!("it {problem}"))))
            }
            (Ok(_), None) => Err(WriteError::Write(io::Error::other("it was not read"))),
        }
    }
}

fn slot(bytes: &[u8]) -> Slot {
    let end = bytes.iter().rposition(|byte| *byte != 0);
    match end {
        None => Slot::Empty,
        Some(end) => match text::parse(&bytes[..=end]) {
            Ok(text) => Slot::Whole(Box::new(text)),
            Err(problem) => Slot::Bad(problem),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that fails as the test says; a write that fails leaves half of it.
    #[derive(Debug, Default)]
    struct Faulty {
        bytes: Vec<u8>,
        /// Writes and flushes until one fails.
        left: Option<usize>,
    }

    impl Faulty {
        fn fails(&mut self) -> bool {
            let left = self.left.map(|left| left.saturating_sub(1));
            std::mem::replace(&mut self.left, left) == Some(0)
        }
    }

    impl Disk for Faulty {
        fn read(&mut self, len: usize) -> io::Result<Vec<u8>> {
            Ok(self.bytes.iter().take(len).copied().collect())
        }

        fn write(&mut self, at: usize, bytes: &[u8]) -> io::Result<()> {
            let fails = self.fails();
            let len = if fails { bytes.len() / 64 } else { bytes.len() };
            let end = (at + len).max(self.bytes.len());
            self.bytes.resize(end, 0);
            self.bytes[at..at + len].copy_from_slice(&bytes[..len]);
            match fails {
                true => Err(io::Error::from(io::ErrorKind::StorageFull)),
                false => Ok(()),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            match self.fails() {
                true => Err(io::Error::other("flush")),
                false => Ok(()),
            }
        }
    }

    fn record(floor_ms: u64) -> JournalRecord {
        JournalRecord {
            floor_ms,
            ..JournalRecord::new("6f1c", "leaf")
        }
    }

    fn found(bytes: &[u8]) -> Option<u64> {
        let disk = Faulty {
            bytes: bytes.to_vec(),
            left: None,
        };
        let text = Slots::new(disk)
            .read()
            .unwrap_or_else(|fault| panic!("{fault:?}"));
        text.map(|text| text.record.floor_ms)
    }

    fn write(slots: &mut Slots<Faulty>, floor_ms: u64) -> Result<(), WriteError> {
        slots.write(&record(floor_ms), "1-2").unwrap()
    }

    /// Guards that wherever a write is cut off, the former record or the new one is there, and that
    /// the next write succeeds.
    #[test]
    fn a_write_that_fails_leaves_one_record_whole() {
        for former in [0, 1, 2] {
            for cut in 0..6 {
                let mut slots = Slots::new(Faulty::default());
                assert!(slots.read().is_ok());
                (1..=former).for_each(|floor_ms| write(&mut slots, floor_ms).unwrap());
                slots.disk.left = Some(cut);
                let fails = write(&mut slots, 7).is_err();
                assert_eq!(fails, cut < if former == 0 { 6 } else { 4 });
                slots.disk.left = None;
                let there = found(&slots.disk.bytes);
                let was = (former > 0).then_some(former);
                assert!(
                    there == Some(7) || fails && there == was,
                    "{former} {cut} {there:?}"
                );
                write(&mut slots, 8).unwrap();
                assert_eq!(found(&slots.disk.bytes), Some(8));
                // The other slot has it too.
                for place in [0, SLOT_LEN] {
                    let mut bytes = slots.disk.bytes.clone();
                    bytes[place + 30] ^= 1;
                    assert_eq!(found(&bytes), Some(8), "{former} {cut}");
                }
            }
        }
    }

    /// Guards that a handle which has not read the file does not overwrite it.
    #[test]
    fn numbers_go_on_from_what_is_there() {
        let mut slots = Slots::new(Faulty::default());
        (1..=5).for_each(|floor_ms| write(&mut slots, floor_ms).unwrap());
        let mut again = Slots::new(slots.disk);
        write(&mut again, 6).unwrap();
        assert_eq!(found(&again.disk.bytes), Some(6));
    }
}
