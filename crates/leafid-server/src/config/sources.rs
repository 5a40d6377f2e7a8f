//! `Sources`: flags over environment over `leaf.properties` over file over defaults. All mistakes
//! are reported at once.

use std::path::{Path, PathBuf};

use super::error::ConfigError;
use super::layers::Layers;
use super::loaded::Loaded;
use super::origin::Origin;
use super::setting::Setting;
use super::values::{Config, LogFormat};
use super::{environment, file, leaf_properties, otel_variables};

/// The file that is read when no other is named, if it exists.
const DEFAULT_FILE: &str = "leafid.toml";

/// Where settings come from, highest first: flags, environment, Leaf's `leaf.properties`, a file,
/// defaults.
///
/// # Example
///
/// ```
/// use leafid_server::Sources;
///
/// let sources = Sources {
///     flags: vec![("http", vec!["127.0.0.1:9000".into()])],
///     environment: vec![("LEAFID_STEP".into(), "500".into())],
///     ..Sources::default()
/// };
/// let loaded = sources.load()?;
/// assert_eq!((loaded.config.http.port(), loaded.config.step), (9000, 500));
/// # Ok::<(), leafid_server::ConfigError>(())
/// ```
#[derive(Clone, Default)]
pub struct Sources {
    /// Keys and values from the command line.
    pub flags: Vec<(&'static str, Vec<String>)>,
    /// Environment variables; those that do not start with `LEAFID_` are ignored,
    /// but for some of OpenTelemetry's (docs/config.md).
    pub environment: Vec<(String, String)>,
    /// The file; if `None`, the one that `LEAFID_CONFIG` names, else `leafid.toml` if it exists.
    pub config: Option<PathBuf>,
    /// Leaf's own file; if `None`, the one that `LEAFID_LEAF_PROPERTIES` names, else none.
    pub leaf_properties: Option<PathBuf>,
}

impl Sources {
    /// The environment of this process, without flags.
    #[must_use]
    pub fn from_environment() -> Self {
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        Self {
            environment: std::env::vars_os()
                .map(|(name, value)| (text(name), text(value)))
                .collect(),
            ..Self::default()
        }
    }

    /// Reads all layers.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] lists every mistake: unknown names, with the one that was probably meant, and
    /// values that are malformed or out of range.
    pub fn load(&self) -> Result<Loaded, ConfigError> {
        Loaded::of(self.layers())
    }

    /// The format in which to report the errors of [`load`](Self::load): `log-format`, if that is
    /// valid.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid_server::{LogFormat, Sources};
    ///
    /// let flags = vec![
    ///     ("http", vec!["nowhere".into()]),
    ///     ("log-format", vec!["json".into()]),
    /// ];
    /// let sources = Sources { flags, ..Sources::default() };
    /// assert!(sources.load().is_err());
    /// assert_eq!(sources.log_format(), LogFormat::Json);
    /// ```
    #[must_use]
    pub fn log_format(&self) -> LogFormat {
        let mut config = Config::default();
        if let Some(assigned) = self.layers().assigned.get("log-format") {
            // `load` reports it if it is invalid.
            let _unread = assigned.setting.apply(&mut config, &assigned.texts);
        }
        config.log_format
    }

    fn layers(&self) -> Layers {
        let mut layers = Layers::default();
        match self.path(&self.config, "LEAFID_CONFIG") {
            Some(path) => file::read(&path, true, &mut layers),
            None => file::read(Path::new(DEFAULT_FILE), false, &mut layers),
        }
        if let Some(path) = self.path(&self.leaf_properties, "LEAFID_LEAF_PROPERTIES") {
            leaf_properties::read(&path, &mut layers);
        }
        otel_variables::read(&self.environment, &mut layers);
        environment::read(&self.environment, &mut layers);
        self.read_flags(&mut layers);
        layers
    }

    /// A file: the one that is named, else that of a variable.
    fn path(&self, named: &Option<PathBuf>, variable: &str) -> Option<PathBuf> {
        let mut variables = self.environment.iter();
        let is_set = |(name, value): &&(String, String)| name == variable && !value.is_empty();
        let from_variable = || Some(PathBuf::from(&variables.find(is_set)?.1));
        named.clone().or_else(from_variable)
    }

    fn read_flags(&self, layers: &mut Layers) {
        for (key, texts) in &self.flags {
            if let Some(setting) = Setting::find(key) {
                let origin = Origin::Flag(format!("--{key}"));
                layers.assign(setting, texts.clone(), origin);
            } else {
                layers.mistakes.push(format!("unknown flag --{key}"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
