//! The layer of the TOML file: one flat table of keys.

use std::io::ErrorKind;
use std::path::Path;

use leafid_stores::read_text;
use toml::de::{DeTable, DeValue};

use super::layers::Layers;
use super::origin::Origin;
use super::setting::Setting;
use super::suggest::suggestion;
use super::table::SETTINGS;

pub(super) fn read(path: &Path, must_exist: bool, layers: &mut Layers) {
    match read_text(path) {
        Ok(text) => parse(&text, path, layers),
        Err(error) if error.kind() == ErrorKind::NotFound && !must_exist => {}
        Err(error) => {
            let mistake = format!("cannot read the settings in {}: {error}", path.display());
            layers.mistakes.push(mistake);
        }
    }
}

pub(super) fn parse(text: &str, path: &Path, layers: &mut Layers) {
    let line_of = |offset: usize| text[..offset].matches('\n').count() + 1;
    let table = match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(error) => {
            let line = error.span().map_or(1, |span| line_of(span.start));
            let message = error.message().replace('\n', ", ");
            layers
                .mistakes
                .push(format!("{}:{line}: {message}", path.display()));
            return;
        }
    };
    for (key, value) in table {
        let origin = Origin::File {
            path: path.to_owned(),
            line: Some(line_of(key.span().start)),
        };
        let key = key.into_inner();
        match (Setting::find(&key), texts(value.get_ref())) {
            (None, _) => layers.mistakes.push(unknown(&key, &origin)),
            (Some(setting), Some(texts)) => layers.assign(setting, texts, origin),
            (Some(setting), None) => layers.mistakes.push(format!(
                "{key} (from {origin}) is a table; allowed: {}",
                setting.allowed()
            )),
        }
    }
}

/// A value as text; a list gives several. `None` for a table, which no setting is.
fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    let one = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(on) => on.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(values) => {
            let lists: Option<Vec<_>> = values.iter().map(|value| texts(value.get_ref())).collect();
            return lists.map(|lists| lists.concat());
        }
        DeValue::Table(_) => return None,
    };
    Some(vec![one])
}

fn unknown(key: &str, origin: &Origin) -> String {
    let known = SETTINGS.iter().map(|setting| setting.key);
    let next = suggestion(key, known, || "remove it".to_owned());
    format!("unknown key {key} in {origin}: {next}")
}
