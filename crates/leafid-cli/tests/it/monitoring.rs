//! Guards the alert rules and the dashboard of `deploy/`: each alert is tested and explained, and
//! a real Prometheus that scrapes real servers has an answer to every panel.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use leafid_testbed::{Authority, Prometheus};
use serde_json::Value;
use tempfile::tempdir;

use crate::server_process::{Server, finish, until};

fn deployed(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(path).canonicalize().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(deployed(path)).unwrap()
}

/// The names of the alerts, in order.
fn alerts(rules: &str) -> Vec<&str> {
    let lines = rules.lines().map(str::trim_start);
    lines
        .filter_map(|line| line.strip_prefix("- alert: "))
        .collect()
}

/// The queries of the dashboard, with the title of the panel.
fn queries(dashboard: &str) -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| {
        let targets = panel["targets"].as_array().into_iter().flatten();
        targets.map(|target| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&panel["title"]), text(&target["expr"]))
        })
    });
    targets.collect()
}

/// Guards that promtool accepts the rules and that each alert fires when it should, and only then;
/// that each has a severity that the header explains, and a part of the docs that its link leads to.
#[test]
fn every_alert_is_tested_and_explained() {
    let rules = read("deploy/prometheus/leafid.rules.yml");
    for (action, file) in [
        ("check", "leafid.rules.yml"),
        ("test", "leafid.rules.test.yml"),
    ] {
        let mut promtool = Command::new("promtool");
        promtool.args([action, "rules", file]);
        let run = finish(promtool.current_dir(deployed("deploy/prometheus")));
        assert!(run.code == 0 && run.out.contains("SUCCESS"), "{run:?}");
    }
    let tests = read("deploy/prometheus/leafid.rules.test.yml");
    let docs = read("docs/operating.md");
    let alerts = alerts(&rules);
    assert!(alerts.len() > 30, "{alerts:?}");
    for alert in &alerts {
        for case in ["fires", "does not fire"] {
            assert!(
                tests.contains(&format!("- name: {alert} {case}\n")),
                "{alert} {case}"
            );
        }
        let anchor = alert.to_lowercase();
        assert!(
            rules.contains(&format!("runbook_url: docs/operating.md#{anchor}\n")),
            "{alert}"
        );
        assert!(
            docs.contains(&format!("\n### {alert}\n\n")),
            "{alert} in docs/operating.md"
        );
    }
    let explained = docs.lines().filter(|line| line.starts_with("### Leafid"));
    assert_eq!(
        explained.count(),
        alerts.len(),
        "an alert that is gone is explained"
    );
}

/// Guards that rules and dashboard name no metric that a server does not have.
#[test]
fn every_metric_that_is_asked_for_exists() {
    let folder = tempdir().unwrap();
    let authority = Authority::new();
    authority
        .issue(["127.0.0.1"])
        .write(folder.path(), "server");
    let tls = ["--tls-cert", "server.pem", "--tls-key", "server.key"];
    let server = Server::start(folder.path(), &tls);
    for path in ["/v1/tags/order/ids", "/api/snowflake/get/order"] {
        let _id = server.get(path);
    }
    let (_, metrics) = server.get("/metrics");
    let types = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "));
    let known: BTreeSet<&str> = types.filter_map(|line| line.split(' ').next()).collect();
    let rules = read("deploy/prometheus/leafid.rules.yml");
    let asked = rules + &read("deploy/grafana/leafid.json");
    let words = asked.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter(|word| word.starts_with("leafid_") || word.starts_with("process_"));
    let names: BTreeSet<&str> = names.collect();
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        let of_histogram = ["_bucket", "_count"].map(|end| name.strip_suffix(end));
        let mut ways = of_histogram.into_iter().flatten().chain([name]);
        assert!(
            ways.any(|name| known.contains(name)),
            "no metric {name}: {metrics}"
        );
    }
    server.stop();
}

/// Guards that each panel shows something of two servers in use, that all rules can be evaluated,
/// and that a healthy server raises no critical alert and a stopped one does.
#[test]
fn a_real_prometheus_answers_every_panel() {
    let (folder, other) = (tempdir().unwrap(), tempdir().unwrap());
    // Each with a store of its own, so their worker ids are not of one pool.
    let servers = [(folder.path(), "a"), (other.path(), "b")]
        .map(|(folder, pool)| Server::start(folder, &["--worker-pool", pool]));
    let use_all = || {
        for server in &servers {
            for path in ["/v1/tags/order/ids", "/v1/snowflake/ids", "/nothing"] {
                let _answer = server.get(path);
            }
        }
    };
    use_all();
    let targets = servers.each_ref().map(Server::address);
    let rules = deployed("deploy/prometheus/leafid.rules.yml");
    let prometheus = Prometheus::start("leafid", &targets, &rules);
    until("four scrapes", || {
        use_all();
        let scrapes = prometheus.query("min(count_over_time(up[1m]))");
        let scrapes = scrapes.first()?["value"][1].as_str()?.parse::<u32>().ok()?;
        (scrapes >= 4).then_some(())
    });
    // A new tag has no cover yet.
    let later = [
        "Shortest cover",
        "Cover: time without the store, ten shortest",
    ];
    let dashboard = read("deploy/grafana/leafid.json");
    for (title, query) in queries(&dashboard) {
        let query = query
            .replace("$__rate_interval", "5s")
            .replace("$job", "leafid");
        let query = query.replace("$instance", ".*").replace("$tag", ".*");
        assert!(!query.contains('$'), "{title}: {query}");
        let shown = prometheus.query(&query);
        assert!(
            !shown.is_empty() || later.contains(&title.as_str()),
            "{title}: {query}"
        );
    }
    let state = |alert: &str| {
        let rules = prometheus.rules();
        let rule = rules.iter().find(|rule| rule["name"] == alert);
        rule.map(|rule| rule["state"].as_str().unwrap().to_owned())
    };
    for rule in prometheus.rules() {
        assert_eq!(rule["health"], "ok", "{rule}");
        assert!(
            rule["state"] == "inactive" || rule["labels"]["severity"] != "critical",
            "{rule}"
        );
    }
    let [first, second] = servers;
    first.stop();
    until("the alert", || {
        (state("LeafidDown")? == "pending").then_some(())
    });
    second.stop();
}
