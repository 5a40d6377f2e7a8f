//! Reads files from the settings: never one that blocks forever when opened, such as a named pipe,
//! and never more than a limit, such as a device would give.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

/// The longest file that is read as settings, a password, a token or a certificate, in bytes.
///
/// # Example
///
/// ```
/// assert_eq!(leafid_stores::FILE_LEN_MAX, 1 << 20);
/// ```
pub const FILE_LEN_MAX: u64 = 1 << 20;

/// Reads a regular file, following links, and its metadata. It can be read again when it has
/// changed.
///
/// # Errors
///
/// Those of the system, and one for a file that is not regular or longer than `len_max` bytes. None
/// contains the path.
///
/// # Example
///
/// ```
/// use std::path::Path;
///
/// use leafid_stores::read_file;
///
/// let error = read_file(Path::new("/"), 10).unwrap_err().to_string();
/// assert!(error.starts_with("it is not a regular file"));
/// ```
pub fn read_file(path: &Path, len_max: u64) -> io::Result<(Vec<u8>, Metadata)> {
    read(path, len_max, Metadata::is_file)
}

/// Reads a file as text, once: a regular one, or a pipe that the shell created for this process, as
/// `<(command)` does. `/dev/null` is an empty text.
///
/// # Errors
///
/// As [`read_file`] with [`FILE_LEN_MAX`], and one for a file that is not UTF-8.
///
/// # Example
///
/// ```
/// use leafid_stores::read_text;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("token");
/// std::fs::write(&path, "secret\n")?;
/// assert_eq!(read_text(&path)?, "secret\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_text(path: &Path) -> io::Result<String> {
    let is_given = ["/dev/fd", "/dev/stdin", "/proc/self/fd"]
        .iter()
        .any(|given| path.starts_with(given));
    let is_empty = path == Path::new("/dev/null");
    let is_wanted =
        |metadata: &Metadata| metadata.is_file() || is_empty || is_given && is_pipe(metadata);
    let (bytes, _) = read(path, FILE_LEN_MAX, is_wanted)?;
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(bytes).map_err(not_text)
}

fn read(
    path: &Path,
    len_max: u64,
    is_wanted: impl Fn(&Metadata) -> bool,
) -> io::Result<(Vec<u8>, Metadata)> {
    let check = |metadata: &Metadata| match is_wanted(metadata) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file: use one",
        )),
    };
    // Checked before it is opened, because opening a pipe would wait.
    check(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    check(&metadata)?;
    let mut bytes = Vec::new();
    // One byte more than allowed shows that it is too long.
    let len = file
        .take(len_max.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if u64::try_from(len).unwrap_or(u64::MAX) > len_max {
        let message = format!("it has more than {len_max} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok((bytes, metadata))
}

#[cfg(unix)]
fn is_pipe(metadata: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}
