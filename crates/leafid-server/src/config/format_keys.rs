//! `FormatKeys`: the secret keys of opaque ids, read from a file.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use leafid_formats::Keys;
use leafid_stores::read_file;

use super::error::ConfigError;
use super::values::Config;

/// Bytes of a file of keys.
const FILE_LEN_MAX: u64 = 1024 * 1024;

/// The content of a file of format keys.
///
/// # Example
///
/// ```
/// use leafid_server::FormatKeys;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("format-keys");
/// std::fs::write(&path, leafid_formats::Keys::generate_line()?.as_bytes())?;
/// assert_eq!(FormatKeys::read(&path)?.keys.ids().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FormatKeys {
    /// The keys, of which the first writes.
    pub keys: Keys,
    /// Notes for the operator, such as that others can read the file.
    pub notes: Vec<String>,
}

impl FormatKeys {
    /// The keys that the settings give, themselves or in a file; `None` without any.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    ///
    /// # Example
    ///
    /// ```
    /// use leafid_server::{Config, FormatKeys};
    ///
    /// let line = leafid_formats::Keys::generate_line()?;
    /// let format_key_lines = Some(line.trim().to_owned());
    /// let config = Config { format_key_lines, ..Config::default() };
    /// let found = FormatKeys::of(&config)?.expect("a key is set");
    /// assert_eq!(found.keys.ids().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(config: &Config) -> Result<Option<Self>, ConfigError> {
        let read = config.format_keys.as_deref().map(Self::read);
        let Some(lines) = &config.format_key_lines else {
            return read.transpose();
        };
        let keys = Self::parse(lines).map_err(|problem| ConfigError {
            mistakes: vec![format!("format-key-lines: {problem}")],
        })?;
        let notes = Vec::new();
        Ok(Some(Self { keys, notes }))
    }

    /// The keys of the lines of a file, or of one line with `;` between them. The error shows none.
    pub(super) fn parse(lines: &str) -> Result<Keys, String> {
        Keys::parse(&lines.replace(';', "\n")).map_err(|error| error.to_string())
    }

    /// Reads the file.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the file and the line, without a key.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let refused = |problem: String| ConfigError {
            mistakes: vec![format!(
                "cannot read the format keys {}: {problem}",
                path.display()
            )],
        };
        let (bytes, metadata) =
            read_file(path, FILE_LEN_MAX).map_err(|error| refused(error.to_string()))?;
        let text =
            str::from_utf8(&bytes).map_err(|_| refused("it is not UTF-8 text".to_owned()))?;
        let keys = Keys::parse(text).map_err(|error| refused(error.to_string()))?;
        let mut notes = Vec::new();
        let mode = metadata.mode();
        if mode & 0o077 != 0 {
            let path = path.display();
            notes.push(format!(
                "other users can read or change the format keys {path} (mode {:03o}): \
                 chmod 600 {path}",
                mode & 0o777
            ));
        }
        Ok(Self { keys, notes })
    }
}
