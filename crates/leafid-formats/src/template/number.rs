//! `Number`: the part of a template that carries the number, with the key where one is needed.

use std::sync::Arc;

use leafid::format::FormatError;

use crate::keys::{Key, KeyId, SharedKeys};
use crate::number::NumberText;
use crate::opaque::Opaque;

/// How a template writes its number.
#[derive(Debug)]
pub(super) enum Number {
    Text(Box<dyn NumberText>),
    Opaque {
        opaque: Opaque,
        keys: SharedKeys,
        /// The key of all ids; without it, each text names its key.
        pinned: Option<KeyId>,
        /// The part of the format, and where it stands.
        place: String,
    },
}

impl Number {
    pub(super) fn largest(&self) -> u64 {
        match self {
            Self::Text(number) => number.largest(),
            Self::Opaque { opaque, .. } => opaque.largest(),
        }
    }

    pub(super) fn is_readable(&self) -> bool {
        match self {
            Self::Text(number) => number.is_readable(),
            Self::Opaque { .. } => true,
        }
    }

    /// The key for a text that names this one or none: to write, the pinned or the current one.
    /// It is taken once per text, so that a key replaced meanwhile cannot come in between.
    pub(super) fn key(&self, named: Option<KeyId>) -> Result<Option<Arc<Key>>, FormatError> {
        match self {
            Self::Text(_) => Ok(None),
            Self::Opaque {
                keys,
                pinned,
                place,
                ..
            } => match (pinned, named) {
                (None, Some(named)) => keys.named(named).map(Some),
                _ => keys.key(*pinned).map(Some).map_err(|error| match error {
                    FormatError::MissingKey(why) => {
                        FormatError::MissingKey(format!("{place}: {why}"))
                    }
                    error => error,
                }),
            },
        }
    }

    pub(super) fn write(
        &self,
        number: u64,
        key: Option<&Key>,
        text: &mut String,
    ) -> Result<(), FormatError> {
        match (self, key) {
            (Self::Text(format), _) => format.write(number, text),
            (Self::Opaque { opaque, .. }, Some(key)) => opaque.write(number, key, text),
            (Self::Opaque { .. }, None) => Err(no_key()),
        }
    }

    pub(super) fn read(&self, text: &str, key: Option<&Key>) -> Result<u64, FormatError> {
        match (self, key) {
            (Self::Text(format), _) => format.read(text),
            (Self::Opaque { opaque, .. }, Some(key)) => opaque.read(text, key),
            (Self::Opaque { .. }, None) => Err(no_key()),
        }
    }
}

fn no_key() -> FormatError {
    FormatError::MissingKey("the format needs a key: configure a keys file".to_owned())
}
