//! `leafid store check`: shows what a store is, and whether it is durable; of a list, each server.

use leafid::Generators;
use leafid::store::{StoreError, StoreReport, Weakness};
use leafid_server::with_causes;
use leafid_stores::{StoreUrl, open_each};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::flags::StoreFlags;
use crate::output;
use crate::source::{self, Source};

/// Check a store; exit code 1 if it cannot be used, or could lose an acknowledged reservation.
///
/// Each server of a list is checked. A server that is down, or a standby, is named; the store can
/// be used as long as one of its servers can.
#[derive(clap::Args)]
pub(crate) struct Check {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: StoreFlags,
}

/// What was found on one server.
struct Look {
    url: StoreUrl,
    /// What it is, and why no ids can be reserved from it, if so.
    answer: Result<(StoreReport, Option<StoreError>), StoreError>,
}

impl Check {
    pub(super) fn run(self) -> Outcome {
        let mut config = self.flags.load_store()?.config;
        // Weaknesses are listed below, all of them.
        config.allow_weak_store = true;
        let source = Source::open(&config)?;
        let (url, options) = (source::url(&config)?, config.store_options());
        let formats = source::formats(&config)?;
        let looks = source.runtime.block_on(async {
            let mut looks = Vec::new();
            for (url, store) in open_each(&url, &options).await? {
                let answer = look(&source::generators(store, formats.clone())).await;
                looks.push(Look { url, answer });
            }
            Ok::<_, StoreError>(looks)
        })?;
        // The first server that can be used, or why none can.
        let report = source.runtime.block_on(source.generators.inspect_store());
        let probed = source.runtime.block_on(source.generators.probe_store());
        let used = probed.as_deref().ok();
        let report = match report {
            Err(error) if looks.len() == 1 => return Err(refusal(error)),
            report => report,
        };
        if self.json {
            output::json(&as_json(&looks, used))?;
        } else {
            let texts: Vec<String> = looks.iter().map(Look::text).collect();
            output::print(&texts.join("\n"))?;
        }
        report.map_err(refusal)?;
        probed?;
        outcome_of(&looks)
    }
}

async fn look(server: &Generators) -> Result<(StoreReport, Option<StoreError>), StoreError> {
    let report = server.inspect_store().await?;
    Ok((report, server.probe_store().await.err()))
}

fn refusal(error: StoreError) -> Failure {
    match error {
        StoreError::Unsupported { message } => {
            Failure::new(message, "the message says what to change")
        }
        error => error.into(),
    }
}

/// Fails if any usable server could lose what it acknowledges.
fn outcome_of(looks: &[Look]) -> Outcome {
    let mut wanted: Vec<String> = Vec::new();
    for weakness in looks.iter().flat_map(Look::weaknesses) {
        let one = format!("{} to {}", weakness.setting, weakness.wanted);
        if !wanted.contains(&one) {
            wanted.push(one);
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        "the store can lose acknowledged reservations, and then ids come twice",
        format!("set {}", wanted.join(", ")),
    ))
}

/// The server in use, as for a store of one, and each of a list.
fn as_json(looks: &[Look], used: Option<&str>) -> Value {
    let mut answer = looks
        .iter()
        .find(|look| look.is_used(used))
        .or(looks.first())
        .map_or_else(|| json!({}), Look::json);
    if looks.len() > 1 {
        answer["ok"] =
            json!(used.is_some() && looks.iter().all(|look| look.weaknesses().is_empty()));
        answer["servers"] = looks.iter().map(Look::json).collect();
    }
    answer
}

impl Look {
    fn weaknesses(&self) -> &[Weakness] {
        match &self.answer {
            Ok((report, _)) => &report.weaknesses,
            Err(_) => &[],
        }
    }

    fn is_used(&self, used: Option<&str>) -> bool {
        used == Some(&self.url.to_string())
    }

    fn json(&self) -> Value {
        let (report, unusable) = match &self.answer {
            Ok((report, unusable)) => (report, unusable),
            Err(error) => {
                return json!({
                    "ok": false,
                    "usable": false,
                    "location": self.url.to_string(),
                    "error": with_causes(error),
                });
            }
        };
        let weaknesses = report.weaknesses.iter().map(|weakness| {
            json!({
                "setting": weakness.setting,
                "value": weakness.value,
                "wanted": weakness.wanted,
                "danger": weakness.danger,
            })
        });
        let transport = report.transport.as_ref();
        json!({
            "ok": unusable.is_none() && report.weaknesses.is_empty(),
            "usable": unusable.is_none(),
            "product": report.product,
            "location": report.location,
            "identity": report.identity,
            "own_table": report.has_own_table,
            "missing": report.missing,
            "connection": transport.map(|transport| transport.security.name()),
            "connection_advice": transport.and_then(|transport| transport.advice.clone()),
            "weaknesses": weaknesses.collect::<Vec<_>>(),
        })
    }

    fn text(&self) -> String {
        let Ok((report, unusable)) = &self.answer else {
            return self.text_of_failure();
        };
        let mut text = format!(
            "product   {}\nlocation  {}\nidentity  {}\ntables    {}\n",
            report.product,
            report.location,
            report.identity,
            tables(report, unusable.is_some(), self.url.table())
        );
        if let Some(transport) = &report.transport {
            text.push_str(&format!("connected {transport}\n"));
            if let Some(advice) = &transport.advice {
                text.push_str(&format!("exposed   {advice}\n"));
            }
        }
        if !report.missing.is_empty() {
            text.push_str(&format!(
                "old       {} not there: run `leafid store init --store {}`\n",
                report.missing.join(", "),
                self.url
            ));
        }
        for weakness in &report.weaknesses {
            text.push_str(&format!("weak      {weakness}\n"));
        }
        match unusable {
            Some(error) => text.push_str(&format!("unusable  {}\n", with_causes(error))),
            None if report.weaknesses.is_empty() => {
                text.push_str("durable   yes: what it acknowledges, it keeps\n");
            }
            None => {}
        }
        text
    }

    fn text_of_failure(&self) -> String {
        let reason = self.answer.as_ref().err().map(|error| with_causes(error));
        format!(
            "location  {}\nunusable  {}\n",
            self.url,
            reason.unwrap_or_default()
        )
    }
}

fn tables(report: &StoreReport, is_unusable: bool, table: Option<&str>) -> &'static str {
    match report.has_own_table {
        _ if is_unusable => "ids cannot be reserved from it",
        _ if table == Some("gear_key") => "gear_key",
        true => "leaf_alloc, leafid_tag",
        false => "leaf_alloc only (`leafid store init` adds policies, limits and deleted tags)",
    }
}
