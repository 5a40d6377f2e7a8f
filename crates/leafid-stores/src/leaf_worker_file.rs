//! The file in which Java Leaf keeps its worker id for a start without ZooKeeper. Read once, as a
//! hint which number this server had.

use std::io;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use crate::read::{FILE_LEN_MAX, read_file};

const KEY: &str = "workerID";

/// The worker id that Java Leaf noted down for this port, or `None` if there is no note:
/// `DIR/NAME/leafconf/PORT/workerID.properties`, where `dir` is Java's `java.io.tmpdir` and `name`
/// is `leaf.name`. The file has no date, and nothing keeps it up to date: it is a hint.
///
/// # Errors
///
/// If the file cannot be read, or has no number under `workerID`; the message names the file.
///
/// # Example
///
/// ```
/// use std::fs;
/// use leafid_stores::leaf_worker_file;
///
/// let tmp = tempfile::tempdir()?;
/// let folder = tmp.path().join("com.example.leaf/leafconf/8080");
/// fs::create_dir_all(&folder)?;
/// fs::write(folder.join("workerID.properties"), "workerID=7")?;
/// assert_eq!(leaf_worker_file(tmp.path(), "com.example.leaf", 8080)?, Some(7));
/// assert_eq!(leaf_worker_file(tmp.path(), "com.example.leaf", 8081)?, None);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn leaf_worker_file(dir: &Path, name: &str, port: u16) -> io::Result<Option<u32>> {
    let path: PathBuf = [dir.as_os_str(), name.as_ref(), "leafconf".as_ref()]
        .iter()
        .collect();
    let path = path.join(port.to_string()).join("workerID.properties");
    let failed = |kind, reason: String| {
        Error::new(kind, format!("cannot read {}: {reason}", path.display()))
    };
    let content = match read_file(&path, FILE_LEN_MAX) {
        Ok((content, _)) => content,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error.kind(), error.to_string())),
    };
    let value = value_of(&content, KEY);
    let number = value.and_then(|value| value.trim().parse().ok());
    let missing = || format!("it has no line {KEY}=NUMBER; correct or remove it");
    number
        .map(Some)
        .ok_or_else(|| failed(ErrorKind::InvalidData, missing()))
}

/// The value of a key in the format of `java.util.Properties`; the last one counts.
fn value_of(content: &[u8], wanted: &str) -> Option<String> {
    // Java reads these files as ISO 8859-1, in which each byte is a character.
    let text: String = content.iter().copied().map(char::from).collect();
    let lines = logical_lines(&text);
    let mut pairs = lines.iter().map(|line| split(line));
    pairs
        .rfind(|(key, _)| key == wanted)
        .map(|(_, value)| value)
}

/// Lines without comments and leading blanks, joined with their continuations.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.split(['\n', '\r']) {
        let line = line.trim_start_matches(BLANKS);
        if !goes_on && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        let backslashes = line.len() - line.trim_end_matches('\\').len();
        let is_open = backslashes % 2 == 1;
        let part = if is_open {
            &line[..line.len() - 1]
        } else {
            line
        };
        match lines.last_mut() {
            Some(last) if goes_on => last.push_str(part),
            _ => lines.push(part.to_owned()),
        }
        goes_on = is_open;
    }
    lines
}

const BLANKS: [char; 3] = [' ', '\t', '\x0c'];

/// Splits a line into key and value, without their escapes.
fn split(line: &str) -> (String, String) {
    let mut is_escaped = false;
    let end = line.find(|c: char| {
        let ends = !is_escaped && (BLANKS.contains(&c) || c == '=' || c == ':');
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start_matches(BLANKS);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (unescape(key), unescape(rest.trim_start_matches(BLANKS)))
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match rest.next() {
            Some('u') => {
                let digits: String = rest.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok();
                plain.extend(code.and_then(char::from_u32));
            }
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\x0c'),
            other => plain.extend(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(content: &str, wanted: Option<&str>) {
        let value = value_of(content.as_bytes(), KEY);
        assert_eq!(value.as_deref(), wanted, "{content:?}");
    }

    #[test]
    fn what_java_writes_is_read() {
        // As Leaf writes it.
        check("workerID=7", Some("7"));
        // As Properties.store writes it, with and without a comment.
        check("#Sat Nov 21 08:15:41 UTC 2026\nworkerID=7\n", Some("7"));
        check(
            "#worker \\u00FC\r\n#Sat Nov 21 08:15:41 UTC 2026\r\nworkerID=7\r\n",
            Some("7"),
        );
        // Escapes as Properties.store writes them.
        check("a\\=b\\:c\\ d=\\ x\\#\\!\\\\\nworkerID=\\ 7\n", Some(" 7"));
    }

    #[test]
    fn what_java_reads_is_read() {
        check("  workerID : 7", Some("7"));
        check("workerID 7", Some("7"));
        check("worker\\\n   ID=1\\\n  2", Some("12"));
        check("worker\\u0049D=7", Some("7"));
        check("workerID=1\nworkerID=2", Some("2"));
        check("! workerID=1\n", None);
        check("x=\\\\\nworkerID=3", Some("3"));
        check("x=\\\nworkerID=3", None);
        check("workerIDs=1", None);
        check("", None);
    }

    #[test]
    fn a_file_without_a_number_is_an_error_that_names_it() {
        let tmp = tempfile::tempdir().expect("a folder");
        let folder = tmp.path().join("leaf/leafconf/8080");
        fs::create_dir_all(&folder).expect("a folder");
        for content in ["", "workerID=", "workerID=-1", "workerID=4294967296"] {
            fs::write(folder.join("workerID.properties"), content).expect("a file");
            let error = leaf_worker_file(tmp.path(), "leaf", 8080).expect_err(content);
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            assert!(error.to_string().contains("8080/workerID.properties"));
        }
    }

    /// Guards that no file panics, and that a value is read as it is written with escapes.
    #[test]
    fn any_file_is_read_or_has_no_value() {
        leafid_fuzz::fuzz("leaf-worker-files", |data| {
            let Some(value) = value_of(data, KEY) else {
                return false;
            };
            let escaped: String = value
                .encode_utf16()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect();
            let again = value_of(format!("{KEY}={escaped}").as_bytes(), KEY);
            assert_eq!(again, Some(value));
            true
        });
    }
}
