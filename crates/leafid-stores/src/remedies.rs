//! `Remedies`: how errors name the steps that mend a store. Errors are written in the words of this
//! crate; a program with commands of its own has them replaced.

use leafid::store::StoreError;

/// Creates the tables that are missing, in the words of errors as they are written.
pub(crate) const INIT: &str = "call leafid_stores::init";
/// Brings a SQLite file back.
pub(crate) const RESTORE: &str = "leafid_stores::restore";
/// Copies a SQLite file.
pub(crate) const BACKUP: &str = "leafid_stores::backup";
/// Uses a store that could lose what it acknowledges.
pub(crate) const ALLOW_WEAK: &str = "StoreOptions::allow_weak";

/// How errors name the steps that mend a store: by default as functions of this crate. A program
/// that has commands for them names those, so that its users read what they can type.
///
/// # Example
///
/// ```
/// use leafid_stores::{Remedies, StoreOptions};
///
/// let remedies = Remedies::default().with_init("run `shop create-tables --at {store}`");
/// let options = StoreOptions::default().with_remedies(remedies);
/// assert_eq!(options.remedies.restore, "leafid_stores::restore");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remedies {
    /// What creates the missing tables and columns, as an order. `{store}` in it stands for the
    /// URL of the store, without its password.
    pub init: &'static str,
    /// What brings a SQLite file back from a copy.
    pub restore: &'static str,
    /// What makes a copy of a SQLite file.
    pub backup: &'static str,
    /// The setting that allows a store which could lose what it acknowledges.
    pub allow_weak: &'static str,
}

impl Default for Remedies {
    fn default() -> Self {
        Self {
            init: INIT,
            restore: RESTORE,
            backup: BACKUP,
            allow_weak: ALLOW_WEAK,
        }
    }
}

impl Remedies {
    /// Sets [`init`](Self::init).
    #[must_use]
    pub const fn with_init(self, init: &'static str) -> Self {
        Self { init, ..self }
    }

    /// Sets [`restore`](Self::restore).
    #[must_use]
    pub const fn with_restore(self, restore: &'static str) -> Self {
        Self { restore, ..self }
    }

    /// Sets [`backup`](Self::backup).
    #[must_use]
    pub const fn with_backup(self, backup: &'static str) -> Self {
        Self { backup, ..self }
    }

    /// Sets [`allow_weak`](Self::allow_weak).
    #[must_use]
    pub const fn with_allow_weak(self, allow_weak: &'static str) -> Self {
        Self { allow_weak, ..self }
    }

    /// The error of the store at `location` in these words.
    pub(crate) fn reword(&self, mut error: StoreError, location: &str) -> StoreError {
        if let StoreError::Unavailable { message, .. }
        | StoreError::Unsupported { message }
        | StoreError::BadRow { message }
        | StoreError::Conflict { message, .. } = &mut error
        {
            let words = [
                (INIT, self.init),
                (RESTORE, self.restore),
                (BACKUP, self.backup),
                (ALLOW_WEAK, self.allow_weak),
            ];
            for (own, wanted) in words.into_iter().filter(|(own, wanted)| own != wanted) {
                *message = message.replace(own, &wanted.replace("{store}", location));
            }
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that every step is named as the program wants, with the place.
    #[test]
    fn errors_are_in_the_words_of_the_program() {
        let remedies = Remedies::default()
            .with_init("run `x init {store}`")
            .with_restore("`x restore`")
            .with_backup("`x backup`")
            .with_allow_weak("--weak");
        let message = format!("{INIT}, {RESTORE}, {BACKUP}, {ALLOW_WEAK}");
        let error = StoreError::Unsupported { message };
        let words = |remedies: Remedies, error| remedies.reword(error, "mysql://db/x").to_string();
        let shown = words(remedies, error);
        assert_eq!(
            shown,
            "run `x init mysql://db/x`, `x restore`, `x backup`, --weak"
        );
        let error = StoreError::unavailable(INIT, "no table");
        assert_eq!(words(Remedies::default(), error), INIT);
    }
}
