//! `leafid config`: the settings as `leafid serve` would see them.

use std::fmt::Write as _;

use leafid_server::{AccessFile, ConfigError, FormatKeys, Loaded, Setting, Shown, Sources, Tls};
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::flags::ServerFlags;
use crate::output;

/// Check the settings, or show them.
#[derive(clap::Subcommand)]
#[command(before_help = "\
Examples:
  leafid config show --origin           every setting, and where it comes from
  leafid config check --config new.toml")]
pub(crate) enum Configs {
    /// Check the settings without starting the server; exit code 1 if they are invalid.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: ServerFlags,
    },
    /// Show the effective value of every setting as TOML, with passwords as ***.
    Show {
        /// Also show where each value comes from.
        #[arg(long)]
        origin: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: ServerFlags,
    },
}

impl Configs {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Check { json, flags } => check(&flags.sources(), json),
            Self::Show {
                origin,
                json,
                flags,
            } => show(&flags.load()?.shown(), origin, json),
        }
    }
}

fn check(sources: &Sources, is_json: bool) -> Outcome {
    let notes = match notes(sources) {
        Ok(notes) => notes,
        Err(error) if is_json => {
            output::json(&json!({ "ok": false, "mistakes": error.mistakes, "notes": [] }))?;
            return Err(Failure::silent());
        }
        Err(error) => return Err(error.into()),
    };
    if is_json {
        return output::json(&json!({ "ok": true, "mistakes": [], "notes": notes }));
    }
    let mut text: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
    text.push_str("the settings are valid\n");
    output::print(&text)
}

/// Notes for the operator about settings, access file and certificate, if all are valid.
fn notes(sources: &Sources) -> Result<Vec<String>, ConfigError> {
    let mut loaded = sources.load()?;
    if let Some(path) = &loaded.config.access_file {
        let file = AccessFile::read(path, &loaded.config.limits())?;
        loaded.notes.extend(file.notes);
        loaded.config.tokens = file.tokens;
    }
    let keys = FormatKeys::of(&loaded.config)?;
    loaded
        .notes
        .extend(keys.into_iter().flat_map(|keys| keys.notes));
    loaded.check_exposure()?;
    let Loaded {
        config, mut notes, ..
    } = loaded;
    if let Some(tls) = Tls::read(&config, config.limits())? {
        notes.extend(tls.notes());
    }
    Ok(notes)
}

fn show(all: &[Shown], with_origin: bool, is_json: bool) -> Outcome {
    if is_json {
        let object: serde_json::Map<_, _> = all.iter().map(json_entry).collect();
        return output::json(&object);
    }
    let lines: Vec<String> = all.iter().map(toml_line).collect();
    let lens = lines.iter().map(|line| line.chars().count());
    let width = lens.max().unwrap_or(0).min(60);
    let mut text = String::new();
    for (line, shown) in lines.iter().zip(all) {
        let _ = match with_origin {
            true => writeln!(text, "{line:width$}  # {}", shown.origin),
            false => writeln!(text, "{line}"),
        };
    }
    output::print(&text)
}

fn json_entry(shown: &Shown) -> (String, serde_json::Value) {
    let entry = json!({ "value": shown.value, "origin": shown.origin.to_string() });
    (shown.setting.to_owned(), entry)
}

/// A line of a settings file; commented out if the setting has no value or a secret one.
fn toml_line(shown: &Shown) -> String {
    let Shown { setting, value, .. } = shown;
    if value.is_empty() {
        return format!("# {setting} is not set");
    }
    if value.contains("***") {
        return format!("# {setting} = {value:?}");
    }
    let is_list = Setting::find(setting).is_some_and(Setting::is_list);
    let is_bare = value.parse::<u64>().is_ok() || value.parse::<bool>().is_ok();
    match (is_list, is_bare) {
        (true, _) => {
            let urls = shown.urls();
            let urls: Vec<String> = urls.iter().map(|url| format!("{url:?}")).collect();
            format!("{setting} = [{}]", urls.join(", "))
        }
        (false, true) => format!("{setting} = {value}"),
        (false, false) => format!("{setting} = {value:?}"),
    }
}
