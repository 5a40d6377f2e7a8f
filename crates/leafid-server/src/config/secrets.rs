//! Warnings about files with passwords that every user of the machine can read.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::layers::Assigned;
use super::origin::Origin;
use super::password::without_password;

/// Notes about the files that hold a password and that others can read.
pub(super) fn notes<'a>(assigned: impl Iterator<Item = &'a Assigned>) -> Vec<String> {
    let files: BTreeSet<PathBuf> = assigned.filter_map(secret_file).collect();
    files.iter().filter_map(|file| open_note(file)).collect()
}

/// The file that holds the password of a setting, if it has one.
fn secret_file(assigned: &Assigned) -> Option<PathBuf> {
    let text = assigned.texts.concat();
    if assigned.setting.is_file() {
        return Some(PathBuf::from(text));
    }
    let Origin::File { path, .. } = &assigned.origin else {
        return None;
    };
    let is_secret = assigned.setting.is_password() || without_password(&text) != text;
    is_secret.then(|| path.clone())
}

fn open_note(path: &Path) -> Option<String> {
    let mode = std::fs::metadata(path).ok()?.mode();
    if mode & 0o007 == 0 {
        return None;
    }
    let path = path.display();
    Some(format!(
        "the file {path} contains a password, and every user of this machine can read or change \
         it (mode {:03o}): chmod o= {path}",
        mode & 0o777
    ))
}
