//! `leafid audit`: who changed what, from where, and how it was before and after.

use leafid_stores::AuditRecord;
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::output;
use crate::target::{Target, TargetFlags};

/// Show the last changes of tags, quotas, worker ids and clocks, the newest first.
///
/// They are those of all servers on one store, and of commands that worked on it directly. The
/// store keeps the last 10,000. A server that asks for tokens shows them to admins.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid audit
  leafid audit -n 5 --json --server http://ids:8080
  leafid audit --store mysql://leaf@db:3306/leaf")]
pub(crate) struct Audit {
    /// How many changes.
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
                json!({ "changes": records.iter().map(as_json).collect::<Vec<_>>() })
            }
        };
        if self.target.json {
            return output::json(&answer);
        }
        let rows = answer["changes"].as_array().cloned().unwrap_or_default();
        if rows.is_empty() {
            return output::line("no changes");
        }
        let header = [
            "TIME", "TOKEN", "ADDRESS", "ACTION", "SUBJECT", "BEFORE", "AFTER", "SERVER",
        ];
        let cell = |row: &Value, key: &str| row[key].as_str().unwrap_or("-").to_owned();
        let keys = [
            "time", "token", "address", "action", "subject", "before", "after", "server",
        ];
        output::table(
            header,
            rows.iter().map(|row| keys.map(|key| cell(row, key))),
        )
    }
}

/// As the server answers it.
fn as_json(record: &AuditRecord) -> Value {
    let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let time = i64::try_from(record.at_ms).ok();
    let time = time.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    json!({
        "time": time.map(|time| time.to_string()),
        "server": known(&record.server),
        "token": known(&record.token),
        "address": known(&record.address),
        "action": record.action,
        "subject": record.subject,
        "before": known(&record.before),
        "after": known(&record.after),
    })
}
