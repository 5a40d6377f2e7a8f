//! The text of a journal: a line per field, the last one with a checksum of the others.
//!
//! A text is valid only if it is, byte by byte, what would be written for its record. One of the
//! first version, which names neither the registry nor the file, is read but never written.

use std::fmt::{self, Display};
use std::iter::Peekable;
use std::str::{FromStr, Lines};

use crc::{CRC_32_ISO_HDLC, Crc};
use leafid::WorkerId;
use leafid::store::{JournalClaim, JournalLease, JournalRecord, JournalRegistry, StoreError};

/// In bytes; a record is far shorter.
pub(super) const TEXT_LEN_MAX: usize = 4096;

const VERSION: &str = "leafid-journal 2";
const VERSION_1: &str = "leafid-journal 1";
const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// A valid text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// Higher is later; 0 in the first version.
    pub(super) number: u64,
    /// The file it was written to; `None` in the first version.
    pub(super) file: Option<String>,
    pub(super) record: JournalRecord,
}

/// Why a text is invalid. Continues "the journal PATH".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    Damaged,
    OtherVersion,
}

impl Display for Problem {
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
pub(super) fn render(
    record: &JournalRecord,
    file: &str,
    number: u64,
) -> Result<String, StoreError> {
    let text = rendered(record, file, number);
    let registry = record.registry.as_ref();
    let texts = [
        Some(&record.holder),
        Some(&record.layout),
        registry.map(|registry| &registry.identity),
        registry.map(|registry| &registry.location),
    ];
    let mut texts = texts.into_iter().flatten();
    if texts.any(|text| text.contains(char::is_control)) || text.len() > TEXT_LEN_MAX {
        return Err(StoreError::Unsupported {
            message: "a journal cannot hold this name, layout or registry: it is too long, or has \
                control characters"
                .into(),
        });
    }
    Ok(text)
}

fn rendered(record: &JournalRecord, file: &str, number: u64) -> String {
    let mut text = format!("{VERSION}\n");
    let mut line = |name: &str, value: &dyn Display| {
        text.push_str(&format!("{name} {value}\n"));
    };
    line("number", &number);
    line("file", &file);
    line("holder", &record.holder);
    line("layout", &record.layout);
    if let Some(registry) = &record.registry {
        line("registry", &registry.identity);
        line("location", &registry.location);
    }
    line("floor_ms", &record.floor_ms);
    line("former_ms", &record.former_ms);
    if let Some(lease) = &record.lease {
        line("worker", &lease.worker);
        line("epoch", &lease.epoch);
        line("nonce", &lease.nonce);
        line("until_ms", &lease.until_ms);
        line("acknowledged", &lease.acknowledged);
        line("below_ms", &lease.below_ms);
        line("written_ms", &lease.written_ms);
    }
    if let Some(claim) = &record.claim {
        line("claim_worker", &claim.worker);
        line("claim_epoch", &claim.epoch);
        line("claim_nonce", &claim.nonce);
        line("claim_from_ms", &claim.from_ms);
    }
    let crc = CRC.checksum(text.as_bytes());
    format!("{text}crc32 {crc:08x}\n")
}

/// # Errors
///
/// [`Problem`].
pub(super) fn parse(bytes: &[u8]) -> Result<Text, Problem> {
    let text = str::from_utf8(bytes).map_err(|_| Problem::Damaged)?;
    if !is_intact(text) {
        return Err(Problem::Damaged);
    }
    let mut fields = Fields(text.lines().peekable());
    match fields.0.next() {
        Some(VERSION) => {
            let found = fields.text().ok_or(Problem::Damaged)?;
            let file = found.file.as_deref().unwrap_or_default();
            let is_exact = rendered(&found.record, file, found.number) == text;
            is_exact.then_some(found).ok_or(Problem::Damaged)
        }
        Some(VERSION_1) => fields.text_1().ok_or(Problem::Damaged),
        _ => Err(Problem::OtherVersion),
    }
}

/// Whether the last line has the checksum of the others.
fn is_intact(text: &str) -> bool {
    let Some((before, crc)) = text.rsplit_once("crc32 ") else {
        return false;
    };
    crc == format!("{:08x}\n", CRC.checksum(before.as_bytes()))
}

/// The lines of a text, each a name and a value.
struct Fields<'a>(Peekable<Lines<'a>>);

impl Fields<'_> {
    fn text(&mut self) -> Option<Text> {
        let number = self.value("number")?;
        let file = Some(self.value("file")?);
        let mut record = JournalRecord::new(
            self.value::<String>("holder")?,
            self.value::<String>("layout")?,
        );
        if self.is_next("registry") {
            record.registry = Some(JournalRegistry {
                identity: self.value("registry")?,
                location: self.value("location")?,
            });
        }
        record.floor_ms = self.value("floor_ms")?;
        record.former_ms = self.value("former_ms")?;
        if self.is_next("worker") {
            record.lease = Some(self.lease(true)?);
        }
        if self.is_next("claim_worker") {
            record.claim = Some(JournalClaim {
                worker: WorkerId::new(self.value("claim_worker")?),
                epoch: self.value("claim_epoch")?,
                nonce: self.value("claim_nonce")?,
                from_ms: self.value("claim_from_ms")?,
            });
        }
        Some(Text {
            number,
            file,
            record,
        })
    }

    fn text_1(&mut self) -> Option<Text> {
        let mut record = JournalRecord::new(
            self.value::<String>("holder")?,
            self.value::<String>("layout")?,
        );
        if self.is_next("worker") {
            record.lease = Some(self.lease(false)?);
        }
        let is_over = self.is_next("crc32");
        is_over.then_some(Text {
            number: 0,
            file: None,
            record,
        })
    }

    fn lease(&mut self, has_nonce: bool) -> Option<JournalLease> {
        Some(JournalLease {
            worker: WorkerId::new(self.value("worker")?),
            epoch: self.value("epoch")?,
            nonce: if has_nonce { self.value("nonce")? } else { 0 },
            until_ms: self.value("until_ms")?,
            acknowledged: self.value("acknowledged")?,
            below_ms: self.value("below_ms")?,
            written_ms: self.value("written_ms")?,
        })
    }

    fn is_next(&mut self, name: &str) -> bool {
        let line = self.0.peek().and_then(|line| line.strip_prefix(name));
        line.is_some_and(|value| value.starts_with(' '))
    }

    /// The value on the next line, if that is the line of this field.
    fn value<T: FromStr>(&mut self, name: &str) -> Option<T> {
        let value = self.0.next()?.strip_prefix(name)?.strip_prefix(' ')?;
        value.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "1a2b-6f1c";

    fn records() -> [JournalRecord; 4] {
        let lease = JournalLease {
            worker: WorkerId::new(u32::MAX),
            epoch: 7,
            nonce: u64::MAX,
            until_ms: i64::MAX as u64,
            acknowledged: true,
            below_ms: u64::MAX,
            written_ms: 0,
        };
        let claim = JournalClaim {
            worker: WorkerId::new(3),
            epoch: 8,
            nonce: 1,
            from_ms: 2,
        };
        let registry = JournalRegistry {
            identity: "6f1c/shop".into(),
            location: "redis://u@db pool shop".into(),
        };
        let record = JournalRecord {
            registry: Some(registry),
            floor_ms: 5,
            former_ms: 6,
            lease: Some(lease),
            claim: Some(claim),
            ..JournalRecord::new("6f1c", "41/10/12 @ 2010-11-04 (\"x\" é) crc32 ")
        };
        let without = JournalRecord {
            lease: None,
            ..record.clone()
        };
        let leased = JournalRecord {
            registry: None,
            claim: None,
            ..record.clone()
        };
        [record, without, leased, JournalRecord::new("", "")]
    }

    #[test]
    fn records_come_back() {
        for record in records() {
            let text = render(&record, FILE, 17).unwrap();
            let wanted = Text {
                number: 17,
                file: Some(FILE.into()),
                record,
            };
            assert_eq!(parse(text.as_bytes()), Ok(wanted), "{text}");
        }
    }

    /// Guards that any changed, missing or added byte is detected.
    #[test]
    fn damage_is_noticed() {
        for record in records() {
            let text = render(&record, FILE, 17).unwrap();
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

    fn with_crc(text: &str) -> String {
        format!("{text}crc32 {:08x}\n", CRC.checksum(text.as_bytes()))
    }

    #[test]
    fn other_versions_are_told_from_damage() {
        let text = with_crc("leafid-journal 3\nholder 6f1c\n");
        assert_eq!(parse(text.as_bytes()), Err(Problem::OtherVersion));
    }

    /// Guards that a journal of the first version is read as one that names no registry.
    #[test]
    fn the_first_version_is_read() {
        let text = with_crc(
            "leafid-journal 1\nholder 6f1c\nlayout leaf\nworker 3\nepoch 7\nuntil_ms 9\n\
            acknowledged true\nbelow_ms 8\nwritten_ms 5\n",
        );
        let Ok(found) = parse(text.as_bytes()) else {
            panic!("{text}");
        };
        assert_eq!(
            (found.number, found.file, &found.record.registry),
            (0, None, &None)
        );
        let lease = found.record.lease.unwrap();
        assert_eq!(
            (lease.worker, lease.nonce, lease.below_ms),
            (WorkerId::new(3), 0, 8)
        );
        let without = with_crc("leafid-journal 1\nholder 6f1c\nlayout leaf\n");
        let found = parse(without.as_bytes()).map(|found| found.record);
        assert_eq!(found, Ok(JournalRecord::new("6f1c", "leaf")));
    }

    #[test]
    fn what_has_no_line_is_refused() {
        for holder in ["a\nb".to_owned(), "h".repeat(5000)] {
            let record = JournalRecord {
                holder,
                ..records()[1].clone()
            };
            let error = render(&record, FILE, 1).unwrap_err();
            assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
        }
    }

    /// Guards that no text of a journal panics, and that a valid one is written as it was read.
    #[test]
    fn journals_of_any_text_are_read_or_refused() {
        leafid_fuzz::fuzz("journals", |data| {
            let text = str::from_utf8(data).unwrap_or_default();
            // Without a checksum all are damaged.
            assert_eq!(parse(data).err(), Some(Problem::Damaged));
            let Ok(found) = parse(with_crc(text).as_bytes()) else {
                return false;
            };
            if let Some(file) = &found.file {
                let written = rendered(&found.record, file, found.number);
                assert_eq!(parse(written.as_bytes()), Ok(found));
            }
            true
        });
    }
}
