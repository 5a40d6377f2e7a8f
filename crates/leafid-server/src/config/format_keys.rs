//! `FormatKeys`: the secret keys of opaque ids, read from a file.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use leafid_formats::Keys;
use leafid_stores::read_file;

use super::error::ConfigError;

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
