//! The tables of a database: which exist, and when those of the registry are created
//! automatically.

#[cfg(feature = "_sqlx")]
use std::collections::{BTreeMap, BTreeSet};

#[cfg(feature = "_sqlx")]
use leafid::store::Weakness;

use crate::InitReport;
#[cfg(feature = "_sqlx")]
use crate::durability::weakness;
#[cfg(feature = "_sqlx")]
use crate::sql_error::CallError;

/// All tables that `init` creates: Leaf's and ours for tags, then those of a registry. The table of
/// worker ids is created before that of the pools, which so proves that both exist. The last one is
/// the audit log.
pub(crate) const TABLES: [&str; 5] = [
    "leaf_alloc",
    "leafid_tag",
    "leafid_worker",
    "leafid_pool",
    "leafid_audit",
];

/// The columns of `leafid_tag` that older versions did not create, and their names for people.
const COLUMNS: [(&str, &str); 3] = [
    ("kind", "leafid_tag.kind"),
    ("segment_max", "leafid_tag.segment_max"),
    ("format", "leafid_tag.format"),
];

/// The tables that keep ids unique, and the columns that identify their rows.
pub(crate) const KEYS: [(&str, &[&str]); 4] = [
    ("leaf_alloc", &["biz_tag"]),
    ("leafid_tag", &["tag"]),
    ("leafid_worker", &["pool", "worker"]),
    ("leafid_pool", &["pool"]),
];

/// Alike for a table of others.
#[cfg(feature = "_sqlx")]
const GEAR_KEY: (&str, &[&str]) = ("gear_key", &["key_name"]);

/// Which of [`TABLES`] exist, and which columns their unique keys have.
#[cfg(feature = "_sqlx")]
#[derive(Default)]
pub(crate) struct FoundKeys {
    tables: BTreeSet<String>,
    keys: BTreeMap<(String, String), BTreeSet<String>>,
}

#[cfg(feature = "_sqlx")]
impl FoundKeys {
    pub(crate) fn see_table(&mut self, table: &str) {
        self.tables.insert(table.to_lowercase());
    }

    /// Records a column of a unique key.
    pub(crate) fn see(&mut self, table: &str, key: &str, column: &str) {
        let key = (table.to_lowercase(), key.to_owned());
        self.keys
            .entry(key)
            .or_default()
            .insert(column.to_lowercase());
    }

    /// The tables that could hold two rows for one thing, so that both would issue the same ids.
    pub(crate) fn weaknesses(&self) -> Vec<Weakness> {
        let is_there = |table: &str| self.tables.contains(table);
        let lacking = KEYS
            .iter()
            .chain([&GEAR_KEY])
            .filter(|(table, columns)| is_there(table) && !self.has(table, columns));
        let weak = lacking.map(|(table, columns)| {
            let columns = columns.join(", ");
            // That of others has a primary key already, which its programs may use.
            let key = match *table == GEAR_KEY.0 {
                true => "UNIQUE KEY key_name_unique",
                false => "PRIMARY KEY",
            };
            weakness(
                &format!("the unique key of {table}"),
                "not there",
                &format!("({columns}) (ALTER TABLE {table} ADD {key} ({columns}))"),
                "two rows may come to be where one is meant, and both give the same ids",
            )
        });
        weak.collect()
    }

    fn has(&self, table: &str, columns: &[&str]) -> bool {
        let is_wanted = |column: &String| columns.contains(&column.as_str());
        let mut keys = self.keys.iter().filter(|((of, _), _)| of == table);
        keys.any(|(_, key)| key.iter().all(is_wanted))
    }
}

/// The state of our own table of tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OwnTable {
    pub(crate) exists: bool,
    has_kind: bool,
    /// Whether it can record the length of the longest segment.
    pub(crate) has_segment_max: bool,
    /// Whether it can keep formats.
    pub(crate) has_format: bool,
}

impl OwnTable {
    /// The table that this version creates.
    #[cfg(feature = "sqlite")]
    pub(crate) const WHOLE: Self = Self {
        exists: true,
        has_kind: true,
        has_segment_max: true,
        has_format: true,
    };

    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn of(columns: &[String]) -> Self {
        let mut own = Self::default();
        columns.iter().for_each(|column| own.see(column));
        own
    }

    /// Records a column.
    pub(crate) fn see(&mut self, column: &str) {
        self.exists = true;
        self.has_kind |= column.eq_ignore_ascii_case("kind");
        self.has_segment_max |= column.eq_ignore_ascii_case("segment_max");
        self.has_format |= column.eq_ignore_ascii_case("format");
    }

    /// Whether it may have been created or upgraded since it was last checked.
    #[cfg(feature = "_sqlx")]
    pub(crate) fn may_have_grown(self) -> bool {
        !self.exists || self.missing().next().is_some()
    }

    /// The missing columns: their names, and those with the table. None if the table is missing.
    pub(crate) fn missing(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let has = [self.has_kind, self.has_segment_max, self.has_format];
        let columns = COLUMNS.into_iter().zip(has);
        columns.filter_map(move |(column, has)| (self.exists && !has).then_some(column))
    }

    /// The same for people.
    pub(crate) fn missing_names(self) -> Vec<String> {
        self.missing().map(|(_, name)| name.to_owned()).collect()
    }
}

/// The shape of the tables on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) own: OwnTable,
    /// The expression for a tag's description: Leaf's column, or the one of the variant.
    pub(crate) description: &'static str,
    /// Whether the column of a tag's name sorts and compares by bytes.
    pub(crate) is_binary: bool,
}

impl Shape {
    /// Leaf's own `leaf_alloc`, with this table of ours beside it.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) const fn of(own: OwnTable) -> Self {
        Self {
            own,
            description: "a.description",
            is_binary: true,
        }
    }
}

/// Which of [`TABLES`] a database has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FoundTables([bool; TABLES.len()]);

impl FoundTables {
    pub(crate) fn of(names: &[String]) -> Self {
        Self(TABLES.map(|table| names.iter().any(|name| name == table)))
    }

    pub(crate) fn is_missing(&self, table: &str) -> bool {
        let mut tables = TABLES.iter().zip(self.0);
        tables.any(|(name, is_there)| *name == table && !is_there)
    }

    /// The report of creating all missing tables, and adding missing columns to our own table.
    pub(crate) fn report(&self, own: OwnTable) -> InitReport {
        self.report_of(&TABLES, own)
    }

    /// The same for some of the tables.
    pub(crate) fn report_of(&self, tables: &[&'static str], own: OwnTable) -> InitReport {
        let (created, found) = tables.iter().partition(|table| self.is_missing(table));
        let names = |tables: Vec<&&str>| tables.iter().map(ToString::to_string).collect();
        InitReport {
            created: names(created),
            added: own.missing_names(),
            found: names(found),
        }
    }

    /// Whether to create the tables of a registry at its first use.
    ///
    /// Beside Leaf's table they are created automatically. Elsewhere the database may be the wrong
    /// one; and if one table was removed, its rows were too. An empty registry would then hand out
    /// worker ids that are in use, so an operator has to decide.
    #[cfg(feature = "_sqlx")]
    pub(crate) fn must_create_registry(&self) -> Result<bool, CallError> {
        let is_there = |table| !self.is_missing(table);
        match (is_there("leafid_worker"), is_there("leafid_pool")) {
            (true, has_pool) => Ok(!has_pool),
            (false, true) => Err(CallError::unsupported(
                "the table leafid_worker is missing, but leafid_pool is there: restore it; or \
                stop all servers that have a worker id from it, and call leafid_stores::init",
            )),
            (false, false) if is_there("leaf_alloc") => Ok(true),
            (false, false) => Err(CallError::unsupported(
                "the database has neither leaf_alloc nor leafid_worker: if it is the right one, \
                call leafid_stores::init",
            )),
        }
    }
}

#[cfg(all(test, feature = "_sqlx"))]
mod tests {
    use super::*;

    fn check(names: &[&str], wanted: &str) {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let answer = format!("{:?}", FoundTables::of(&names).must_create_registry());
        assert!(answer.contains(wanted), "{names:?}: {answer}");
    }

    /// Guards that a registry is never created anew in place of one that is in use.
    #[test]
    fn a_registry_is_created_automatically_only_beside_leafs_table() {
        check(&[], "if it is the right one");
        check(&["leafid_tag"], "if it is the right one");
        check(&["leaf_alloc"], "Ok(true)");
        check(&["leaf_alloc", "leafid_worker"], "Ok(true)");
        check(&["leafid_worker", "leafid_pool"], "Ok(false)");
        check(&["leaf_alloc", "leafid_pool"], "restore it");
    }
}
