//! `leafid format-key`: makes a secret key for opaque ids.

use leafid_formats::Keys;

use crate::failure::{Failure, Outcome};
use crate::output;

/// Print a new secret key for opaque ids, as a line of the file `format-keys`.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  (umask 077; leafid format-key > format-keys)
  leafid tag create order --format '{key}-{opaque radix=62}' --format-keys format-keys")]
pub(crate) struct FormatKey {}

impl FormatKey {
    pub(crate) fn run(self) -> Outcome {
        let Self {} = self;
        let line = Keys::generate_line().map_err(|error| {
            Failure::new(
                error,
                "look at what the operating system says about its random bits",
            )
        })?;
        output::line(line.trim_end())
    }
}
