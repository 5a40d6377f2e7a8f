//! `Target`: where ids and tags are: behind a running server, or in a store.

use std::path::PathBuf;

use leafid_stores::read_text;

use crate::client::{Client, DEFAULT_SERVER};
use crate::failure::{Failure, Outcome};
use crate::flags::StoreFlags;
use crate::source::Source;
use crate::tls::TlsFlags;

/// Chooses the target: a server by default, a store if one is named.
#[derive(clap::Args)]
pub(crate) struct TargetFlags {
    #[command(flatten)]
    pub(crate) ask: AskFlags,
    #[command(flatten)]
    store: StoreFlags,
}

/// Chooses the server.
#[derive(clap::Args)]
pub(crate) struct AskFlags {
    /// The server to ask [default: http://127.0.0.1:8080] [env: LEAFID_SERVER]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    call: CallFlags,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The token and certificates to use. There is no flag for the secret itself, because other users
/// of the machine can see command lines.
#[derive(clap::Args)]
pub(crate) struct CallFlags {
    /// A file whose first line is the secret of a token, for a server that requires one; wins over
    /// the secret in LEAFID_TOKEN.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    tls: TlsFlags,
}

/// Where ids and tags are.
pub(crate) enum Target {
    Server(Client),
    Store(Source),
}

impl TargetFlags {
    /// Whether the command line names a server or a store.
    pub(crate) fn is_named(&self) -> bool {
        self.ask.server.is_some() || self.store.name_a_store()
    }

    /// A store is only used if the command line names it (`--store`, `--data-dir` or
    /// `--leaf-properties`): the settings of `leafid serve` must not turn a command that calls the
    /// server into one that bypasses it.
    pub(crate) fn target(&self) -> Outcome<Target> {
        if !self.store.name_a_store() {
            return Ok(Target::Server(self.ask.client()?));
        }
        if self.ask.server.is_some() {
            return Err(Failure::usage(
                "both a server and a store are named",
                "leave out --server, or --store, --data-dir and --leaf-properties",
            ));
        }
        let loaded = self.store.load_store()?;
        Ok(Target::Store(Source::open(&loaded.config)?))
    }
}

impl AskFlags {
    pub(crate) fn client(&self) -> Outcome<Client> {
        client(self.server.as_deref(), &self.call)
    }
}

impl CallFlags {
    /// The secret of the token, if there is one.
    fn secret(&self) -> Outcome<Option<String>> {
        let Some(path) = &self.token_file else {
            let variable = std::env::var("LEAFID_TOKEN").ok();
            return Ok(variable.filter(|secret| !secret.is_empty()));
        };
        let text = read_text(path).map_err(|error| {
            let message = format!("cannot read the token in {}: {error}", path.display());
            Failure::new(message, "name a file whose first line is the secret")
        })?;
        match text.lines().next() {
            Some(secret) if !secret.is_empty() => Ok(Some(secret.to_owned())),
            _ => Err(Failure::new(
                format!("the first line of {} is empty", path.display()),
                "write the secret of a token into it",
            )),
        }
    }
}

/// The named server, else that of the environment, else the default one.
pub(crate) fn client(server: Option<&str>, call: &CallFlags) -> Outcome<Client> {
    let url = named_server(server).unwrap_or_else(|| DEFAULT_SERVER.to_owned());
    Client::new(&url, call.secret()?.as_deref(), call.tls.config()?)
}

/// The server that the flag names, else the environment.
pub(crate) fn named_server(flag: Option<&str>) -> Option<String> {
    let variable = || std::env::var("LEAFID_SERVER").ok();
    let variable = || variable().filter(|url| !url.is_empty());
    flag.map(str::to_owned).or_else(variable)
}
