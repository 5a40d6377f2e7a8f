//! Files and folders that Leafid creates: only their owner can read them, and they survive a power
//! cut.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// How to open a file that is created if it is missing, for its owner alone.
pub(crate) fn options() -> OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Opens a file of our own, following links: never a named pipe, which would block for ever, nor a
/// device or folder.
pub(crate) fn open_regular(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let check = |metadata: &fs::Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file: remove it",
        )),
    };
    // Checked before it is opened, because opening a pipe may wait.
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        metadata => check(&metadata?)?,
    }
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Creates a folder that survives a power cut, with its parents.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder_of(folder);
    make_folder(parent)?;
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // Another process was faster.
        Err(_) if folder.is_dir() => sync_folder(parent),
        Err(error) => Err(error),
        Ok(()) => sync_folder(parent),
    }
}

/// The folder that contains a file or folder.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The absolute path without links, so that every name of a file becomes the same. A part that does
/// not exist yet keeps its name.
#[cfg(feature = "_store")]
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut found = path.ancestors().filter_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some((fs::canonicalize(above).ok()?, rest))
    });
    match found.next() {
        Some((real, rest)) if rest.as_os_str().is_empty() => real,
        Some((real, rest)) => real.join(rest),
        None => path.clone(),
    }
}

/// The mounted file systems and their kinds, if the kernel lists them.
#[cfg(feature = "sqlite")]
pub(crate) fn mounts() -> Vec<(PathBuf, String)> {
    // A name need not be UTF-8.
    let text = fs::read("/proc/self/mounts").unwrap_or_default();
    let mounts = text.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ').skip(1);
        let mount_point = path_of(unescaped(fields.next()?));
        Some((mount_point, String::from_utf8_lossy(fields.next()?).into()))
    });
    mounts.collect()
}

/// The kernel writes white space, backslashes and `#` as a backslash and three octal digits.
#[cfg(feature = "sqlite")]
fn unescaped(mut name: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.len());
    while let Some((first, rest)) = name.split_first() {
        let digits = rest.get(..3).and_then(|digits| str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code.filter(|_| *first == b'\\') {
            Some(code) => {
                bytes.push(code);
                name = &rest[3..];
            }
            None => {
                bytes.push(*first);
                name = rest;
            }
        }
    }
    bytes
}

#[cfg(all(unix, feature = "sqlite"))]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    let name: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
    name.into()
}

#[cfg(all(not(unix), feature = "sqlite"))]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// The same path with an ending after its name.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A new name in a folder is durable once the folder is flushed.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Windows cannot flush a folder, and journals the names itself.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The identity of the file at a path, so that its replacement is noticed.
#[cfg(feature = "sqlite")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

#[cfg(feature = "sqlite")]
impl FileId {
    /// `None` if there is no file.
    pub(crate) fn of(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(Self::from(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(all(unix, feature = "sqlite"))]
impl From<&fs::Metadata> for FileId {
    fn from(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// The number of hard links of a file.
#[cfg(all(unix, feature = "sqlite"))]
pub(crate) fn names_of(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// Elsewhere only the first name is known.
#[cfg(all(not(unix), feature = "sqlite"))]
pub(crate) fn names_of(_: &fs::Metadata) -> u64 {
    1
}

/// Elsewhere an open file cannot be replaced.
#[cfg(all(not(unix), feature = "sqlite"))]
impl From<&fs::Metadata> for FileId {
    fn from(_: &fs::Metadata) -> Self {
        Self {
            device: 0,
            inode: 0,
        }
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use super::*;

    #[test]
    fn names_of_mounts_are_read_as_the_kernel_writes_them() {
        let read = |name: &[u8]| unescaped(name);
        assert_eq!(read(b"/a"), b"/a");
        assert_eq!(read(br"/a\040b\011c\134d\043\012"), b"/a b\tc\\d#\n");
        assert_eq!(read(b"/caf\xe9"), b"/caf\xe9");
        assert_eq!(read(br"/a\04"), br"/a\04");
        assert_eq!(read(br"/a\999"), br"/a\999");
        assert!(mounts().iter().any(|(point, _)| point == Path::new("/")));
    }
}
