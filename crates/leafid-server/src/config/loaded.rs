//! `Loaded`: the settings, read from all layers, and where each value comes from.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::error::ConfigError;
use super::layers::{Assigned, Layers};
use super::origin::Origin;
use super::parse;
use super::secrets;
use super::setting::Setting;
use super::table::SETTINGS;
use super::values::Config;

/// Settings, and where each comes from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Notes for the operator, such as keys of Leaf's file that have no effect here.
    pub notes: Vec<String>,
    assigned: BTreeMap<&'static str, Assigned>,
}

/// One setting as it is shown to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The setting.
    pub setting: &'static str,
    /// Its value without passwords; empty if it has none.
    pub value: String,
    /// Where the value comes from.
    pub origin: Origin,
}

impl Loaded {
    /// Parses and checks the values that the layers give.
    pub(super) fn of(mut layers: Layers) -> Result<Self, ConfigError> {
        let mut config = Config::default();
        config.workers.leaf_port = layers.leaf_port;
        for setting in SETTINGS {
            if let Some(assigned) = layers.assigned.get(setting.key)
                && let Err(problem) = setting.apply(&mut config, &assigned.texts)
            {
                layers.mistakes.push(assigned.mistake(&problem));
            }
        }
        layers.put_passwords(&mut config);
        layers.check_together(&config);
        let Layers {
            assigned,
            mistakes,
            mut notes,
            ..
        } = layers;
        if !mistakes.is_empty() {
            return Err(ConfigError { mistakes });
        }
        notes.extend(secrets::notes(assigned.values()));
        Ok(Self {
            config,
            notes,
            assigned,
        })
    }

    /// Every setting with its value and origin, without passwords, in the order of the table.
    #[must_use]
    pub fn shown(&self) -> Vec<Shown> {
        let shown = |setting| self.shown_one(setting);
        SETTINGS.iter().map(shown).collect()
    }

    fn shown_one(&self, setting: &'static Setting) -> Shown {
        let value = match self.assigned.get(setting.key) {
            Some(_) if setting.is_password() => "***".to_owned(),
            Some(assigned) if setting.is_file() => assigned.texts.concat(),
            _ => setting.shown(&self.config),
        };
        Shown {
            setting: setting.key,
            value,
            origin: self.origin_of(setting.key),
        }
    }

    /// Sets the address of a setting (`http`, `resp`, `grpc`) to that of a socket that was passed.
    /// Call it before the settings are used: who can reach the address decides what is allowed.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], if it is no setting, or has no such value.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid_server::Sources;
    ///
    /// let mut loaded = Sources::default().load()?;
    /// loaded.listen_on_passed("http", "0.0.0.0:8080".parse().unwrap())?;
    /// assert_eq!(loaded.config.http.to_string(), "0.0.0.0:8080");
    /// assert!(loaded.check_exposure().unwrap_err().to_string().contains("a socket of systemd"));
    /// # Ok::<(), leafid_server::ConfigError>(())
    /// ```
    pub fn listen_on_passed(&mut self, key: &str, address: SocketAddr) -> Result<(), ConfigError> {
        let mistake = |mistake| ConfigError {
            mistakes: vec![mistake],
        };
        let setting = Setting::find(key);
        let setting = setting.ok_or_else(|| mistake(format!("there is no setting {key}")))?;
        let assigned = Assigned {
            setting,
            texts: vec![address.to_string()],
            origin: Origin::Socket,
        };
        let applied = setting.apply(&mut self.config, &assigned.texts);
        applied.map_err(|problem| mistake(assigned.mistake(&problem)))?;
        self.assigned.insert(setting.key, assigned);
        Ok(())
    }

    /// Where the value of a setting comes from.
    pub(super) fn origin_of(&self, key: &str) -> Origin {
        let assigned = self.assigned.get(key);
        assigned.map_or(Origin::Default, |assigned| assigned.origin.clone())
    }
}

impl Shown {
    /// The URLs of a value that is a list of them.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        parse::urls(std::slice::from_ref(&self.value))
    }
}
