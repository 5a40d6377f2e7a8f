//! `Clients`: programs in other languages that talk to a server with the client libraries of those
//! languages, installed once for all tests.
//!
//! Left to others: what the programs do, and the steps that only one of them needs. Invariant: the
//! source tree stays as it is.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child::run;

/// The programs of a crate: a folder for each language, and one beside it where that language is
/// installed.
#[derive(Debug, Clone)]
pub struct Clients {
    sources: PathBuf,
    installed: PathBuf,
}

impl Clients {
    /// Programs that are in the one folder and are installed in the other.
    #[must_use]
    pub fn new(sources: impl Into<PathBuf>, installed: impl Into<PathBuf>) -> Self {
        Self {
            sources: sources.into(),
            installed: installed.into(),
        }
    }

    /// Where the programs of a language are.
    #[must_use]
    pub fn source(&self, language: &str) -> PathBuf {
        self.sources.join(language)
    }

    /// The folder in which a language is installed, by `install`, which is told where the programs
    /// are and where to install them. Tests in other threads and processes wait for the one that
    /// installs. When a file of the language or one of `more` changes, it is installed again.
    ///
    /// # Panics
    ///
    /// When a file cannot be read or written.
    #[must_use]
    pub fn installed(
        &self,
        language: &str,
        more: &[PathBuf],
        install: impl FnOnce(&Path, &Path),
    ) -> PathBuf {
        let lock = self.installed.join(format!("{language}.lock"));
        must(&lock, fs::create_dir_all(&self.installed));
        // Held up to the end.
        let lock_file = must(&lock, File::create(&lock));
        must(&lock, lock_file.lock());
        let (source, folder) = (self.source(language), self.installed.join(language));
        let stamp = folder.join("installed-from");
        let mut texts = texts(&source);
        texts.extend(more.iter().map(|file| text(file)));
        if fs::read_to_string(&stamp).ok().as_ref() != Some(&texts) {
            let _gone = fs::remove_dir_all(&folder);
            must(&folder, fs::create_dir_all(&folder));
            install(&source, &folder);
            must(&stamp, fs::write(&stamp, texts));
        }
        folder
    }
}

/// Makes a Python of its own in `folder`, started by `bin/python`, with the packages that
/// `requirements.txt` in `source` names.
///
/// # Panics
///
/// When that fails.
pub fn install_python(source: &Path, folder: &Path) {
    run(Command::new("python3").args(["-m", "venv"]).arg(folder));
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--requirement"]);
    run(pip.arg(source.join("requirements.txt")));
}

/// The command `go build` in a folder: without C, for this module alone, and with the versions
/// that it names.
#[must_use]
pub fn go_build(folder: &Path) -> Command {
    let mut go = Command::new("go");
    go.arg("build").current_dir(folder).env("CGO_ENABLED", "0");
    go.env("GOFLAGS", "-mod=readonly -buildvcs=false");
    go.env("GOWORK", "off");
    go
}

/// All that is in a folder, in the order of the names.
///
/// # Panics
///
/// When it cannot be read.
#[must_use]
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = must(folder, fs::read_dir(folder));
    let mut paths: Vec<PathBuf> = entries.map(|entry| must(folder, entry).path()).collect();
    paths.sort();
    paths
}

/// All files of a folder and those in it, one after the other, each with its name.
fn texts(folder: &Path) -> String {
    let paths = entries(folder).into_iter();
    let of_one = |path: PathBuf| match path.is_dir() {
        true => texts(&path),
        false => text(&path),
    };
    paths.map(of_one).collect()
}

fn text(path: &Path) -> String {
    let text = must(path, fs::read_to_string(path));
    format!("{}\n{text}", path.display())
}

fn must<T>(path: &Path, done: io::Result<T>) -> T {
    done.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
