//! `leafid man`: the manual pages, generated from the commands.

use std::io;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap_mangen::Man as Page;

use crate::failure::{Failure, Outcome};
use crate::{Arguments, output};

/// Print the manual page, or write one for each command into a folder.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid man | man -l -
  leafid man --out /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// Write leafid.1, leafid-serve.1, ... into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self) -> Outcome {
        let mut command = Arguments::command();
        command.build();
        match self.out {
            None => output::print(&String::from_utf8_lossy(&page(&command)?)),
            Some(folder) => write_all(&command, &folder),
        }
    }
}

fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Page::new(command.clone()).render(&mut page)?;
    Ok(page)
}

fn write_all(command: &clap::Command, folder: &Path) -> Outcome {
    let name = command.get_display_name().unwrap_or("leafid");
    let path = folder.join(format!("{name}.1"));
    let written = page(command).and_then(|page| std::fs::write(&path, page));
    written.map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        Failure::new(message, "name a folder that exists and can be written to")
    })?;
    output::line(&path.display().to_string())?;
    let own = |command: &&clap::Command| command.get_name() != "help";
    command
        .get_subcommands()
        .filter(own)
        .try_for_each(|command| write_all(command, folder))
}
