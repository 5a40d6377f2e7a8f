//! `Reader`: reads the tables of an access file and gathers all mistakes, each with its line.
//!
//! Invariant: no mistake shows a value, because it may be a secret.

use std::fmt::Display;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::config::limits::Limits;
use crate::config::suggest::suggestion;

/// A file that is being read.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) path: &'a Path,
    pub(super) limits: &'a Limits,
    pub(super) mistakes: Vec<String>,
}

impl Reader<'_> {
    /// The line of an offset, from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    pub(super) fn mistake(&mut self, offset: usize, message: impl Display) {
        let line = self.line(offset);
        let mistake = format!("{}:{line}: {message}", self.path.display());
        self.mistakes.push(mistake);
    }

    /// The tables of a list such as `[[token]]`, each with its offset.
    pub(super) fn tables<'t>(
        &mut self,
        file: &'t DeTable<'t>,
        kind: &str,
    ) -> Vec<(&'t DeTable<'t>, usize)> {
        let list = |value: &'t DeValue<'t>| {
            let message = || format!("{kind} is not a list of tables: write [[{kind}]]");
            value.as_array().ok_or_else(message)
        };
        let mut tables = Vec::new();
        for table in self.value(file, kind, list).into_iter().flatten() {
            let start = table.span().start;
            match table.get_ref().as_table() {
                Some(found) => tables.push((found, start)),
                None => self.mistake(start, format!("this is not a table: write [[{kind}]]")),
            }
        }
        tables
    }

    pub(super) fn check_keys(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for key in table.keys() {
            let name = key.get_ref();
            if known.contains(&&**name) {
                continue;
            }
            let all = || format!("known here: {}", known.join(", "));
            let next = suggestion(name, known.iter().copied(), all);
            self.mistake(key.span().start, format!("unknown key {name}: {next}"));
        }
    }

    /// The value of a key, as `parse` reads it; its error is a mistake on that line.
    pub(super) fn value<'t, T, E: Display>(
        &mut self,
        table: &'t DeTable<'t>,
        key: &str,
        parse: impl FnOnce(&'t DeValue<'t>) -> Result<T, E>,
    ) -> Option<T> {
        let value = table.get(key)?;
        match parse(value.get_ref()) {
            Ok(parsed) => Some(parsed),
            Err(problem) => {
                self.mistake(value.span().start, problem);
                None
            }
        }
    }

    pub(super) fn switch(&mut self, table: &DeTable<'_>, key: &str) -> Option<bool> {
        let problem = || format!("{key} must be true or false");
        self.value(table, key, |value| value.as_bool().ok_or_else(problem))
    }

    /// The number of a quota.
    pub(super) fn ids_per_second(&mut self, table: &DeTable<'_>) -> Option<u64> {
        let max = self.limits.ids_per_second_max;
        self.value(table, "ids_per_second", |value| {
            let number = value.as_integer();
            let number = number.and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
            let problem = || format!("ids_per_second must be a whole number from 0 to {max}");
            number.filter(|number| *number <= max).ok_or_else(problem)
        })
    }
}
