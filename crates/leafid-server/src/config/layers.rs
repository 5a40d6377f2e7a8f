//! `Sources`: flags over environment over `leaf.properties` over file over defaults, with the
//! origin of every value. All mistakes are reported at once.

use std::fmt;
use std::path::{Path, PathBuf};

use leafid_stores::read_text;

use super::password::put_password;
use super::{
    Config, LogFormat, Origin, SETTINGS, Setting, WorkerIdSource, environment, file,
    leaf_properties, without_password,
};

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
    /// Environment variables; those that do not start with `LEAFID_` are passed over.
    pub environment: Vec<(String, String)>,
    /// The file; `None`: what `LEAFID_CONFIG` says, else `leafid.toml` if it exists.
    pub config: Option<PathBuf>,
    /// Leaf's own file; `None`: what `LEAFID_LEAF_PROPERTIES` says, else none.
    pub leaf_properties: Option<PathBuf>,
}

/// Settings, and where each comes from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// What the operator should know: what of Leaf's file has no effect here.
    pub notes: Vec<String>,
    assigned: Vec<Assigned>,
    /// Leaf's own file, if one was read.
    pub(super) leaf_file: Option<PathBuf>,
}

/// One setting as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The setting.
    pub setting: &'static str,
    /// Its value, without passwords; empty for none.
    pub value: String,
    /// Where the value comes from.
    pub origin: Origin,
}

/// Settings that cannot be used, each with its origin and what is allowed.
///
/// # Example
///
/// ```
/// use leafid_server::Sources;
///
/// let environment = vec![("LEAFID_STOR".into(), "sqlite:ids.db".into())];
/// let error = Sources { environment, ..Sources::default() }.load().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "unknown environment variable LEAFID_STOR: did you mean LEAFID_STORE?"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .mistakes.join("; "))]
pub struct ConfigError {
    /// What is wrong, one after the other; without passwords.
    pub mistakes: Vec<String>,
}

/// A value that some layer gives to a setting.
#[derive(Clone)]
pub(super) struct Assigned {
    pub(super) setting: &'static Setting,
    pub(super) texts: Vec<String>,
    pub(super) origin: Origin,
}

impl fmt::Debug for Assigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.setting.key, self.origin)
    }
}

/// What the layers say, from the lowest to the highest.
#[derive(Default)]
pub(super) struct Layers {
    pub(super) assigned: Vec<Assigned>,
    pub(super) mistakes: Vec<String>,
    pub(super) notes: Vec<String>,
    /// Leaf's `leaf.snowflake.port`, which is no setting here.
    pub(super) leaf_port: Option<u16>,
    /// Leaf's own file, if one was read.
    leaf_file: Option<PathBuf>,
}

impl Layers {
    pub(super) fn assign(&mut self, setting: &'static Setting, texts: Vec<String>, origin: Origin) {
        self.assigned
            .retain(|assigned| assigned.setting.key != setting.key);
        self.assigned.push(Assigned {
            setting,
            texts,
            origin,
        });
    }
}

impl Sources {
    /// The environment of this process, and nothing else.
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
    /// [`ConfigError`] lists every mistake: unknown names, with the likely right one, and values
    /// that cannot be read or lie outside the limits.
    pub fn load(&self) -> Result<Loaded, ConfigError> {
        self.layers().into_loaded()
    }

    /// In which form to tell what [`load`](Self::load) found wrong: what `log-format` says, where
    /// that can be read.
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
        if let Some(assigned) = find(&self.layers().assigned, "log-format") {
            // What cannot be read is among the mistakes.
            let _unread = assigned.setting.apply(&mut config, &assigned.texts);
        }
        config.log_format
    }

    fn layers(&self) -> Layers {
        let mut layers = Layers::default();
        if let Some((path, must_exist)) = self.file() {
            file::read(&path, must_exist, &mut layers);
        }
        if let Some(path) = self.leaf_file() {
            leaf_properties::read(&path, &mut layers);
            layers.leaf_file = Some(path);
        }
        environment::read(&self.environment, &mut layers);
        self.read_flags(&mut layers);
        layers
    }

    fn variable(&self, name: &str) -> Option<PathBuf> {
        let mut variables = self.environment.iter();
        let (_, value) = variables.find(|(known, value)| known == name && !value.is_empty())?;
        Some(PathBuf::from(value))
    }

    /// The file to read, and whether its absence is a mistake.
    fn file(&self) -> Option<(PathBuf, bool)> {
        let named = self
            .config
            .clone()
            .or_else(|| self.variable("LEAFID_CONFIG"));
        match named {
            Some(path) => Some((path, true)),
            None => Some((PathBuf::from(DEFAULT_FILE), false)),
        }
    }

    fn leaf_file(&self) -> Option<PathBuf> {
        let named = self.leaf_properties.clone();
        named.or_else(|| self.variable("LEAFID_LEAF_PROPERTIES"))
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

impl Layers {
    fn into_loaded(mut self) -> Result<Loaded, ConfigError> {
        let mut config = Config::default();
        config.workers.leaf_port = self.leaf_port;
        for setting in SETTINGS {
            if let Some(assigned) = find(&self.assigned, setting.key)
                && let Err(problem) = setting.apply(&mut config, &assigned.texts)
            {
                self.mistakes.push(assigned.mistake(&problem));
            }
        }
        self.put_passwords(&mut config);
        if let (Err(error), Some(store)) = (config.store_url(), find(&self.assigned, "store")) {
            self.mistakes.push(store.mistake(&error.to_string()));
        }
        self.check_workers(&config);
        self.check_tls(&config);
        self.note_open_secrets();
        let Self {
            assigned,
            mistakes,
            notes,
            leaf_file,
            ..
        } = self;
        if !mistakes.is_empty() {
            return Err(ConfigError { mistakes });
        }
        Ok(Loaded {
            config,
            notes,
            assigned,
            leaf_file,
        })
    }
}

impl Layers {
    fn put_passwords(&mut self, config: &mut Config) {
        let urls = [
            ("store", &mut config.store),
            ("registry", &mut config.workers.registry),
        ];
        for (key, urls) in urls {
            match password(&self.assigned, key) {
                Ok(Some(password)) => {
                    let urls = urls.iter_mut();
                    urls.for_each(|url| put_password(url, &password));
                }
                Ok(None) => {}
                Err(mistake) => self.mistakes.push(mistake),
            }
        }
    }

    /// What is missing among the settings about TLS.
    fn check_tls(&mut self, config: &Config) {
        let tls = &config.tls;
        for (key, partner, is_missing) in [
            ("tls-cert", "tls-key", tls.key.is_none()),
            ("tls-key", "tls-cert", tls.cert.is_none()),
            ("tls-client-ca", "tls-cert", tls.cert.is_none()),
            ("tls-plain", "tls-cert", tls.plain && tls.cert.is_none()),
        ] {
            if is_missing && let Some(assigned) = find(&self.assigned, key) {
                let problem = format!("it does nothing without {partner}");
                self.mistakes.push(assigned.mistake(&problem));
            }
        }
    }

    /// What does not fit together among the settings about worker ids.
    fn check_workers(&mut self, config: &Config) {
        let registry =
            find(&self.assigned, "registry").filter(|set| !set.texts.concat().is_empty());
        if let (Err(error), Some(registry)) = (config.registry_url(), registry) {
            self.mistakes.push(registry.mistake(&error.to_string()));
        }
        let is_off = matches!(config.registry_url(), Ok(None));
        if let (true, WorkerIdSource::Registry, Some(registry)) =
            (config.snowflake && is_off, config.workers.id, registry)
        {
            let problem = "without a registry, worker-id has to be a number or ordinal";
            self.mistakes.push(registry.mistake(problem));
        }
        if let (WorkerIdSource::Fixed(number), Some(id)) =
            (config.workers.id, find(&self.assigned, "worker-id"))
        {
            let worker = leafid::WorkerId::new(number);
            if let Err(error) = config.workers.layout.check_worker(worker) {
                self.mistakes.push(id.mistake(&error.to_string()));
            }
        }
    }
}

fn find<'a>(assigned: &'a [Assigned], key: &str) -> Option<&'a Assigned> {
    assigned.iter().find(|assigned| assigned.setting.key == key)
}

/// The password that goes into the URLs of `key`.
fn password(assigned: &[Assigned], key: &str) -> Result<Option<String>, String> {
    let text = find(assigned, &format!("{key}-password"));
    let file = find(assigned, &format!("{key}-password-file"));
    let rank = |assigned: Option<&Assigned>| assigned.map_or(0, |found| found.origin.rank());
    match (text, file) {
        (Some(text), Some(file)) if rank(Some(text)) == rank(Some(file)) => Err(format!(
            "both {key}-password (from {}) and {key}-password-file (from {}) are set: \
             remove one",
            text.origin, file.origin
        )),
        (_, Some(file)) if rank(Some(file)) > rank(text) => {
            first_line(Path::new(&file.texts.concat()))
                .map(Some)
                .map_err(|problem| file.mistake(&problem))
        }
        (Some(text), _) => Ok(Some(text.texts.concat())),
        (None, _) => Ok(None),
    }
}

fn first_line(path: &Path) -> Result<String, String> {
    let text = read_text(path).map_err(|error| format!("cannot read it: {error}"))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err("its first line is empty".to_owned()),
    }
}

impl Assigned {
    fn mistake(&self, problem: &str) -> String {
        let Self {
            setting,
            texts,
            origin,
        } = self;
        let shown: Vec<_> = texts.iter().map(|text| without_password(text)).collect();
        format!(
            "{} is \"{}\" (from {origin}): {problem}; allowed: {}",
            setting.key,
            shown.join(" "),
            setting.allowed()
        )
    }
}

impl Loaded {
    /// Every setting with its value and origin, without passwords, in the order of the table.
    #[must_use]
    pub fn shown(&self) -> Vec<Shown> {
        SETTINGS
            .iter()
            .map(|setting| self.shown_one(setting))
            .collect()
    }

    fn shown_one(&self, setting: &'static Setting) -> Shown {
        let assigned = find(&self.assigned, setting.key);
        let value = match assigned {
            Some(_) if setting.is_password() => "***".to_owned(),
            Some(assigned) if setting.is_file() => assigned.texts.concat(),
            _ => setting.shown(&self.config),
        };
        Shown {
            setting: setting.key,
            value,
            origin: assigned.map_or(Origin::Default, |assigned| assigned.origin.clone()),
        }
    }
}

impl Shown {
    /// The URLs, where the value is a list of them.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        super::value::urls(std::slice::from_ref(&self.value))
    }
}

#[cfg(test)]
mod tests;
