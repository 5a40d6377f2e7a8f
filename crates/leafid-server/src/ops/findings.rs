//! What a server finds about itself: what an operator should look at, and what to do about it.

use leafid::Tag;

use super::monitor::{About, Totals};
use crate::api::console::{Finding, Overview};

/// The clock may be off by so many seconds.
const CLOCK_OFF_MAX: f64 = 1.0;
/// A cover below this is short: an outage of the store lasts longer.
const COVER_MIN_SECONDS: f64 = 60.0;
/// A certificate that ends within these days is to be replaced.
const CERTIFICATE_DAYS: f64 = 30.0;

/// What is known of a server.
pub(crate) struct Facts<'a> {
    pub(crate) about: &'a About,
    pub(crate) overview: &'a Overview,
    pub(crate) needs_token: bool,
    pub(crate) went_back: bool,
    /// The settings of files whose last reading failed.
    pub(crate) failed_reloads: Vec<&'static str>,
}

/// The findings, the worst first. Tags that `shows` does not let through are not named.
pub(crate) fn of(facts: &Facts<'_>, totals: &Totals, shows: impl Fn(&Tag) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    of_store(facts, &mut findings);
    of_worker(facts, &mut findings);
    of_access(facts, &mut findings);
    of_tags(facts, totals, shows, &mut findings);
    findings.sort_by_key(|finding| match finding.level {
        "error" => 0,
        "warn" => 1,
        _ => 2,
    });
    findings
}

fn push(
    findings: &mut Vec<Finding>,
    (level, code): (&'static str, &'static str),
    what: String,
    next: &str,
) {
    findings.push(Finding {
        level,
        code,
        what,
        next: next.to_owned(),
    });
}

fn of_store(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    if let Some(store) = &facts.overview.store
        && store.state == "down"
    {
        let why = store.error.as_deref().unwrap_or("it does not answer");
        let what = format!("the store at {} is down: {why}", store.location);
        push(
            findings,
            ("error", "store_down"),
            what,
            "bring it back within the cover of the tags; ids in memory go on until then",
        );
    }
    if facts.went_back {
        push(
            findings,
            ("error", "store_went_back"),
            "the store went back in time within the last day".into(),
            "see docs/operating.md: check whether a backup was restored or a replica took over",
        );
    }
    if facts.about.allows_weak_store {
        push(
            findings,
            ("warn", "weak_store_allowed"),
            "allow-weak-store is set: a store that can lose what it acknowledged is used".into(),
            "make the store durable and remove the setting, or accept that ids can repeat",
        );
    }
}

fn of_worker(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let Some(worker) = &facts.overview.worker else {
        return;
    };
    if let Some(reason) = &worker.reason {
        push(
            findings,
            ("error", "worker_refused"),
            format!("no snowflake id is issued: {reason}"),
            "correct the reason; the server tries again by itself",
        );
    }
    if worker.registry_answers == Some(false) {
        push(
            findings,
            ("error", "registry_down"),
            "the registry of worker ids does not answer".into(),
            "bring it back before the lease ends; snowflake ids go on until then",
        );
    }
    if worker.clock_offset_seconds.abs() > CLOCK_OFF_MAX {
        let what = format!(
            "the wall clock is {:.1} s ahead of the time in ids",
            worker.clock_offset_seconds
        );
        push(
            findings,
            ("warn", "clock_off"),
            what,
            "correct the clock (NTP); if it is right, accept it: leafid worker accept-clock",
        );
    }
}

fn of_access(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    if !facts.about.exposed.is_empty() {
        let what = format!(
            "other machines reach {} without authentication",
            facts.about.exposed.join(", ")
        );
        push(
            findings,
            ("warn", "no_authentication"),
            what,
            "set access-file (docs/access.md), or listen on 127.0.0.1",
        );
    }
    if facts.needs_token && facts.about.is_plain {
        push(
            findings,
            ("warn", "tokens_over_plain_http"),
            "tokens come over connections without encryption".into(),
            "set tls-cert and tls-key, or let a proxy in front of this server do it",
        );
    }
    if let Some(certificate) = &facts.overview.certificate
        && certificate.days_left < CERTIFICATE_DAYS
    {
        let level = if certificate.days_left < 7.0 {
            "error"
        } else {
            "warn"
        };
        let what = format!(
            "the certificate ends on {}, in {:.0} days",
            certificate.not_after, certificate.days_left
        );
        push(
            findings,
            (level, "certificate_ends"),
            what,
            "replace the files and send SIGHUP",
        );
    }
    for setting in &facts.failed_reloads {
        push(
            findings,
            ("warn", "reload_failed"),
            format!("the last reading of {setting} failed; what was read before holds"),
            "correct the file and send SIGHUP; the log names the mistake",
        );
    }
}

fn of_tags(
    facts: &Facts<'_>,
    totals: &Totals,
    shows: impl Fn(&Tag) -> bool,
    findings: &mut Vec<Finding>,
) {
    for tag in totals.exhausted.iter().filter(|tag| shows(tag)) {
        push(
            findings,
            ("error", "limit_reached"),
            format!("tag {tag} has reached its limit and issues no more ids"),
            "raise the limit, or move its callers to another tag",
        );
    }
    for (tag, days) in totals.ending.iter().filter(|(tag, _)| shows(tag)) {
        let level = if *days < 30.0 { "error" } else { "warn" };
        push(
            findings,
            (level, "limit_near"),
            format!("the numbers of tag {tag} end in {days:.0} days at the rate of this server"),
            "raise the limit, or move its callers to another tag",
        );
    }
    let cover = &facts.overview.cover;
    if let (Some(seconds), Some(tag)) = (cover.seconds, &cover.tag)
        && seconds < COVER_MIN_SECONDS
    {
        push(
            findings,
            ("warn", "short_cover"),
            format!("tag {tag} would live {seconds:.0} s without its store"),
            "raise its cover: leafid tag set NAME --policy cover --cover 10m",
        );
    }
}
