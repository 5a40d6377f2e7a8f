//! `Target`: where ids and tags are: behind a running server, or straight in a store.

use crate::client::{Client, DEFAULT_SERVER};
use crate::failure::{Failure, Outcome};
use crate::flags::StoreFlags;
use crate::source::Source;

/// Says where to go: to a server by default, straight to a store if one is named.
#[derive(clap::Args)]
pub(crate) struct TargetFlags {
    /// The server to ask [default: http://127.0.0.1:8080] [env: LEAFID_SERVER]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    store: StoreFlags,
}

/// Where ids and tags are.
pub(crate) enum Target {
    Server(Client),
    Store(Source),
}

impl TargetFlags {
    /// A store is only used when the command line names it (`--store`, `--data-dir` or
    /// `--leaf-properties`): what `leafid serve` is set to must not turn a command that asks the
    /// server into one that goes behind its back.
    pub(crate) fn target(&self) -> Outcome<Target> {
        match (&self.server, self.store.0.name_a_store()) {
            (Some(_), true) => Err(Failure::usage(
                "both a server and a store are named",
                "leave out --server, or --store, --data-dir and --leaf-properties",
            )),
            (None, true) => {
                let loaded = self.store.0.load_store()?;
                Ok(Target::Store(Source::open(&loaded.config)?))
            }
            (server, false) => Ok(Target::Server(client(server.as_deref())?)),
        }
    }
}

/// The named server, else that of the environment, else the default one.
pub(crate) fn client(server: Option<&str>) -> Outcome<Client> {
    let variable = std::env::var("LEAFID_SERVER");
    let variable = variable.ok().filter(|url| !url.is_empty());
    Client::new(server.or(variable.as_deref()).unwrap_or(DEFAULT_SERVER))
}
