//! `leafid store`: creates the tables of a store, checks its durability, backs it up and restores
//! it.

mod backup;
mod check;
mod restore;

use leafid_stores::AuditRecord;
use serde_json::json;

use crate::failure::Outcome;
use crate::flags::StoreFlags;
use crate::output;
use crate::source;

/// Create the tables of a store, check its durability, back it up or restore it.
#[derive(clap::Subcommand)]
#[command(before_help = "\
Examples:
  leafid store check --store mysql://leaf@db:3306/leaf
  leafid store init --store postgres://leafid@db/leafid --store-password-file password
  leafid store backup monday.db
  leafid store restore monday.db --margin 5000000")]
pub(crate) enum Stores {
    Init(Init),
    Check(check::Check),
    Backup(backup::Backup),
    Restore(restore::Restore),
}

/// Create the missing tables, and add the columns that an older version of leafid_tag lacks. What
/// exists is left as it is. Servers may keep running.
///
/// Leaf's own table `leaf_alloc` is enough to serve segment ids. The table `leafid_tag` keeps what
/// Leaf's cannot hold: kinds, policies, limits and deleted tags. The tables `leafid_worker` and
/// `leafid_pool` record which server holds which worker id, and `leafid_audit` who changed what.
#[derive(clap::Args)]
pub(crate) struct Init {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: StoreFlags,
}

impl Stores {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Init(init) => init.run(),
            Self::Check(check) => check.run(),
            Self::Backup(backup) => backup.run(),
            Self::Restore(restore) => restore.run(),
        }
    }
}

impl Init {
    fn run(self) -> Outcome {
        let config = self.flags.load_store()?.config;
        let url = source::url(&config)?;
        let options = config.store_options();
        let runtime = source::runtime()?;
        let report = runtime.block_on(leafid_stores::init(&url, &options))?;
        let made = [&report.created[..], &report.added].concat();
        if !made.is_empty() {
            let record = AuditRecord {
                action: "tables created".into(),
                subject: url.to_string(),
                after: made.join(" "),
                ..AuditRecord::default()
            };
            runtime.block_on(source::note(&config, record));
        }
        if self.json {
            return output::json(&json!({
                "store": url.to_string(),
                "created": report.created,
                "added": report.added,
                "found": report.found,
            }));
        }
        output::line(&format!("{url}: {report}"))
    }
}
