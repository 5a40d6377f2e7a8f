//! `Mark`: a small file beside the database that records which database it was, and how many
//! changes it had acknowledged. A database that is behind its mark is an older copy, or has lost
//! its write-ahead log; one with another identity is another database.
//!
//! It is written after each change and before the answer to it, and flushed only now and then:
//! after a power cut it may be behind the database, which is as good as true. Two records take
//! turns, so that a torn one leaves the other. A file that was never written as a whole, because the
//! machine stopped when it was new, counts as missing; one whose records are damaged does not.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crc::{CRC_32_ISO_HDLC, Crc};

use crate::private;

const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const VERSION: &str = "leafid-mark 1";
/// Of a record, in bytes; the rest of its line is blank.
const LEN: usize = 128;

#[derive(Debug)]
pub(super) struct Mark {
    file: File,
}

/// How far a database had come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkRecord {
    /// The identity of the database.
    pub(super) identity: String,
    /// How many changes it had acknowledged.
    pub(super) generation: u64,
}

impl Mark {
    /// Opens the mark at `path`, and creates it if it is missing.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = private::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        Ok(Self {
            file: private::open_regular(path, options)?,
        })
    }

    /// The later of the two records; `None` if none was written yet. If both are damaged, the error
    /// is of the kind `InvalidData`.
    pub(super) fn read(&mut self) -> io::Result<Option<MarkRecord>> {
        let mut text = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        let records = &mut self.file;
        records.take(2 * LEN as u64).read_to_end(&mut text)?;
        let records = text.chunks(LEN).filter_map(parse);
        match records.max_by_key(|record| record.generation) {
            None if !text.chunks(LEN).all(is_unfinished) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "neither of its two records can be read, so an older copy of the database would \
                go unnoticed: check the disk; if the database is not an older copy, delete this \
                file",
            )),
            last => Ok(last),
        }
    }

    pub(super) fn write(&mut self, record: &MarkRecord) -> io::Result<()> {
        let place = (record.generation % 2) * LEN as u64;
        self.file.seek(SeekFrom::Start(place))?;
        self.file.write_all(render(record).as_bytes())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn render(record: &MarkRecord) -> String {
    let MarkRecord {
        identity,
        generation,
    } = record;
    let text = format!("{VERSION} {identity} {generation}");
    let sum = CRC.checksum(text.as_bytes());
    format!("{:<width$}\n", format!("{text} {sum:08x}"), width = LEN - 1)
}

fn parse(bytes: &[u8]) -> Option<MarkRecord> {
    let (text, sum) = std::str::from_utf8(bytes).ok()?.trim().rsplit_once(' ')?;
    if format!("{:08x}", CRC.checksum(text.as_bytes())) != sum {
        return None;
    }
    let (identity, generation) = text.strip_prefix(VERSION)?.trim().split_once(' ')?;
    Some(MarkRecord {
        identity: identity.to_owned(),
        generation: generation.parse().ok()?,
    })
}

/// Whether this is the place of a record that was not written as a whole: a power cut leaves zeros
/// instead of a part of the first write to a place, or ends the file within it.
fn is_unfinished(bytes: &[u8]) -> bool {
    let len = bytes.iter().rposition(|byte| *byte != 0);
    let written = &bytes[..len.map_or(0, |last| last + 1)];
    let start = &VERSION.as_bytes()[..VERSION.len().min(written.len())];
    written.len() < LEN && written.starts_with(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(generation: u64) -> MarkRecord {
        MarkRecord {
            identity: "d".repeat(32),
            generation,
        }
    }

    /// Guards that if a record was torn by a power cut, the one before is used.
    #[test]
    fn the_last_whole_record_counts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("mark");
        let mut mark = Mark::open(&path).expect("a new file");
        assert_eq!(mark.read().expect("an empty file"), None);
        for generation in [1, 2, 3, u64::MAX - 1, u64::MAX] {
            mark.write(&record(generation)).expect("room");
            let read = Mark::open(&path).expect("the file").read().expect("it");
            assert_eq!(read, Some(record(generation)));
        }
        let mut bytes = std::fs::read(&path).expect("the file");
        assert_eq!(bytes.len(), 2 * LEN);
        bytes[LEN + 20] ^= 1;
        std::fs::write(&path, bytes).expect("room");
        assert_eq!(mark.read().expect("the file"), Some(record(u64::MAX - 1)));
    }

    /// Guards that damage is told from a file that was new when the machine stopped.
    #[test]
    fn a_damaged_mark_is_not_a_missing_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("mark");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("room");
            Mark::open(&path).expect("the file").read()
        };
        let [first, second] = [render(&record(2)), render(&record(3))];
        let whole = [first.as_bytes(), second.as_bytes()].concat();
        for len in 0..first.trim_end().len() {
            // The end of the file, or zeros, instead of the rest.
            let mut bytes = whole[..len].to_vec();
            assert_eq!(read(&bytes).expect("unfinished"), None, "{len}");
            bytes.resize(LEN, 0);
            assert_eq!(read(&bytes).expect("unfinished"), None, "{len}");
            let behind = [&[0; LEN][..], &whole[..len]].concat();
            assert_eq!(read(&behind).expect("unfinished"), None, "{len}");
        }
        let check = |bytes: &[u8]| {
            let error = read(bytes).expect_err("damaged");
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        };
        for damaged in 0..LEN - 1 {
            let mut bytes = whole.clone();
            bytes[damaged] ^= 0x11;
            bytes[LEN + damaged] ^= 0x11;
            check(&bytes);
            check(&bytes[..LEN]);
        }
        check(&[b'x'; 2 * LEN]);
        check(b"x");
    }

    /// Guards that no text of a mark panics, and that a record is written as it was read.
    #[test]
    fn marks_of_any_text_are_read_or_refused() {
        leafid_fuzz::fuzz("marks", |data| {
            let text = str::from_utf8(data).unwrap_or_default();
            let _damaged = (parse(data), is_unfinished(data));
            let sum = CRC.checksum(text.as_bytes());
            let Some(record) = parse(format!("{text} {sum:08x}").as_bytes()) else {
                return false;
            };
            assert_eq!(parse(render(&record).as_bytes()), Some(record));
            true
        });
    }
}
