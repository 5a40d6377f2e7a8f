//! `leafid worker`: the worker ids of snowflake ids, as a server sees them.

use leafid::Escaped;
use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::target::AskFlags;

/// List or show worker ids, or release that of a dead server.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid worker list                          who holds which worker id
  leafid worker show --server http://ids:8080 the worker id of one server
  leafid worker release 3 --holder-is-dead")]
pub(crate) struct Workers {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(List),
    Show(Show),
    Release(Release),
}

/// List all worker ids that were ever held.
#[derive(clap::Args)]
struct List {
    #[command(flatten)]
    asked: AskFlags,
}

/// Show the worker id of the server, and how its clock stands.
#[derive(clap::Args)]
struct Show {
    #[command(flatten)]
    asked: AskFlags,
}

/// Free the worker id of a server that was killed, before its reservation is over.
///
/// Only where you have seen that its process does not run and never will again: if it does, ids
/// can come twice. A server that is stopped gives its worker id back by itself.
#[derive(clap::Args)]
struct Release {
    /// The worker id.
    worker: u32,
    /// You have seen that the process of its holder does not run.
    #[arg(long)]
    holder_is_dead: bool,
    #[command(flatten)]
    asked: AskFlags,
}

impl Workers {
    pub(crate) fn run(self) -> Outcome {
        match self.command {
            Command::List(list) => list.run(),
            Command::Show(show) => show.run(),
            Command::Release(release) => release.run(),
        }
    }
}

impl List {
    fn run(self) -> Outcome {
        let answer = self.asked.client()?.workers()?;
        if self.asked.json {
            return output::json(&answer);
        }
        let rows = answer["workers"].as_array().cloned().unwrap_or_default();
        if rows.is_empty() {
            return output::line("no worker id was ever held");
        }
        let rows = rows.iter().map(|row| {
            [
                text(&row["worker"]),
                state(row).to_owned(),
                text(&row["until"]),
                text(&row["address"]),
                text(&row["holder"]),
            ]
        });
        output::table(["WORKER", "STATE", "UNTIL", "ADDRESS", "HOLDER"], rows)
    }
}

fn state(row: &Value) -> &'static str {
    match (row["own"].as_bool(), row["held"].as_bool()) {
        (Some(true), _) => "this server",
        (_, Some(true)) => "held",
        _ => "free",
    }
}

impl Show {
    fn run(self) -> Outcome {
        let answer = self.asked.client()?.worker()?;
        if self.asked.json {
            return output::json(&answer);
        }
        let fields = [
            ("stage", "stage"),
            ("reason", "reason"),
            ("worker id", "worker"),
            ("until", "until"),
            ("left, in s", "left_seconds"),
            ("borrowed, in s", "borrowed_seconds"),
            ("clock offset, in s", "clock_offset_seconds"),
            ("layout", "layout"),
            ("layout ends", "end"),
        ];
        let there = fields.iter().filter(|(_, key)| !answer[*key].is_null());
        let line = |(name, key): &(&str, &str)| format!("{name:<20}{}\n", text(&answer[*key]));
        output::print(&there.map(line).collect::<String>())
    }
}

impl Release {
    fn run(self) -> Outcome {
        let worker = self.worker;
        if !self.holder_is_dead {
            return Err(Failure::usage(
                format!("if the holder of worker id {worker} still runs, ids can come twice"),
                format!(
                    "look at it with `leafid worker list`; once you have seen that its process \
                     does not run, `leafid worker release {worker} --holder-is-dead`"
                ),
            ));
        }
        let answer = self.asked.client()?.force_release_worker(worker)?;
        if self.asked.json {
            return output::json(&answer);
        }
        let until = text(&answer["until"]);
        output::line(&format!("worker id {worker} is free from {until} on"))
    }
}

/// A JSON value without quotes; nothing for null.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => Escaped(text).to_string(),
        other => other.to_string(),
    }
}
