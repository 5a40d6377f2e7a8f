//! `Prometheus`: a Prometheus server of its own, which scrapes servers under test every second.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;

use crate::child::{RunAs, ServerProcess, find_program, free_port, new_folder, usual_places};
use crate::server::server_methods;

const PACKAGE: &str = "prometheus";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A Prometheus server on a free port of 127.0.0.1, with its files in a temporary folder.
///
/// ```no_run
/// let rules = std::path::Path::new("deploy/prometheus/leafid.rules.yml");
/// let server = leafid_testbed::Prometheus::start("leafid", &["127.0.0.1:8080"], rules);
/// let up = server.query("up");
/// ```
#[derive(Debug)]
pub struct Prometheus {
    process: ServerProcess,
}

server_methods!(Prometheus, stopped by "TERM");

impl Prometheus {
    /// Starts a server that scrapes these addresses as one job, with a file of rules.
    ///
    /// # Panics
    ///
    /// When it does not come up; the message has the end of its log, or the package to install.
    #[must_use]
    pub fn start(job: &str, targets: &[&str], rules: &Path) -> Self {
        let folder = new_folder("leafid-prometheus-");
        let program = find_program(&usual_places("prometheus"), PACKAGE);
        let config = folder.join("prometheus.yml");
        let text = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: ['{}']\n\
             scrape_configs: [{{job_name: {job}, static_configs: [{{targets: {targets:?}}}]}}]\n",
            rules.display(),
        );
        std::fs::write(&config, text)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", config.display()));
        let mut process = ServerProcess::new(folder, free_port(), RunAs::Caller, program);
        process.set_arguments(vec![
            format!("--config.file={}", config.display()),
            format!(
                "--storage.tsdb.path={}",
                process.folder.join("data").display()
            ),
            format!("--web.listen-address=127.0.0.1:{}", process.port),
        ]);
        let server = Self { process };
        server.start_again();
        server
    }

    /// The result of a query now: a JSON array of series.
    ///
    /// # Panics
    ///
    /// When Prometheus refuses the query.
    #[must_use]
    pub fn query(&self, query: &str) -> Vec<Value> {
        let answer = self.get("query", &[("query", query)]);
        let result = answer["data"]["result"].as_array().cloned();
        result.unwrap_or_else(|| panic!("{query}: {answer}"))
    }

    /// All rules with their states, as `/api/v1/rules` lists them.
    ///
    /// # Panics
    ///
    /// When Prometheus does not answer.
    #[must_use]
    pub fn rules(&self) -> Vec<Value> {
        let answer = self.get("rules", &[]);
        let groups = answer["data"]["groups"].as_array().cloned();
        let rules = groups.unwrap_or_default();
        let rules = rules.iter().filter_map(|group| group["rules"].as_array());
        rules.flatten().cloned().collect()
    }

    fn get(&self, method: &str, parameters: &[(&str, &str)]) -> Value {
        let url = format!("http://127.0.0.1:{}/api/v1/{method}", self.port());
        let call = agent().get(url).query_pairs(parameters.iter().copied());
        call.call()
            .and_then(|mut answer| answer.body_mut().read_json())
            .unwrap_or_else(|error| panic!("{parameters:?} of {self:?} failed: {error}"))
    }

    fn is_ready(&self) -> bool {
        let url = format!("http://127.0.0.1:{}/-/ready", self.port());
        let answer = agent().get(url).call();
        answer.is_ok_and(|answer| answer.status() == 200)
    }
}

/// Errors of the API have an explanation in their body.
fn agent() -> Agent {
    let settings = Agent::config_builder()
        .timeout_global(Some(ANSWER_TIMEOUT))
        .http_status_as_error(false);
    settings.build().new_agent()
}
