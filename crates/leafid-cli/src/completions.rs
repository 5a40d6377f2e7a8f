//! `leafid completions`: prints shell completions.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::failure::Outcome;
use crate::{Arguments, output};

/// Print completions for a shell.
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  leafid completions bash > /etc/bash_completion.d/leafid")]
pub(crate) struct Completions {
    /// Which shell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Outcome {
        let mut script = Vec::new();
        let mut command = Arguments::command();
        clap_complete::generate(self.shell, &mut command, "leafid", &mut script);
        output::print(&String::from_utf8_lossy(&script))
    }
}
