//! `Layers`: the texts that files, variables and flags give to settings, before they are parsed.

use std::collections::BTreeMap;
use std::fmt;

use super::origin::Origin;
use super::password::without_password;
use super::setting::Setting;

/// The text that a layer gives to a setting.
#[derive(Clone)]
pub(super) struct Assigned {
    pub(super) setting: &'static Setting,
    pub(super) texts: Vec<String>,
    pub(super) origin: Origin,
}

impl Assigned {
    /// A message with its value, its origin, the problem, and what is allowed.
    pub(super) fn mistake(&self, problem: &str) -> String {
        let Self {
            setting,
            texts,
            origin,
        } = self;
        let shown = texts.iter().map(|text| match setting.is_password() {
            true => "***".into(),
            false => without_password(text),
        });
        let shown: Vec<_> = shown.collect();
        format!(
            "{} is \"{}\" (from {origin}): {problem}; allowed: {}",
            setting.key,
            shown.join(" "),
            setting.allowed()
        )
    }
}

/// Shows no value: it may be a password.
impl fmt::Debug for Assigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.setting.key, self.origin)
    }
}

/// All layers, each read over the lower ones.
#[derive(Default)]
pub(super) struct Layers {
    /// By the key of the setting.
    pub(super) assigned: BTreeMap<&'static str, Assigned>,
    pub(super) mistakes: Vec<String>,
    pub(super) notes: Vec<String>,
    /// Leaf's `leaf.snowflake.port`, which is not a setting here.
    pub(super) leaf_port: Option<u16>,
}

impl Layers {
    /// Sets a value over that of the layers below.
    pub(super) fn assign(&mut self, setting: &'static Setting, texts: Vec<String>, origin: Origin) {
        let assigned = Assigned {
            setting,
            texts,
            origin,
        };
        self.assigned.insert(setting.key, assigned);
    }
}
