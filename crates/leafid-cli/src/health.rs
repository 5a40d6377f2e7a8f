//! `leafid health`: asks a running server whether it is ready, for container and exec probes.

use std::path::PathBuf;
use std::time::Duration;

use leafid::Escaped;
use leafid_server::Sources;
use ureq::http::StatusCode;

use crate::client::Client;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::serve::reachable;
use crate::target::named_server;
use crate::tls::TlsFlags;

/// What to do if no server answers.
const START_OR_NAME: &str = "start it with `leafid serve`, or name another with --server URL";

/// Check whether a running server is ready; exit code 1 if it is not, or does not answer in time.
///
/// For HEALTHCHECK of a container and exec probes. It needs no token. Without --server and
/// LEAFID_SERVER it asks the address on which `leafid serve` would listen with the settings of the
/// environment and the settings file.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid health
  leafid health --live --timeout 1
  leafid health --server https://ids:8080 --ca-file ca.pem")]
pub(crate) struct Health {
    /// Ask only whether the server is alive, as a liveness probe does.
    #[arg(long)]
    live: bool,
    /// The longest time to wait for the answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=60))]
    timeout: u64,
    /// The server to ask [default: the address in the settings] [env: LEAFID_SERVER]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    tls: TlsFlags,
    /// Read the address from this settings file [default: leafid.toml, if it exists] [env:
    /// LEAFID_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Health {
    pub(crate) fn run(self) -> Outcome {
        let url = match named_server(self.server.as_deref()) {
            Some(url) => url,
            None => configured_server(self.config)?,
        };
        let timeout = Duration::from_secs(self.timeout);
        let client = Client::without_token(&url, self.tls.config()?, timeout)?;
        let path = if self.live {
            "/livez"
        } else {
            "/readyz?verbose"
        };
        let (status, body) = client.probe(path, START_OR_NAME)?;
        match (status, body.lines().last()) {
            (StatusCode::OK, Some("ok")) if self.live => output::line("alive"),
            (StatusCode::OK, Some("ready")) if !self.live => output::line("ready"),
            (_, Some("not ready")) => {
                output::line(&Escaped(&reasons(&body)).to_string())?;
                Err(Failure::silent())
            }
            _ => Err(client.not_leafid(&format!("status {status}, {body}"))),
        }
    }
}

/// The address on which a server with the settings of the environment and the file listens.
fn configured_server(config: Option<PathBuf>) -> Outcome<String> {
    let sources = Sources {
        config,
        ..Sources::from_environment()
    };
    let config = sources.load()?.config;
    let address = reachable(config.http);
    if address.port() == 0 {
        let message = "the settings let the server pick any free port";
        return Err(Failure::usage(message, "name it with --server URL"));
    }
    let s = if config.tls.is_on() { "s" } else { "" };
    Ok(format!("http{s}://{address}"))
}

/// One line with the checks that failed, of an answer with a line for each.
pub(crate) fn reasons(body: &str) -> String {
    let failed: Vec<_> = body
        .lines()
        .filter_map(|line| line.strip_prefix("[-]"))
        .collect();
    match failed.is_empty() {
        true => "not ready".to_owned(),
        false => format!("not ready: {}", failed.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failed_checks_are_the_reasons() {
        let body =
            "[+]driver: segments are fetched\n[-]store: a b\n[-]memory: holds no ids\nnot ready\n";
        let line = "not ready: store: a b; memory: holds no ids";
        assert_eq!(reasons(body), line);
        assert_eq!(reasons("not ready\n"), "not ready");
    }
}
