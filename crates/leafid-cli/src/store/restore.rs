//! `leafid store restore`: restores an embedded store from a backup.

use std::path::PathBuf;
use std::time::Duration;

use leafid::{Clock as _, Limit, SystemClock};
use leafid_server::Config;
use leafid_stores::{AuditRecord, RaisedTag, RestoreOptions, RestoreReport};
use serde_json::json;

use crate::failure::Outcome;
use crate::flags::StoreFlags;
use crate::{output, source};

/// The time in ids may differ from the clock's by this; more than it ever does.
const FOLLOW_MAX: Duration = Duration::from_secs(10);

/// Restore a store that is a SQLite file from a backup; no server may run on it.
///
/// Every tag is raised by the margin, because ids were issued after the backup was made: choose
/// more than any tag issued since. If the same backup was restored before, add the margin of that
/// time. Tags that are not in the backup start above the margin. Worker ids stay taken for as long
/// as a lease may last, unless the replaced file knows all of them. That file is kept under another
/// name.
#[derive(clap::Args)]
pub(crate) struct Restore {
    /// The backup: made by `leafid store backup`, or any other complete copy.
    file: PathBuf,
    /// How many ids of each tag to skip.
    #[arg(long, value_name = "COUNT", default_value_t = RestoreOptions::default().margin)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=Limit::INT64.largest()))]
    margin: u64,
    /// Let later periods of calendar counters start at 1 although the replaced file is unknown.
    ///
    /// For periods that begin in two days or later. Only if none of them was begun: by a server whose
    /// clock was a day ahead, or by its name. Its ids would repeat.
    #[arg(long)]
    spare_later_periods: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: StoreFlags,
}

impl Restore {
    pub(super) fn run(self) -> Outcome {
        let config = self.flags.load_store()?.config;
        let url = source::url(&config)?;
        let how = self.how(&config);
        let options = config.store_options();
        let restoring = leafid_stores::restore(&url, &self.file, &how, &options);
        let runtime = source::runtime()?;
        let report = runtime.block_on(restoring)?;
        let record = AuditRecord {
            action: "store restored".into(),
            subject: self.file.display().to_string(),
            after: format!("tags={} margin={}", report.tags.len(), self.margin),
            ..AuditRecord::default()
        };
        runtime.block_on(async {
            source::note(&config, record).await;
            source::settle(&config).await;
        });
        if self.json {
            return output::json(&as_json(&report));
        }
        output::print(&as_text(&report, &source::place(&config)))
    }

    fn how(&self, config: &Config) -> RestoreOptions {
        let workers = &config.workers;
        let now_ms = SystemClock::new().wall().as_millis();
        // A lease is extended from the last id on, which may be ahead of the clock.
        let lease = workers.lease.max(workers.journal_ahead * 2) + workers.ahead_max + FOLLOW_MAX;
        RestoreOptions::default()
            .with_margin(self.margin)
            .with_lease(lease)
            .with_spares_later_periods(self.spare_later_periods)
            .with_now_ms(u64::try_from(now_ms).unwrap_or(u64::MAX))
    }
}

fn as_json(report: &RestoreReport) -> serde_json::Value {
    let tags = report.tags.iter().map(|raised| {
        let RaisedTag {
            tag,
            from,
            to,
            is_spent,
            ..
        } = raised;
        let (from, to) = (from.to_string(), to.to_string());
        json!({ "tag": tag, "from": from, "to": to, "spent": is_spent })
    });
    json!({
        "tags": tags.collect::<Vec<_>>(),
        "workers": report.workers,
        "raised_counters": report.raised_counters,
        "former": report.aside.as_ref().map(|aside| aside.display().to_string()),
        "note": report.knowledge.to_string(),
    })
}

fn as_text(report: &RestoreReport, place: &str) -> String {
    let mut text = format!("restored {place}\n");
    for raised in &report.tags {
        text.push_str(&format!("raised {raised}\n"));
    }
    text.push_str(&format!("worker ids kept back: {}\n", report.workers));
    text.push_str(&format!("{}\n", report.knowledge));
    text.push_str(
        "make a new backup now: to restore this one again, add this margin to the next\n",
    );
    if !report.raised_counters.is_empty() {
        text.push_str(&format!(
            "calendar counters, whose later periods start above the margin: {}; if it has more \
            digits than their formats, restore once more, with --spare-later-periods if no \
            server's clock was ever a day ahead, or, before a server runs on this store, with a \
            smaller --margin after removing its files\n",
            report.raised_counters.join(", ")
        ));
    }
    if let Some(aside) = &report.aside {
        text.push_str(&format!("the former file is now {}\n", aside.display()));
    }
    text
}
