//! `leafid audit`: who changed what, from where, and how it was before and after.

use leafid_server::api::{Change, ChangeList};

use crate::failure::Outcome;
use crate::output;
use crate::target::{Target, TargetFlags};

/// Show the last changes of tags, quotas, worker ids and clocks, the newest first.
///
/// The list covers all servers on one store, and commands that worked on the store directly. The
/// store keeps the last 10,000 changes. A server that requires tokens shows them to admins only.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid audit
  leafid audit -n 5 --json --server http://ids:8080
  leafid audit --store mysql://leaf@db:3306/leaf")]
pub(crate) struct Audit {
    /// The number of changes.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    #[command(flatten)]
    target: TargetFlags,
}

impl Audit {
    pub(crate) fn run(self) -> Outcome {
        let answer = match self.target.target()? {
            Target::Server(client) => client.changes(self.limit)?,
            Target::Store(source) => {
                let records = source.changes(self.limit)?;
                let changes = records.iter().map(Change::from).collect();
                ChangeList { changes }
            }
        };
        if self.target.ask.json {
            return output::json(&answer);
        }
        if answer.changes.is_empty() {
            return output::line("no changes");
        }
        let header = [
            "TIME", "TOKEN", "ADDRESS", "ACTION", "SUBJECT", "BEFORE", "AFTER", "SERVER",
        ];
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let rows = answer.changes.into_iter().map(|change| {
            [
                change.time,
                or_dash(change.token),
                or_dash(change.address),
                change.action,
                change.subject,
                or_dash(change.before),
                or_dash(change.after),
                or_dash(change.server),
            ]
        });
        output::table(header, rows)
    }
}
