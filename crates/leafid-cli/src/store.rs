//! `leafid store`: creates the tables of a store, checks how far it can be trusted, copies it and
//! brings it back.

mod backup;
mod restore;

use leafid::store::{StoreError, StoreReport};
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::flags::StoreFlags;
use crate::output;
use crate::source::{self, Source};

/// Create the tables of a store, check how far it can be trusted, copy it or bring it back.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid store check --store mysql://leaf@db:3306/leaf
  leafid store init --store postgres://leafid@db/leafid --store-password-file password
  leafid store backup monday.db
  leafid store restore monday.db --margin 5000000")]
pub(crate) struct Stores {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Init(Init),
    Check(Check),
    Backup(backup::Backup),
    Restore(restore::Restore),
}

/// Create the tables that are missing; what exists is left as it is.
///
/// Leaf's own table `leaf_alloc` is enough to serve segment ids. The table `leafid_tag` keeps what
/// Leaf's cannot hold: kinds, policies, limits and deleted tags. The tables `leafid_worker` and
/// `leafid_pool` keep who holds which worker id.
#[derive(clap::Args)]
struct Init {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: StoreFlags,
}

/// Check a store; exit code 1 if it cannot be used, or could lose an acknowledged reservation.
#[derive(clap::Args)]
struct Check {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: StoreFlags,
}

impl Stores {
    pub(crate) fn run(self) -> Outcome {
        match self.command {
            Command::Init(init) => init.run(),
            Command::Check(check) => check.run(),
            Command::Backup(backup) => backup.run(),
            Command::Restore(restore) => restore.run(),
        }
    }
}

impl Init {
    fn run(self) -> Outcome {
        let config = self.flags.0.load_store()?.config;
        let url = source::url(&config)?;
        let options = config.store_options();
        let report = source::runtime()?.block_on(leafid_stores::init(&url, &options))?;
        if self.json {
            let (created, found) = (report.created, report.found);
            let answer = json!({ "store": url.to_string(), "created": created, "found": found });
            return output::json(&answer);
        }
        output::line(&format!("{url}: {report}"))
    }
}

impl Check {
    fn run(self) -> Outcome {
        let mut config = self.flags.0.load_store()?.config;
        // What is weak is told below, all of it.
        config.allow_weak_store = true;
        let source = Source::open(&config)?;
        let report = source.runtime.block_on(source.generators.inspect_store());
        let report = report.map_err(|error| match error {
            StoreError::Unsupported { message } => {
                Failure::new(message, "the message says what to change")
            }
            error => error.into(),
        })?;
        let probed = source.runtime.block_on(source.generators.probe_store());
        let is_usable = probed.is_ok();
        if self.json {
            output::json(&as_json(&report, is_usable))?;
        } else {
            output::print(&as_text(&report, is_usable))?;
        }
        probed?;
        if report.weaknesses.is_empty() {
            return Ok(());
        }
        let wanted = report.weaknesses.iter();
        let wanted: Vec<String> = wanted
            .map(|weakness| format!("{} to {}", weakness.setting, weakness.wanted))
            .collect();
        Err(Failure::new(
            "the store can lose acknowledged reservations, and then ids come twice",
            format!("set {}", wanted.join(", ")),
        ))
    }
}

fn as_json(report: &StoreReport, is_usable: bool) -> serde_json::Value {
    let weaknesses = report.weaknesses.iter().map(|weakness| {
        json!({
            "setting": weakness.setting,
            "value": weakness.value,
            "wanted": weakness.wanted,
            "danger": weakness.danger,
        })
    });
    json!({
        "ok": is_usable && report.weaknesses.is_empty(),
        "usable": is_usable,
        "product": report.product,
        "location": report.location,
        "identity": report.identity,
        "own_table": report.has_own_table,
        "connection": report.transport.as_ref().map(|transport| transport.security.name()),
        "connection_advice": report.transport.as_ref().and_then(|transport| transport.advice.clone()),
        "weaknesses": weaknesses.collect::<Vec<_>>(),
    })
}

fn as_text(report: &StoreReport, is_usable: bool) -> String {
    let own_table = match report.has_own_table {
        _ if !is_usable => "ids cannot be reserved from it",
        true => "leaf_alloc, leafid_tag",
        false => "leaf_alloc only (`leafid store init` adds policies, limits and deleted tags)",
    };
    let mut text = format!(
        "product   {}\nlocation  {}\nidentity  {}\ntables    {own_table}\n",
        report.product, report.location, report.identity
    );
    if let Some(transport) = &report.transport {
        text.push_str(&format!("connected {transport}\n"));
        if let Some(advice) = &transport.advice {
            text.push_str(&format!("exposed   {advice}\n"));
        }
    }
    for weakness in &report.weaknesses {
        text.push_str(&format!("weak      {weakness}\n"));
    }
    if report.weaknesses.is_empty() && is_usable {
        text.push_str("durable   yes: what it acknowledges, it keeps\n");
    }
    text
}
