//! `console`: the pages of the web console pass their tests, and the built files that the server
//! embeds are those of the sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::run::{root, run};

/// Where the built files are kept.
const BUILT: &str = "crates/leafid-server/src/frontends/http/console/generated";
/// The most that a browser loads, in bytes, compressed.
const LEN_MAX: usize = 150 * 1024;

/// Tests and builds a copy, so that the source tree stays as it is.
///
/// # Errors
///
/// When a test fails, or a built file is another than the one that is kept.
pub(crate) fn check() -> Result<()> {
    let folder = root().join("target/console");
    let (sources, built) = (folder.join("console"), folder.join(BUILT));
    if sources.exists() {
        fs::remove_dir_all(&sources)?;
    }
    fs::create_dir_all(&built)?;
    copy(&root().join("console"), &sources)?;
    npm(
        &sources,
        &["ci", "--silent", "--ignore-scripts", "--no-audit"],
    )?;
    npm(&sources, &["test"])?;
    npm(&sources, &["run", "build"])?;
    compare(&built, &root().join(BUILT))?;
    check_len(&built)
}

fn npm(folder: &Path, words: &[&str]) -> Result<()> {
    run(Command::new("npm").args(words).current_dir(folder))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for path in entries(from)? {
        let target = to.join(path.file_name().unwrap_or_default());
        if !path.is_dir() {
            fs::copy(&path, &target)?;
        } else if !path.ends_with("node_modules") {
            copy(&path, &target)?;
        }
    }
    Ok(())
}

fn compare(built: &Path, kept: &Path) -> Result<()> {
    let names = |folder: &Path| -> Result<Vec<String>> {
        let paths = entries(folder)?;
        let names = paths.iter().filter_map(|path| path.file_name());
        Ok(names.map(|name| name.to_string_lossy().into()).collect())
    };
    let all = names(built)?;
    ensure!(all == names(kept)?, "other files are kept than {all:?}");
    for name in all {
        let is_same = fs::read(built.join(&name))? == fs::read(kept.join(&name))?;
        ensure!(
            is_same,
            "{BUILT}/{name} is not built from console/: run `npm ci && npm run build` there"
        );
    }
    Ok(())
}

fn check_len(built: &Path) -> Result<()> {
    let mut gzip = Command::new("gzip");
    gzip.args(["--stdout", "--best"]).args(entries(built)?);
    let len = gzip.output().context("cannot start gzip")?.stdout.len();
    println!("the pages have {len} bytes, compressed");
    ensure!(len <= LEN_MAX, "they may have {LEN_MAX}");
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let paths: std::io::Result<Vec<_>> = listed.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.sort();
    Ok(paths)
}
