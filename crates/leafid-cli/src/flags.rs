//! `Flags`: the settings of the server as flags, made from the server's table of settings.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use leafid_server::{Loaded, SETTINGS, Setting, Sources};

use crate::failure::{Failure, Outcome};

/// All settings.
pub(crate) struct ServerFlags(pub(crate) Flags);

/// The settings that choose the store, and how to connect to it.
pub(crate) struct StoreFlags(pub(crate) Flags);

/// Settings given on the command line.
#[derive(Default)]
pub(crate) struct Flags {
    given: Vec<(&'static str, Vec<String>)>,
    config: Option<PathBuf>,
    leaf_properties: Option<PathBuf>,
}

const STORE_KEYS: [&str; 7] = [
    "store",
    "data-dir",
    "store-password-file",
    "allow-weak-store",
    "store-connect-timeout",
    "store-statement-timeout",
    "create-tags",
];

impl Flags {
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

    fn of(matches: &ArgMatches, settings: impl Iterator<Item = &'static Setting>) -> Self {
        let given = settings.filter_map(|setting| {
            // Reading a flag that the command does not have would panic.
            let texts = matches.try_get_many::<String>(setting.key).ok()??;
            Some((setting.key, texts.cloned().collect()))
        });
        Self {
            given: given.collect(),
            config: matches.get_one("config").cloned(),
            leaf_properties: matches.get_one("leaf-properties").cloned(),
        }
    }
}

fn store_settings() -> impl Iterator<Item = &'static Setting> {
    STORE_KEYS.iter().filter_map(|key| Setting::find(key))
}

/// Adds the flags of these settings, and those that name the files.
fn with_flags(command: Command, settings: impl Iterator<Item = &'static Setting>) -> Command {
    let flags = settings
        .filter(|setting| setting.flag().is_some())
        .map(flag);
    command
        .args(flags)
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

impl Args for ServerFlags {
    fn augment_args(command: Command) -> Command {
        with_flags(command, SETTINGS.iter())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ServerFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(Flags::of(matches, SETTINGS.iter())))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for StoreFlags {
    fn augment_args(command: Command) -> Command {
        with_flags(command, store_settings())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for StoreFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(Flags::of(matches, store_settings())))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
