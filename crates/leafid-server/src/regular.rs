//! Files that the server is told to read: regular ones only. Opening a named pipe waits for
//! whoever writes to it, and a device may never end.

use std::fs::{File, Metadata};
use std::path::Path;

/// Opens a regular file, also behind links; the error says what is wrong, without the path.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), String> {
    let told = |error: std::io::Error| error.to_string();
    // Before it is opened: that would wait at a pipe.
    check(&path.metadata().map_err(told)?)?;
    let file = File::open(path).map_err(told)?;
    let metadata = file.metadata().map_err(told)?;
    check(&metadata)?;
    Ok((file, metadata))
}

fn check(metadata: &Metadata) -> Result<(), String> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err("it is no regular file: write what it should say into one".to_owned()),
    }
}
