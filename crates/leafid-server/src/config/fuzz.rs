//! Files of settings over their corpus in `fuzz/corpus` and mutations of it: nothing panics, no
//! password is shown, and what is shown of a setting is a value of the same setting.

use std::path::Path;

use leafid_fuzz::fuzz;

use super::layers::Layers;
use super::setting::Field;
use super::{Loaded, Setting, file, jdbc, properties};

fn text(data: &[u8]) -> &str {
    str::from_utf8(data).unwrap_or_default()
}

/// Whether the value that is shown of a setting is one that it takes.
fn is_whole(setting: &Setting) -> bool {
    !matches!(
        setting.field,
        Field::Urls(_) | Field::Password | Field::PasswordFile | Field::Secret { .. }
    )
}

#[test]
fn files_of_settings() {
    fuzz("configs", |data| {
        let mut layers = Layers::default();
        file::parse(text(data), Path::new("leafid.toml"), &mut layers);
        // Their files would be read.
        layers.assigned.remove("store-password-file");
        let loaded = match Loaded::of(layers) {
            Ok(loaded) => loaded,
            Err(error) => {
                assert!(!error.to_string().contains(":secret@"), "{error}");
                return false;
            }
        };
        for shown in loaded.shown() {
            let setting = Setting::find(shown.setting).unwrap();
            assert!(!shown.value.contains(":secret@"), "{}", shown.value);
            if shown.value.is_empty() || !is_whole(setting) {
                continue;
            }
            let mut config = loaded.config.clone();
            let applied = setting.apply(&mut config, std::slice::from_ref(&shown.value));
            assert_eq!(applied, Ok(()), "{} = {}", setting.key, shown.value);
            assert_eq!(setting.shown(&config), shown.value, "{}", setting.key);
        }
        true
    });
}

/// Leaf's own file, and the JDBC URL in it.
#[test]
fn files_of_leaf() {
    fuzz("properties", |data| {
        let url = jdbc::store_urls(text(data), jdbc::Credentials::default());
        let is_url = url.is_ok_and(|found| {
            assert!(!found.urls.is_empty());
            true
        });
        let Ok(found) = properties::parse(data) else {
            return is_url;
        };
        let lines = data.iter().filter(|byte| matches!(byte, b'\n' | b'\r'));
        let lines_max = lines.count() + 1;
        assert!(
            found
                .iter()
                .all(|property| (1..=lines_max).contains(&property.line))
        );
        is_url || !found.is_empty()
    });
}
