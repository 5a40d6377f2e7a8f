//! `AccessFile`: tokens and quotas, read from a TOML file. All mistakes are reported at once, each
//! with its line.
//!
//! Left to others: what tokens and quotas do. Invariant: no message shows a secret, or a value in
//! the place of one.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use leafid_stores::read_file;
use toml::de::DeTable;

use super::quota::QuotaScope;
use super::read_quota::quota;
use super::read_token::token;
use super::reader::Reader;
use super::token::TokenSpec;
use crate::config::error::ConfigError;
use crate::config::limits::Limits;

/// The content of an access file.
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
    /// The tokens that callers need; if empty, none is needed.
    pub tokens: Vec<TokenSpec>,
    /// Quotas in ids per second, besides those of the tokens.
    pub quotas: Vec<(QuotaScope, u64)>,
    /// Notes for the operator, such as that others can read the file.
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
                "other users can read or change the access file {path} (mode {:03o}): \
                 chmod 600 {path}",
                mode & 0o777
            ));
        }
        Ok(file)
    }

    fn parse(text: &str, path: &Path, limits: &Limits) -> Result<Self, ConfigError> {
        let mut reader = Reader {
            text,
            path,
            limits,
            mistakes: Vec::new(),
        };
        let (mut tokens, mut quotas, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        match DeTable::parse(text) {
            Ok(file) => {
                reader.check_keys(file.get_ref(), &["token", "quota"]);
                let kind = ("token", limits.tokens_max);
                tokens = read_all(&mut reader, file.get_ref(), kind, token, same_token);
                let kind = ("quota", limits.quotas_max);
                quotas = read_all(&mut reader, file.get_ref(), kind, quota, same_quota);
            }
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                reader.mistake(start, error.message().replace('\n', ", "));
            }
        }
        let mistakes = reader.mistakes;
        if !mistakes.is_empty() {
            return Err(ConfigError { mistakes });
        }
        if !tokens.is_empty() && !tokens.iter().any(|token| token.is_admin) {
            notes.push(format!(
                "no token in {} has admin = true: no client can change tags, quotas and worker ids",
                path.display()
            ));
        }
        Ok(Self {
            tokens,
            quotas,
            notes,
        })
    }
}

/// The file's text and its mode.
fn contents(path: &Path, limits: &Limits) -> Result<(String, u32), String> {
    let read = read_file(path, limits.access_file_len_max);
    let (bytes, metadata) = read.map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    Ok((text, metadata.mode()))
}

/// Reads all tables of a kind, of which no two may be the same thing.
fn read_all<T>(
    reader: &mut Reader<'_>,
    file: &DeTable<'_>,
    (kind, max): (&str, usize),
    read: fn(&mut Reader<'_>, &DeTable<'_>, usize) -> Option<T>,
    conflict: fn(&T, &T) -> Option<String>,
) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    let mut lines = Vec::new();
    for (table, start) in reader.tables(file, kind) {
        let Some(new) = read(reader, table, start) else {
            continue;
        };
        let mut others = all.iter().zip(&lines);
        let found = others.find_map(|(other, line)| Some((conflict(other, &new)?, line)));
        if let Some((problem, line)) = found {
            let message = format!("{problem} in line {line}: change or remove one");
            reader.mistake(start, message);
        }
        lines.push(reader.line(start));
        all.push(new);
        if all.len() == max + 1 {
            reader.mistake(start, format!("there are more than {max} {kind}s"));
        }
    }
    all
}

fn same_token(one: &TokenSpec, other: &TokenSpec) -> Option<String> {
    if one.name == other.name {
        return Some(format!("there is another token named \"{}\"", one.name));
    }
    let is_same = one.has_secret_of(other);
    is_same.then(|| format!("this is the secret of the token \"{}\"", one.name))
}

fn same_quota((one, _): &(QuotaScope, u64), (other, _): &(QuotaScope, u64)) -> Option<String> {
    (one == other).then(|| format!("there is another quota on {one}"))
}

#[cfg(test)]
mod tests;
