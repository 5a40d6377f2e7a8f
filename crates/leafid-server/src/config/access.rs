//! `AccessFile`: tokens and quotas, read from a TOML file. All mistakes are reported at once, each
//! with its line.
//!
//! Left to others: the table of one token, which `access/token.rs` reads; what tokens and quotas
//! do. Invariant: no message shows a secret, nor what stands where one should.

mod token;

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use leafid::Tag;
use leafid_stores::read_file;
use toml::de::DeTable;

use super::ConfigError;
use crate::limits::Limits;
use crate::service::{QuotaScope, TokenSpec};
use crate::suggest::nearest;

const FILE_KEYS: [&str; 2] = ["token", "quota"];
const QUOTA_KEYS: [&str; 3] = ["tag", "server", "ids_per_second"];

/// What an access file says.
///
/// # Example
///
/// ```
/// use leafid_server::{AccessFile, Limits};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("access.toml");
/// std::fs::write(&path, "[[quota]]\ntag = \"order\"\nids_per_secnd = 1000\n")?;
/// let error = AccessFile::read(&path, &Limits::default()).unwrap_err();
/// assert!(error.to_string().contains("access.toml:3: unknown key ids_per_secnd"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessFile {
    /// Who may take ids; empty: everybody.
    pub tokens: Vec<TokenSpec>,
    /// Quotas in ids a second, besides those of the tokens.
    pub quotas: Vec<(QuotaScope, u64)>,
    /// What the operator should know, such as that others can read the file.
    pub notes: Vec<String>,
}

impl AccessFile {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] lists every mistake, with file and line; without secrets.
    pub fn read(path: &Path, limits: &Limits) -> Result<Self, ConfigError> {
        let (text, mode) = contents(path, limits).map_err(|problem| ConfigError {
            mistakes: vec![format!(
                "cannot read the access file {}: {problem}",
                path.display()
            )],
        })?;
        let mut file = Self::parse(&text, path, limits)?;
        if mode & 0o077 != 0 {
            let path = path.display();
            file.notes.push(format!(
                "the access file {path} can be read or changed by other users (mode {:03o}): \
                 chmod 600 {path}",
                mode & 0o777
            ));
        }
        Ok(file)
    }

    fn parse(text: &str, path: &Path, limits: &Limits) -> Result<Self, ConfigError> {
        let mut reading = Reading {
            text,
            path,
            limits,
            tokens: Vec::new(),
            quotas: Vec::new(),
            mistakes: Vec::new(),
        };
        match DeTable::parse(text) {
            Ok(table) => reading.file(table.get_ref()),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                let message = error.message().replace('\n', ", ");
                reading.mistake(start, message);
            }
        }
        reading.done()
    }
}

/// The file's text and its mode.
fn contents(path: &Path, limits: &Limits) -> Result<(String, u32), String> {
    let read = read_file(path, limits.access_file_len_max);
    let (bytes, metadata) = read.map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_owned())?;
    Ok((text, metadata.mode()))
}

/// What was read so far.
struct Reading<'a> {
    text: &'a str,
    path: &'a Path,
    limits: &'a Limits,
    /// Each with its line.
    tokens: Vec<(TokenSpec, usize)>,
    /// Each with its line.
    quotas: Vec<(QuotaScope, u64, usize)>,
    mistakes: Vec<String>,
}

impl Reading<'_> {
    fn line(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    fn mistake(&mut self, offset: usize, message: impl std::fmt::Display) {
        let line = self.line(offset);
        let mistake = format!("{}:{line}: {message}", self.path.display());
        self.mistakes.push(mistake);
    }

    fn file(&mut self, file: &DeTable<'_>) {
        self.check_keys(file, &FILE_KEYS);
        for (kind, read) in [
            ("token", Self::token as fn(&mut Self, &DeTable<'_>, usize)),
            ("quota", Self::quota),
        ] {
            let Some(value) = file.get(kind) else {
                continue;
            };
            let tables = value.get_ref().as_array();
            let Some(tables) = tables else {
                let message = format!("{kind} is no list of tables: write [[{kind}]]");
                self.mistake(value.span().start, message);
                continue;
            };
            for table in tables.iter() {
                let start = table.span().start;
                match table.get_ref().as_table() {
                    Some(found) => read(self, found, start),
                    None => self.mistake(start, format!("this is no table: write [[{kind}]]")),
                }
            }
        }
    }

    fn check_keys(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for key in table.keys() {
            let name = key.get_ref();
            if known.contains(&&**name) {
                continue;
            }
            let next = match nearest(name, known.iter().copied()) {
                Some(meant) => format!("did you mean {meant}?"),
                None => format!("known here: {}", known.join(", ")),
            };
            self.mistake(key.span().start, format!("unknown key {name}: {next}"));
        }
    }

    fn quota(&mut self, table: &DeTable<'_>, start: usize) {
        self.check_keys(table, &QUOTA_KEYS);
        let scope = self.scope(table, start);
        if !table.contains_key("ids_per_second") {
            self.mistake(
                start,
                "a quota has no ids_per_second: give a number, 0 to stop it",
            );
        }
        let per_second = self.number(table, "ids_per_second");
        let (Some(scope), Some(per_second)) = (scope, per_second) else {
            return;
        };
        let same = self.quotas.iter().find(|(other, ..)| *other == scope);
        if let Some((_, _, line)) = same {
            let message = format!("{scope} has a quota already, in line {line}: remove one");
            self.mistake(start, message);
        }
        let line = self.line(start);
        self.quotas.push((scope, per_second, line));
        if self.quotas.len() == self.limits.quotas_max + 1 {
            let max = self.limits.quotas_max;
            self.mistake(start, format!("there are more than {max} quotas"));
        }
    }

    fn scope(&mut self, table: &DeTable<'_>, start: usize) -> Option<QuotaScope> {
        let wanted = "give it either tag = \"NAME\" or server = true";
        match (table.get("tag"), self.switch(table, "server")) {
            (Some(tag), None) => {
                let name = tag.get_ref().as_str().unwrap_or_default();
                match Tag::new(name) {
                    Ok(tag) => Some(QuotaScope::Tag(tag)),
                    Err(error) => {
                        self.mistake(tag.span().start, error);
                        None
                    }
                }
            }
            (None, Some(true)) => Some(QuotaScope::Server),
            (Some(_), Some(_)) => {
                self.mistake(
                    start,
                    format!("a quota is on a tag and on the server: {wanted}"),
                );
                None
            }
            (None, _) => {
                // A value that is no switch has been told of already.
                if table
                    .get("server")
                    .is_none_or(|value| value.get_ref().is_bool())
                {
                    self.mistake(start, format!("a quota is on nothing: {wanted}"));
                }
                None
            }
        }
    }

    fn switch(&mut self, table: &DeTable<'_>, key: &str) -> Option<bool> {
        let value = table.get(key)?;
        let on = value.get_ref().as_bool();
        if on.is_none() {
            self.mistake(value.span().start, format!("{key} must be true or false"));
        }
        on
    }

    fn number(&mut self, table: &DeTable<'_>, key: &str) -> Option<u64> {
        let value = table.get(key)?;
        let max = self.limits.ids_per_second_max;
        let number = value.get_ref().as_integer();
        let number = number.and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
        let number = number.filter(|number| *number <= max);
        if number.is_none() {
            let message = format!("{key} must be a whole number from 0 to {max}");
            self.mistake(value.span().start, message);
        }
        number
    }

    fn done(self) -> Result<AccessFile, ConfigError> {
        let Self {
            path,
            tokens,
            quotas,
            mistakes,
            ..
        } = self;
        if !mistakes.is_empty() {
            return Err(ConfigError { mistakes });
        }
        let mut notes = Vec::new();
        if !tokens.is_empty() && !tokens.iter().any(|(token, _)| token.is_admin) {
            notes.push(format!(
                "no token in {} has admin = true: nobody can change tags, quotas and worker ids",
                path.display()
            ));
        }
        Ok(AccessFile {
            tokens: tokens.into_iter().map(|(token, _)| token).collect(),
            quotas: quotas.into_iter().map(|(scope, n, _)| (scope, n)).collect(),
            notes,
        })
    }
}

#[cfg(test)]
mod tests;
