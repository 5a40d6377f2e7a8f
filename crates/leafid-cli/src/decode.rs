//! `leafid decode`: prints the parts of a snowflake id. It needs no server and no store.

use leafid::{Layout, Parts};
use leafid_server::api::DecodedId;

use crate::failure::{Failure, Outcome};
use crate::output;

/// Decode a snowflake id: when it was made, and by which worker id.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid decode 1169786042799259000
  leafid decode 175928847299117063 --layout discord
  leafid decode 660125991150026752 --layout twitter@2015-01-01T00:00:00+08:00 --json")]
pub(crate) struct Decode {
    /// The id, in decimal.
    id: u64,
    /// The layout that it was made with: leaf, twitter, baidu, sonyflake-v1, sonyflake-v2, js53,
    /// js53-seconds, instagram, discord, wide; one of them with an epoch (leaf@TIME); or widths
    /// (time41x1ms/worker10/sequence12@TIME).
    #[arg(long, value_name = "LAYOUT", default_value_t = Layout::LEAF)]
    layout: Layout,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Decode {
    pub(crate) fn run(self) -> Outcome {
        let parts = self.layout.try_decompose(self.id).map_err(|error| {
            let next = "name the layout that the id was made with: --layout LAYOUT";
            Failure::usage(error, next)
        })?;
        match self.json {
            true => output::json(&DecodedId::new(self.id, self.layout, parts)),
            false => self.print_lines(parts),
        }
    }

    fn print_lines(&self, parts: Parts) -> Outcome {
        let data_center = parts.data_center;
        let in_data_center = data_center.map(|_| parts.worker_in_data_center.to_string());
        output::fields([
            ("time", Some(parts.time().to_string())),
            ("worker id", Some(parts.worker.to_string())),
            ("data center", data_center.map(|id| id.to_string())),
            ("worker in it", in_data_center),
            ("sequence", Some(parts.sequence.to_string())),
            ("layout", Some(self.layout.to_string())),
        ])
    }
}
