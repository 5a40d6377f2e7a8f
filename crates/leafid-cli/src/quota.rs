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
#[derive(clap::Subcommand)]
#[command(before_help = "\
Examples:
  leafid quota set 1000 --tag order              at most 1000 ids per second of one tag
  leafid quota set 0 --all                       stop all ids of this server
  leafid quota remove --all                      and allow them again
  leafid quota list --server http://ids:8080 --token-file ops.secret")]
pub(crate) enum Quotas {
    /// List the quotas of a server.
    List(AskFlags),
    /// Apply a quota at once; 0 blocks what it limits.
    Set {
        /// Ids per second.
        #[arg(value_name = "IDS_PER_SECOND")]
        #[arg(value_parser = clap::value_parser!(u64).range(0..=IDS_PER_SECOND_MAX))]
        ids_per_second: u64,
        #[command(flatten)]
        on: OnFlags,
        #[command(flatten)]
        server: AskFlags,
    },
    /// Remove a quota.
    Remove {
        #[command(flatten)]
        on: OnFlags,
        #[command(flatten)]
        server: AskFlags,
    },
}

/// What a quota limits: exactly one of these.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct OnFlags {
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
        match self {
            Self::List(server) => list(&server),
            Self::Set {
                ids_per_second,
                on,
                server,
            } => set(on.on(), ids_per_second, &server),
            Self::Remove { on, server } => remove(on.on(), &server),
        }
    }
}

fn list(server: &AskFlags) -> Outcome {
    let answer = server.client()?.quotas()?;
    if server.json {
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

fn set(on: QuotaOn<'_>, per_second: u64, server: &AskFlags) -> Outcome {
    let answer = server.client()?.set_quota(on, per_second)?;
    if server.json {
        return output::json(&answer);
    }
    output::line(&format!("quota on {on}: {per_second} ids a second"))
}

fn remove(on: QuotaOn<'_>, server: &AskFlags) -> Outcome {
    server.client()?.remove_quota(on)?;
    if server.json {
        return output::json(&serde_json::json!({ "removed": on.to_string() }));
    }
    output::line(&format!("quota on {on}: none"))
}
