//! `leafid quota`: limits the ids per second of a running server.

use leafid::Tag;
use leafid_server::api::IDS_PER_SECOND_MAX;

use crate::client::QuotaOn;
use crate::failure::Outcome;
use crate::output;
use crate::target::AskFlags;

/// List, set or remove quotas in ids per second on a running server.
///
/// A quota applies at once, to the one server that is named, until it is changed again or the server
/// restarts; permanent quotas belong in the access file.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid quota set 1000 --tag order              at most 1000 ids per second of one tag
  leafid quota set 0 --all                       stop all ids of this server
  leafid quota remove --all                      and allow them again
  leafid quota list --server http://ids:8080 --token-file ops.secret")]
pub(crate) struct Quotas {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(List),
    Set(Set),
    Remove(Remove),
}

/// List the quotas of a server.
#[derive(clap::Args)]
struct List {
    #[command(flatten)]
    server: AskFlags,
}

/// Apply a quota at once; 0 blocks what it limits.
#[derive(clap::Args)]
struct Set {
    /// Ids per second.
    #[arg(value_name = "IDS_PER_SECOND")]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=IDS_PER_SECOND_MAX))]
    ids_per_second: u64,
    #[command(flatten)]
    on: OnFlags,
    #[command(flatten)]
    server: AskFlags,
}

/// Remove a quota.
#[derive(clap::Args)]
struct Remove {
    #[command(flatten)]
    on: OnFlags,
    #[command(flatten)]
    server: AskFlags,
}

/// What a quota limits: exactly one of these.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct OnFlags {
    /// The ids of this tag.
    #[arg(long, value_name = "TAG")]
    tag: Option<Tag>,
    /// The ids of all callers with the token of this name.
    #[arg(long, value_name = "NAME")]
    token_name: Option<String>,
    /// All ids of the server.
    #[arg(long)]
    all: bool,
}

impl OnFlags {
    fn on(&self) -> QuotaOn<'_> {
        match (&self.tag, &self.token_name) {
            (Some(tag), _) => QuotaOn::Tag(tag.as_str()),
            (None, Some(name)) => QuotaOn::Token(name),
            (None, None) => QuotaOn::Server,
        }
    }
}

impl Quotas {
    pub(crate) fn run(self) -> Outcome {
        match self.command {
            Command::List(list) => list.run(),
            Command::Set(set) => set.run(),
            Command::Remove(remove) => remove.run(),
        }
    }
}

impl List {
    fn run(self) -> Outcome {
        let answer = self.server.client()?.quotas()?;
        if self.server.json {
            return output::json(&answer);
        }
        if answer.quotas.is_empty() {
            return output::line("no quotas");
        }
        let rows = answer.quotas.into_iter().map(|quota| {
            let name = quota.name.unwrap_or_else(|| "-".to_owned());
            [quota.on, name, quota.ids_per_second.to_string()]
        });
        output::table(["ON", "NAME", "IDS PER SECOND"], rows)
    }
}

impl Set {
    fn run(self) -> Outcome {
        let (on, per_second) = (self.on.on(), self.ids_per_second);
        let answer = self.server.client()?.set_quota(on, per_second)?;
        if self.server.json {
            return output::json(&answer);
        }
        output::line(&format!("quota on {on}: {per_second} ids a second"))
    }
}

impl Remove {
    fn run(self) -> Outcome {
        let on = self.on.on();
        self.server.client()?.remove_quota(on)?;
        if self.server.json {
            return output::json(&serde_json::json!({ "removed": on.to_string() }));
        }
        output::line(&format!("quota on {on}: none"))
    }
}
