//! `Flags`: the settings of the server as flags, made from the server's table of settings.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use leafid_server::{Loaded, SETTINGS, Setting, Sources};

use crate::failure::{Failure, Outcome};

/// Flags for all settings.
pub(crate) type ServerFlags = Flags<true>;

/// Flags for the settings that choose the store, and how to connect to it.
pub(crate) type StoreFlags = Flags<false>;

/// Settings given on the command line: all of them, or those of [`STORE_KEYS`].
pub(crate) struct Flags<const ALL: bool> {
    given: Vec<(&'static str, Vec<String>)>,
    config: Option<PathBuf>,
    leaf_properties: Option<PathBuf>,
}

const STORE_KEYS: [&str; 8] = [
    "store",
    "data-dir",
    "store-password-file",
    "allow-weak-store",
    "store-connect-timeout",
    "store-statement-timeout",
    "create-tags",
    "format-keys",
];

impl<const ALL: bool> Flags<ALL> {
    /// Reads all layers of settings.
    pub(crate) fn load(&self) -> Outcome<Loaded> {
        Ok(self.sources().load()?)
    }

    /// The sources of settings: these flags, and the environment of this process.
    pub(crate) fn sources(&self) -> Sources {
        Sources {
            flags: self.given.clone(),
            config: self.config.clone(),
            leaf_properties: self.leaf_properties.clone(),
            ..Sources::from_environment()
        }
    }

    /// Whether the command line itself names a store.
    pub(crate) fn name_a_store(&self) -> bool {
        let is_place = |key| ["store", "data-dir"].contains(key);
        self.leaf_properties.is_some() || self.given.iter().any(|(key, _)| is_place(key))
    }

    /// Reads all layers for a command that works on the store itself. A directory on the command
    /// line must not silently lose to a URL from elsewhere.
    pub(crate) fn load_store(&self) -> Outcome<Loaded> {
        let loaded = self.load()?;
        let is_given = |name: &str| self.given.iter().any(|(key, _)| *key == name);
        if is_given("data-dir") && !is_given("store") && !loaded.config.is_embedded() {
            let shown = loaded.shown();
            let store = shown.iter().find(|shown| shown.setting == "store");
            let origin = store
                .map(|store| store.origin.to_string())
                .unwrap_or_default();
            let message = format!("--data-dir is given, but {origin} names a store, which wins");
            let next = "leave out --data-dir, or unset the other store";
            return Err(Failure::usage(message, next));
        }
        Ok(loaded)
    }

    /// The settings that have a flag.
    fn settings() -> impl Iterator<Item = &'static Setting> {
        let keys: Vec<_> = match ALL {
            true => SETTINGS.iter().map(|setting| setting.key).collect(),
            false => STORE_KEYS.to_vec(),
        };
        let settings = keys.into_iter().filter_map(Setting::find);
        settings.filter(|setting| setting.flag().is_some())
    }
}

fn file_flag(name: &'static str, help: &str, variable: &str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .help(format!("{help} [env: {variable}]"))
        .help_heading("Settings")
}

fn flag(setting: &'static Setting) -> Arg {
    let default = match setting.default() {
        text if text.is_empty() => String::new(),
        text => format!(" [default: {text}]"),
    };
    let variable = setting.variable();
    let allowed = setting.allowed();
    let arg = Arg::new(setting.key)
        .long(setting.key)
        .value_name(setting.value_name())
        .help(format!("{}{default}", setting.summary()))
        .long_help(format!(
            "{}{default} [{allowed}] [env: {variable}]",
            setting.doc
        ))
        .help_heading("Settings");
    if setting.is_switch() {
        arg.num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
    } else if setting.is_list() {
        arg.action(ArgAction::Append)
    } else {
        arg
    }
}

impl<const ALL: bool> Args for Flags<ALL> {
    fn augment_args(command: Command) -> Command {
        command
            .args(Self::settings().map(flag))
            .arg(file_flag(
                "config",
                "Read settings from this TOML file [default: leafid.toml, if it exists]",
                "LEAFID_CONFIG",
            ))
            .arg(file_flag(
                "leaf-properties",
                "Start from Leaf's own leaf.properties",
                "LEAFID_LEAF_PROPERTIES",
            ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const ALL: bool> FromArgMatches for Flags<ALL> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = Self::settings().filter_map(|setting| {
            let texts = matches.get_many::<String>(setting.key)?;
            Some((setting.key, texts.cloned().collect()))
        });
        Ok(Self {
            given: given.collect(),
            config: matches.get_one("config").cloned(),
            leaf_properties: matches.get_one("leaf-properties").cloned(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
