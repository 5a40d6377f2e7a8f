//! `BadRows`: names the rows that a list leaves out because they cannot be used, each once.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use leafid::store::{StoreError, TagRecord};

use crate::OnBadRow;

/// How many rows are named; a list with more bad rows than that needs no further names.
const NAMED_MAX: usize = 1000;

/// A page of tags.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) records: Vec<TagRecord>,
    /// Why rows were left out.
    bad: Vec<StoreError>,
}

impl Listed {
    /// Adds a row; one whose name is not a valid tag is skipped, and one that cannot be used left
    /// out: it must not hide the others.
    pub(crate) fn add(
        &mut self,
        record: Result<Option<TagRecord>, StoreError>,
    ) -> Result<(), StoreError> {
        match record {
            Ok(record) => self.records.extend(record),
            Err(error @ StoreError::BadRow { .. }) => self.bad.push(error),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Tells of bad rows.
pub(crate) struct BadRows {
    on_bad_row: Option<OnBadRow>,
    /// Those that were named.
    named: Mutex<BTreeSet<String>>,
}

impl BadRows {
    pub(crate) const fn new(on_bad_row: Option<OnBadRow>) -> Self {
        Self {
            on_bad_row,
            named: Mutex::new(BTreeSet::new()),
        }
    }

    /// The records of a page, once the rows that it lacks were named.
    pub(crate) fn leave_out(&self, listed: Listed) -> Vec<TagRecord> {
        if let Some(on_bad_row) = self.on_bad_row {
            for error in listed.bad {
                let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
                if named.len() < NAMED_MAX && named.insert(error.to_string()) {
                    drop(named);
                    (on_bad_row.0)(&error);
                }
            }
        }
        listed.records
    }
}
