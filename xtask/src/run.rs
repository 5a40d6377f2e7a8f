//! Runs other programs in the root of the repository, and lets their output through.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// `cargo` with these words, in the root.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(words).current_dir(root());
    command
}

/// Runs a command to its end.
///
/// # Errors
///
/// When it cannot be started, or fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    ensure!(succeeds(command)?, "{} failed", text(command));
    Ok(())
}

/// Runs a command to its end, and says whether it succeeded.
///
/// # Errors
///
/// When it cannot be started.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", text(command)))?;
    Ok(status.success())
}

/// Runs a command to its end and answers what it printed.
///
/// # Errors
///
/// When it cannot be started, fails, or prints no text.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", text(command)))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed: {}", text(command), message.trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The command as one would type it.
fn text(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or_default().to_string_lossy()];
    words.extend(command.get_args().map(|word| word.to_string_lossy()));
    words.join(" ")
}
