//! `Setting`: one row of the table of settings, and how its value is parsed and shown.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::parse::{self, duration_text};
use super::password::without_password;
use super::values::Config;

/// One setting: its names, its limits, and what it trades off.
///
/// # Example
///
/// ```
/// let setting = leafid_server::Setting::find("wait-max").unwrap();
/// assert_eq!(setting.flag().as_deref(), Some("--wait-max"));
/// assert_eq!(setting.variable(), "LEAFID_WAIT_MAX");
/// assert_eq!((setting.default(), setting.allowed()), ("1s".into(), "0s to 1m".into()));
/// ```
#[derive(Debug)]
pub struct Setting {
    /// Its key in the file, in lower case with hyphens; flag and variable are derived from it.
    pub key: &'static str,
    /// What it does and what it trades off. The first sentence stands alone.
    pub doc: &'static str,
    pub(super) field: Field,
}

/// Where a setting is in [`Config`], and which values it accepts.
#[derive(Debug)]
pub(super) enum Field {
    Address(fn(&mut Config) -> &mut SocketAddr),
    /// An address, or `off` for none.
    AddressOrOff(fn(&mut Config) -> &mut Option<SocketAddr>),
    Path(fn(&mut Config) -> &mut PathBuf),
    /// A file; none by default.
    File(fn(&mut Config) -> &mut Option<PathBuf>),
    Urls(fn(&mut Config) -> &mut Vec<String>),
    Switch(fn(&mut Config) -> &mut bool),
    /// `true`, `false`, or `auto` for none.
    AutoSwitch(fn(&mut Config) -> &mut Option<bool>),
    /// The place is `None` if another setting makes this one meaningless.
    Count(RangeInclusive<u64>, NumberAt),
    /// A count of bytes.
    Bytes(RangeInclusive<u64>, NumberAt),
    /// The place is `None` as for a count.
    Time(
        RangeInclusive<Duration>,
        fn(&mut Config) -> Option<&mut Duration>,
    ),
    Choice {
        value: &'static str,
        names: &'static [&'static str],
        get: fn(&Config) -> String,
        set: fn(&mut Config, &str),
    },
    /// A text with a rule of its own; the error says what is wrong.
    Text {
        value: &'static str,
        allowed: &'static str,
        get: fn(&Config) -> String,
        set: fn(&mut Config, &str) -> Result<(), String>,
    },
    /// A password. It has no flag, because other users of a machine can see command lines. It goes
    /// into the URLs of the setting that it is named after, once all layers are read.
    Password,
    /// A file with that password.
    PasswordFile,
    /// A secret that is kept in the settings. It has no flag, as a password. The error does not
    /// show it.
    Secret {
        allowed: &'static str,
        set: fn(&mut Config, &str) -> Result<(), String>,
    },
}

type NumberAt = fn(&mut Config) -> Option<&mut dyn Number>;

/// A whole number of any width.
pub(super) trait Number {
    fn get(&self) -> u64;
    /// The number is within the limits of its setting, and so of its type.
    fn set(&mut self, number: u64);
}

impl<T: Copy + TryFrom<u64> + TryInto<u64>> Number for T {
    fn get(&self) -> u64 {
        (*self).try_into().unwrap_or(u64::MAX)
    }

    fn set(&mut self, number: u64) {
        *self = number.try_into().unwrap_or(*self);
    }
}

impl Setting {
    /// Its flag; `None` for a password and other secrets.
    #[must_use]
    pub fn flag(&self) -> Option<String> {
        (!self.is_password()).then(|| format!("--{}", self.key))
    }

    /// Its environment variable.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("LEAFID_{}", self.key.replace('-', "_").to_uppercase())
    }

    /// The first sentence of its doc, without the full stop.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        let end = self.doc.find(". ").unwrap_or(self.doc.len());
        self.doc[..end].trim_end_matches('.')
    }

    /// The placeholder of its value in the help, such as `ADDR`.
    #[must_use]
    pub const fn value_name(&self) -> &'static str {
        match self.field {
            Field::Address(_) | Field::AddressOrOff(_) => "ADDR",
            Field::Path(_) => "DIR",
            Field::File(_) | Field::PasswordFile => "FILE",
            Field::Urls(_) => "URL",
            Field::Switch(_) | Field::AutoSwitch(_) => "BOOL",
            Field::Count(..) => "COUNT",
            Field::Bytes(..) => "BYTES",
            Field::Time(..) => "TIME",
            Field::Choice { value, .. } | Field::Text { value, .. } => value,
            Field::Password | Field::Secret { .. } => "TEXT",
        }
    }

    /// Whether its flag may be given without a value, which means `true`.
    #[must_use]
    pub const fn is_switch(&self) -> bool {
        matches!(self.field, Field::Switch(_) | Field::AutoSwitch(_))
    }

    /// Whether it may be given several times.
    #[must_use]
    pub const fn is_list(&self) -> bool {
        matches!(self.field, Field::Urls(_))
    }

    pub(super) const fn is_password(&self) -> bool {
        matches!(self.field, Field::Password | Field::Secret { .. })
    }

    pub(super) const fn is_file(&self) -> bool {
        matches!(self.field, Field::PasswordFile)
    }

    /// Its default as text; empty if it has none.
    #[must_use]
    pub fn default(&self) -> String {
        self.shown(&Config::default())
    }

    /// Its value in `config` as text, without passwords. It is empty for secrets and their files.
    #[must_use]
    pub fn shown(&self, config: &Config) -> String {
        let config = &mut config.clone();
        let or = |text: Option<String>, none: &str| text.unwrap_or_else(|| none.to_owned());
        match &self.field {
            Field::Address(at) => at(config).to_string(),
            Field::AddressOrOff(at) => or(at(config).map(|at| at.to_string()), "off"),
            Field::Path(at) => at(config).display().to_string(),
            Field::File(at) => or(at(config).as_ref().map(|at| at.display().to_string()), ""),
            Field::Urls(at) => {
                let urls = at(config).iter().map(|url| without_password(url));
                urls.collect::<Vec<_>>().join(" ")
            }
            Field::Switch(at) => at(config).to_string(),
            Field::AutoSwitch(at) => or(at(config).map(|on| on.to_string()), "auto"),
            Field::Count(_, at) | Field::Bytes(_, at) => {
                or(at(config).map(|number| number.get().to_string()), "")
            }
            Field::Time(_, at) => or(at(config).map(|time| duration_text(*time)), ""),
            Field::Choice { get, .. } | Field::Text { get, .. } => get(config),
            Field::Password | Field::PasswordFile | Field::Secret { .. } => String::new(),
        }
    }

    /// The values that it accepts.
    #[must_use]
    pub fn allowed(&self) -> String {
        match &self.field {
            Field::Address(_) => "an address and a port, such as 0.0.0.0:8080".to_owned(),
            Field::AddressOrOff(_) => "an address and a port, or off".to_owned(),
            Field::Path(_) => "a directory".to_owned(),
            Field::Urls(_) => "URLs, several separated by spaces".to_owned(),
            Field::Switch(_) => "true or false".to_owned(),
            Field::AutoSwitch(_) => "auto, true or false".to_owned(),
            Field::Count(range, _) | Field::Bytes(range, _) => {
                format!("{} to {}", range.start(), range.end())
            }
            Field::Time(range, _) => {
                let text = |time: &Duration| duration_text(*time);
                format!("{} to {}", text(range.start()), text(range.end()))
            }
            Field::Choice { names, .. } => names.join(", "),
            Field::Text { allowed, .. } | Field::Secret { allowed, .. } => (*allowed).to_owned(),
            Field::Password => "any text".to_owned(),
            Field::File(_) | Field::PasswordFile => "a file".to_owned(),
        }
    }

    /// Parses `texts` into its place in `config`; the error says what is wrong.
    pub(super) fn apply(&self, config: &mut Config, texts: &[String]) -> Result<(), String> {
        if let Field::Urls(at) = &self.field {
            *at(config) = parse::urls(texts);
            return Ok(());
        }
        let [text] = texts else {
            return Err("it takes exactly one value".to_owned());
        };
        match &self.field {
            Field::Address(at) => *at(config) = parse::address(text)?,
            Field::AddressOrOff(at) => {
                *at(config) = (text != "off").then(|| parse::address(text)).transpose()?;
            }
            Field::Path(at) => *at(config) = parse::path(text)?,
            Field::File(at) => *at(config) = Some(parse::path(text)?),
            Field::Switch(at) => *at(config) = parse::switch(text)?,
            Field::AutoSwitch(at) => {
                *at(config) = (text != "auto").then(|| parse::switch(text)).transpose()?;
            }
            Field::Count(range, at) | Field::Bytes(range, at) => {
                let number = parse::count(text, range)?;
                at(config).into_iter().for_each(|place| place.set(number));
            }
            Field::Time(range, at) => {
                let time = parse::duration(text, range)?;
                at(config).into_iter().for_each(|place| *place = time);
            }
            Field::Choice { names, set, .. } => set(config, parse::choice(text, names)?),
            Field::Text { set, .. } | Field::Secret { set, .. } => set(config, text)?,
            Field::PasswordFile => drop(parse::path(text)?),
            Field::Urls(_) | Field::Password => {}
        }
        Ok(())
    }
}
