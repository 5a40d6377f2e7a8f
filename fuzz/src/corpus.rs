//! `Corpus`: the inputs of a target, one on each line of a file.

use std::fs;
use std::path::Path;

/// The inputs of a target.
///
/// # Example
///
/// ```
/// let corpus = leafid_fuzz::Corpus::of("INCR order\\r\\n\n# a comment\n");
/// assert_eq!(corpus.inputs().collect::<Vec<_>>(), [b"INCR order\r\n"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corpus(Vec<Vec<u8>>);

impl Corpus {
    /// Reads `fuzz/corpus/NAME.txt`.
    ///
    /// # Panics
    ///
    /// If the file cannot be read, has a line that is no input, or has no input.
    ///
    /// # Example
    ///
    /// ```
    /// assert!(leafid_fuzz::Corpus::read("numbers").inputs().count() > 1);
    /// ```
    #[must_use]
    pub fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        let path = folder.join(format!("{name}.txt"));
        let text = fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let corpus = Self::of(&text);
        assert!(!corpus.0.is_empty(), "{} has no input", path.display());
        corpus
    }

    /// The inputs of a text: a line each; one that begins with `# ` is a comment.
    ///
    /// # Panics
    ///
    /// If a line is no input.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with("# "));
        let input =
            |line| unescaped(line).unwrap_or_else(|| panic!("{line:?} has an escape that is none"));
        Self(lines.map(input).collect())
    }

    /// The inputs, in the order of the file.
    pub fn inputs(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }
}

/// An input as a line of a corpus.
///
/// # Example
///
/// ```
/// use leafid_fuzz::{escaped, unescaped};
///
/// assert_eq!(escaped(b"a\r\n\0\xff\\"), r"a\r\n\x00\xff\\");
/// assert_eq!(unescaped(r"a\r\n\x00\xff\\").as_deref(), Some(&b"a\r\n\0\xff\\"[..]));
/// ```
#[must_use]
pub fn escaped(input: &[u8]) -> String {
    input.escape_ascii().to_string()
}

/// The input of a line; `None` for an unknown escape. Characters beyond ASCII stand for their bytes.
///
/// # Example
///
/// See [`escaped`].
#[must_use]
pub fn unescaped(line: &str) -> Option<Vec<u8>> {
    let mut bytes = line.bytes();
    let mut input = Vec::with_capacity(line.len());
    while let Some(byte) = bytes.next() {
        input.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'x' => {
                    let digits = [bytes.next()?, bytes.next()?];
                    let digits = str::from_utf8(&digits).ok()?.to_owned();
                    u8::from_str_radix(&digits, 16).ok()?
                }
                sign @ (b'\\' | b'\'' | b'"') => sign,
                _ => return None,
            },
            other => other,
        });
    }
    Some(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_is_a_line() {
        let all: Vec<u8> = (0..=u8::MAX).collect();
        assert_eq!(unescaped(&escaped(&all)), Some(all));
        for wrong in ["\\", "\\q", "\\x0", "\\xzz"] {
            assert_eq!(unescaped(wrong), None, "{wrong}");
        }
    }
}
