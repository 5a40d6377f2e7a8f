//! The journal of a release as text, and put where it can be used: a journal says which file it is
//! in and where its registry is, and its times are those of the recording.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Each of the two records of the file has this length, with zeros after the text.
const RECORD_LEN: usize = 4096;

/// A journal without the zeros.
pub(super) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap().replace('\0', "")
}

/// The value of a field.
pub(super) fn field(journal: &str, name: &str) -> Option<u64> {
    let mut lines = journal.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    value.parse().ok()
}

/// Writes it as one that a server with this registry has left a moment ago.
pub(super) fn put(journal: &str, path: &Path, location: &str, later_ms: u64) {
    let mut file = File::create_new(path).unwrap();
    let made = file.metadata().unwrap();
    let nanos = made
        .created()
        .unwrap()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    let name = format!("file {:x}-{nanos:x}", made.ino());
    for record in journal
        .split_inclusive("\ncrc32 ")
        .collect::<Vec<_>>()
        .chunks(2)
    {
        // The checksum is at the front of the next part.
        let record = record.concat();
        if record.len() <= "00000000\n".len() {
            break;
        }
        let mut text = String::new();
        for line in record
            .lines()
            .skip_while(|line| !line.starts_with("leafid-journal"))
        {
            if line.starts_with("crc32") {
                break;
            }
            text.push_str(&adapted(line, &name, location, later_ms));
            text.push('\n');
        }
        let sum = crc32(text.as_bytes());
        let mut bytes = format!("{text}crc32 {sum:08x}\n").into_bytes();
        bytes.resize(RECORD_LEN, 0);
        file.write_all(&bytes).unwrap();
    }
}

fn adapted(line: &str, file: &str, location: &str, later_ms: u64) -> String {
    let (name, value) = line.split_once(' ').unwrap();
    match name {
        "file" => file.to_owned(),
        "location" => {
            let (_, pool) = value.rsplit_once(" pool ").unwrap();
            format!("location {location} pool {pool}")
        }
        "until_ms" | "below_ms" | "written_ms" => {
            format!("{name} {}", value.parse::<u64>().unwrap() + later_ms)
        }
        _ => line.to_owned(),
    }
}

/// CRC-32 as in zip.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            let is_odd = crc & 1 == 1;
            crc >>= 1;
            if is_odd {
                crc ^= 0xEDB8_8320;
            }
        }
    }
    !crc
}
