//! `leafid worker`: prints and releases worker ids of snowflake ids, as a server sees them.

use leafid_server::api::Worker;

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::target::AskFlags;

/// List or show worker ids, or release the one of a dead server.
#[derive(clap::Subcommand)]
#[command(before_help = "\
Examples:
  leafid worker list                          which server holds which worker id
  leafid worker show --server http://ids:8080 the worker id of one server
  leafid worker release 3 --holder-is-dead")]
pub(crate) enum Workers {
    /// List all worker ids that were ever held.
    List(AskFlags),
    /// Show the worker id of the server, and the state of its clock.
    Show(AskFlags),
    /// Free the worker id of a killed server before its lease ends.
    ///
    /// Only do this if you have seen that its process does not run and never will again: if it
    /// does, ids can repeat. A server that is stopped gives its worker id back automatically.
    Release {
        /// The worker id.
        worker: u32,
        /// States that the process of its holder does not run.
        #[arg(long)]
        holder_is_dead: bool,
        #[command(flatten)]
        server: AskFlags,
    },
}

impl Workers {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::List(server) => list(&server),
            Self::Show(server) => show(&server),
            Self::Release {
                worker,
                holder_is_dead,
                server,
            } => release(worker, holder_is_dead, &server),
        }
    }
}

fn list(server: &AskFlags) -> Outcome {
    let answer = server.client()?.workers()?;
    if server.json {
        return output::json(&answer);
    }
    if answer.workers.is_empty() {
        return output::line("no worker id has been held yet");
    }
    let rows = answer.workers.into_iter().map(|row| {
        let (worker, state) = (row.worker.to_string(), state(&row).to_owned());
        let until = row.until.unwrap_or_default();
        [worker, state, until, row.address, row.holder]
    });
    output::table(["WORKER", "STATE", "UNTIL", "ADDRESS", "HOLDER"], rows)
}

fn state(row: &Worker) -> &'static str {
    match (row.own, row.held) {
        (true, _) => "this server",
        (false, true) => "held",
        (false, false) => "free",
    }
}

fn show(server: &AskFlags) -> Outcome {
    let answer = server.client()?.worker()?;
    if server.json {
        return output::json(&answer);
    }
    let seconds = |seconds: f64| Some(format!("{seconds:?}"));
    output::fields([
        ("stage", Some(answer.stage)),
        ("reason", answer.reason),
        ("worker id", answer.worker.map(|worker| worker.to_string())),
        ("until", answer.until),
        ("left, in s", answer.left_seconds.and_then(seconds)),
        ("borrowed, in s", seconds(answer.borrowed_seconds)),
        ("clock offset, in s", seconds(answer.clock_offset_seconds)),
        ("layout", Some(answer.layout)),
        ("layout ends", Some(answer.end)),
    ])
}

fn release(worker: u32, holder_is_dead: bool, server: &AskFlags) -> Outcome {
    if !holder_is_dead {
        return Err(Failure::usage(
            format!("if the holder of worker id {worker} still runs, ids can repeat"),
            format!(
                "look at it with `leafid worker list`; once you have seen that its process does \
                 not run, `leafid worker release {worker} --holder-is-dead`"
            ),
        ));
    }
    let answer = server.client()?.force_release_worker(worker)?;
    if server.json {
        return output::json(&answer);
    }
    let until = answer.until.unwrap_or_default();
    output::line(&format!("worker id {worker} is free from {until} on"))
}
