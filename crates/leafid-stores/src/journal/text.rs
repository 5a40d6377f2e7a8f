//! The text of a journal: a line per field, the last one with a checksum of those before.
//!
//! A text counts only if it is, byte by byte, what would be written for the record in it.

use std::fmt::{self, Write};
use std::str::{FromStr, Lines};

use crc::{CRC_32_ISO_HDLC, Crc};
use leafid::WorkerId;
use leafid::store::{JournalLease, JournalRecord, StoreError};

/// In bytes; a record is far shorter.
pub(super) const LEN_MAX: u64 = 4096;

const VERSION: &str = "leafid-journal 1";
const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Why a text is no record. Reads on from "the journal PATH".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    Damaged,
    OtherVersion,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Damaged => {
                "is damaged: check the disk, and that the clock is right; then move the file away, \
                and this server starts as a new one with another worker id"
            }
            Self::OtherVersion => {
                "was written by another version of leafid: run that one, or move the file away, \
                and this server starts as a new one with another worker id"
            }
        })
    }
}

/// # Errors
///
/// When a text of the record does not fit on a line.
pub(super) fn render(record: &JournalRecord) -> Result<String, StoreError> {
    let text = rendered(record);
    let texts = [&record.holder, &record.layout];
    if texts.iter().any(|text| text.contains(char::is_control)) || text.len() as u64 > LEN_MAX {
        return Err(StoreError::Unsupported {
            message: "a journal cannot hold this name or layout: it is too long, or has control \
                characters"
                .into(),
        });
    }
    Ok(text)
}

fn rendered(record: &JournalRecord) -> String {
    let JournalRecord {
        holder,
        layout,
        lease,
    } = record;
    let mut text = format!("{VERSION}\nholder {holder}\nlayout {layout}\n");
    if let Some(lease) = lease {
        let JournalLease {
            worker,
            epoch,
            until_ms,
            acknowledged,
            below_ms,
            written_ms,
        } = lease;
        // Writing to a `String` cannot fail.
        let _ = write!(
            text,
            "worker {worker}\nepoch {epoch}\nuntil_ms {until_ms}\nacknowledged {acknowledged}\n\
            below_ms {below_ms}\nwritten_ms {written_ms}\n"
        );
    }
    let crc = CRC.checksum(text.as_bytes());
    format!("{text}crc32 {crc:08x}\n")
}

/// # Errors
///
/// [`Problem`].
pub(super) fn parse(bytes: &[u8]) -> Result<JournalRecord, Problem> {
    let text = str::from_utf8(bytes).map_err(|_| Problem::Damaged)?;
    if is_intact(text) && !text.starts_with(&format!("{VERSION}\n")) {
        return Err(Problem::OtherVersion);
    }
    let record = fields(text).ok_or(Problem::Damaged)?;
    if rendered(&record) == text {
        Ok(record)
    } else {
        Err(Problem::Damaged)
    }
}

/// Whether the last line has the checksum of the others.
fn is_intact(text: &str) -> bool {
    let Some((before, crc)) = text.rsplit_once("crc32 ") else {
        return false;
    };
    crc.trim_end() == format!("{:08x}", CRC.checksum(before.as_bytes()))
}

fn fields(text: &str) -> Option<JournalRecord> {
    let mut lines = text.lines();
    lines.next().filter(|line| *line == VERSION)?;
    let (holder, layout) = (field(&mut lines, "holder")?, field(&mut lines, "layout")?);
    let mut rest = lines.clone();
    let has_lease = !rest.next()?.starts_with("crc32 ");
    let lease = match has_lease {
        true => Some(lease(&mut lines)?),
        false => None,
    };
    Some(JournalRecord {
        holder,
        layout,
        lease,
    })
}

fn lease(lines: &mut Lines<'_>) -> Option<JournalLease> {
    Some(JournalLease {
        worker: WorkerId::new(field(lines, "worker")?),
        epoch: field(lines, "epoch")?,
        until_ms: field(lines, "until_ms")?,
        acknowledged: field(lines, "acknowledged")?,
        below_ms: field(lines, "below_ms")?,
        written_ms: field(lines, "written_ms")?,
    })
}

/// The value on the next line, if that is the line of this field.
fn field<T: FromStr>(lines: &mut Lines<'_>, name: &str) -> Option<T> {
    let value = lines.next()?.strip_prefix(name)?.strip_prefix(' ')?;
    value.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> [JournalRecord; 3] {
        let lease = JournalLease {
            worker: WorkerId::new(u32::MAX),
            epoch: 7,
            until_ms: i64::MAX as u64,
            acknowledged: true,
            below_ms: u64::MAX,
            written_ms: 0,
        };
        let record = JournalRecord {
            holder: "6f1c".into(),
            layout: "41/10/12 @ 2010-11-04 (\"x\" é) crc32 ".into(),
            lease: Some(lease),
        };
        let nobody = JournalRecord {
            holder: String::new(),
            layout: String::new(),
            lease: None,
        };
        let without = JournalRecord {
            lease: None,
            ..record.clone()
        };
        [record, without, nobody]
    }

    #[test]
    fn records_come_back() {
        for record in records() {
            let text = render(&record).unwrap();
            assert_eq!(parse(text.as_bytes()), Ok(record), "{text}");
        }
    }

    /// Guards that no byte can change, go or come without notice.
    #[test]
    fn damage_is_noticed() {
        for record in records() {
            let text = render(&record).unwrap();
            for at in 0..text.len() {
                for flip in 1..=u8::MAX {
                    let mut bytes = text.clone().into_bytes();
                    bytes[at] ^= flip;
                    assert_eq!(parse(&bytes), Err(Problem::Damaged), "{at} {flip}");
                }
                let cut = &text.as_bytes()[..at];
                assert_eq!(parse(cut), Err(Problem::Damaged), "cut at {at}");
            }
            let twice = format!("{text}{text}");
            for odd in [format!("{text}\n"), text.replace('\n', "\r\n"), twice] {
                assert_eq!(parse(odd.as_bytes()), Err(Problem::Damaged), "{odd}");
            }
        }
    }

    #[test]
    fn other_versions_are_told_from_damage() {
        let text = "leafid-journal 2\nholder 6f1c\n";
        let text = format!("{text}crc32 {:08x}\n", CRC.checksum(text.as_bytes()));
        assert_eq!(parse(text.as_bytes()), Err(Problem::OtherVersion));
    }

    #[test]
    fn what_has_no_line_is_refused() {
        for holder in ["a\nb".to_owned(), "h".repeat(5000)] {
            let record = JournalRecord {
                holder,
                ..records()[1].clone()
            };
            let error = render(&record).unwrap_err();
            assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
        }
    }
}
