//! The layer of environment variables, `LEAFID_*`.

use super::layers::Layers;
use super::origin::Origin;
use super::setting::Setting;
use super::suggest::nearest;
use super::table::SETTINGS;

const PREFIX: &str = "LEAFID_";
/// Variables that are not settings: where to look for settings, and which server the other
/// commands talk to, with which token and certificates.
const OTHERS: [&str; 7] = [
    "LEAFID_CA_FILE",
    "LEAFID_CERT_FILE",
    "LEAFID_CONFIG",
    "LEAFID_KEY_FILE",
    "LEAFID_LEAF_PROPERTIES",
    "LEAFID_SERVER",
    "LEAFID_TOKEN",
];

/// An empty variable counts as unset, which is what `LEAFID_STORE=${STORE}` in a compose file
/// means.
pub(super) fn read(variables: &[(String, String)], layers: &mut Layers) {
    let ours = variables
        .iter()
        .filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty());
    for (name, value) in ours {
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.variable() == *name) {
            let origin = Origin::Environment(name.clone());
            layers.assign(setting, vec![value.clone()], origin);
        } else if !OTHERS.contains(&name.as_str()) && !is_set_by_kubernetes(name) {
            layers.mistakes.push(unknown(name));
        }
    }
}

/// Kubernetes sets these in every pod beside a service named `leafid`.
fn is_set_by_kubernetes(name: &str) -> bool {
    name == "LEAFID_PORT"
        || name.starts_with("LEAFID_PORT_")
        || name.starts_with("LEAFID_SERVICE_HOST")
        || name.starts_with("LEAFID_SERVICE_PORT")
}

fn unknown(name: &str) -> String {
    let known: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
    let known = known.iter().map(String::as_str).chain(OTHERS);
    let own_part = |name| str::strip_prefix(name, PREFIX).unwrap_or(name);
    match nearest(own_part(name), known.map(own_part)) {
        Some(meant) => {
            format!("unknown environment variable {name}: did you mean {PREFIX}{meant}?")
        }
        None => format!("unknown environment variable {name}: remove it"),
    }
}
