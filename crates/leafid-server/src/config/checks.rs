//! The steps after all layers are read: passwords are put into their URLs, and settings that do
//! not fit together are reported.

use std::path::Path;

use leafid::WorkerId;
use leafid_stores::read_text;

use super::layers::{Assigned, Layers};
use super::password::put_password;
use super::values::Config;
use super::workers::WorkerIdSource;

impl Layers {
    pub(super) fn put_passwords(&mut self, config: &mut Config) {
        let urls = [
            ("store", &mut config.store),
            ("registry", &mut config.workers.registry),
        ];
        for (key, urls) in urls {
            match self.password(key) {
                Ok(Some(password)) => {
                    let urls = urls.iter_mut();
                    urls.for_each(|url| put_password(url, &password));
                }
                Ok(None) => {}
                Err(mistake) => self.mistakes.push(mistake),
            }
        }
    }

    /// The password that goes into the URLs of `key`.
    fn password(&self, key: &str) -> Result<Option<String>, String> {
        let text = self.assigned.get(&*format!("{key}-password"));
        let file = self.assigned.get(&*format!("{key}-password-file"));
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
            (text, _) => Ok(text.map(|text| text.texts.concat())),
        }
    }

    /// Reports settings that do not fit together.
    pub(super) fn check_together(&mut self, config: &Config) {
        let tls = &config.tls;
        let needs = |partner: &str, is_missing: bool| {
            is_missing.then(|| format!("it has no effect without {partner}"))
        };
        let store = config.store_url().err();
        for (key, problem) in [
            ("store", store.map(|error| error.to_string())),
            ("registry", registry_problem(config)),
            ("worker-id", worker_problem(config)),
            ("format-key-lines", keys_problem(config)),
            ("shard", shard_problem(config)),
            ("tls-cert", needs("tls-key", tls.key.is_none())),
            ("tls-key", needs("tls-cert", tls.cert.is_none())),
            ("tls-client-ca", needs("tls-cert", tls.cert.is_none())),
            (
                "tls-plain",
                needs("tls-cert", tls.plain && tls.cert.is_none()),
            ),
        ] {
            if let (Some(problem), Some(assigned)) = (problem, self.assigned.get(key)) {
                self.mistakes.push(assigned.mistake(&problem));
            }
        }
    }
}

fn shard_problem(config: &Config) -> Option<String> {
    let workers = &config.workers;
    let checked = workers.layout.check_shard(workers.shard);
    checked.err().map(|error| error.to_string())
}

fn keys_problem(config: &Config) -> Option<String> {
    let file = config
        .format_keys
        .as_ref()
        .filter(|_| config.format_key_lines.is_some());
    file.map(|_| "format-keys is set as well: remove one".to_owned())
}

fn registry_problem(config: &Config) -> Option<String> {
    if config.workers.registry.is_empty() {
        // It is where the store is, whose URL is checked already.
        return None;
    }
    match (config.registry_url(), config.workers.id) {
        (Err(error), _) => Some(error.to_string()),
        (Ok(None), WorkerIdSource::Registry) if config.snowflake => {
            Some("without a registry, worker-id must be a number or ordinal".to_owned())
        }
        (Ok(_), _) => None,
    }
}

fn worker_problem(config: &Config) -> Option<String> {
    let WorkerIdSource::Fixed(number) = config.workers.id else {
        return None;
    };
    let checked = config.workers.layout.check_worker(WorkerId::new(number));
    checked.err().map(|error| error.to_string())
}

fn first_line(path: &Path) -> Result<String, String> {
    let text = read_text(path).map_err(|error| format!("cannot read it: {error}"))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err("its first line is empty".to_owned()),
    }
}
