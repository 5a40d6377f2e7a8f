//! `Keys`: the secret keys of opaque ids, by the text of a keys file.
//!
//! A key is kept only as the key schedules of its ciphers, which are zeroed when they are dropped;
//! it is never shown.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use aes::Aes256;
use fpe::ff1::FF1;
use leafid::format::{FormatError, Radix};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The most keys of a file.
const KEYS_MAX: usize = 1000;

/// Names a key in the text of an id: four digits of radix 62, which follow from the key.
///
/// # Example
///
/// ```
/// use leafid_formats::KeyId;
///
/// let id: KeyId = "4bTn".parse()?;
/// assert_eq!(id.to_string(), "4bTn");
/// assert!("4bT".parse::<KeyId>().is_err());
/// # Ok::<(), leafid_formats::KeysError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId([u8; Self::LEN]);

impl KeyId {
    pub(crate) const LEN: usize = 4;

    /// The first 8 bytes of the key's SHA-256 as a big-endian number, in radix 62 with 11 digits:
    /// the first 4 of them.
    fn of(key: &[u8; 32]) -> Self {
        let hash = Sha256::digest(key);
        let number = hash
            .iter()
            .take(8)
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        let mut text = String::with_capacity(11);
        Radix::Base62.push(number, 11, &mut text);
        let mut id = [b'0'; Self::LEN];
        id.iter_mut()
            .zip(text.bytes())
            .for_each(|(digit, byte)| *digit = byte);
        Self(id)
    }

    pub(crate) fn push(self, text: &mut String) {
        text.extend(self.0.map(char::from));
    }
}

impl std::str::FromStr for KeyId {
    type Err = KeysError;

    fn from_str(text: &str) -> Result<Self, KeysError> {
        let digits = Radix::Base62.digits().as_bytes();
        match <[u8; Self::LEN]>::try_from(text.as_bytes()) {
            Ok(id) if id.iter().all(|digit| digits.contains(digit)) => Ok(Self(id)),
            _ => Err(KeysError::BadId),
        }
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|digit| fmt::Write::write_char(f, char::from(*digit)))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The keys of opaque ids: the first one writes, all of them read.
///
/// The text of a keys file has a line `ID = KEY` per key: 64 hex digits, which are 256 bits, and
/// the id that follows from them. `#` begins a comment. To rotate, put a new line first, on all
/// servers, and keep the old ones as long as their ids are read.
///
/// Key material is zeroed on drop and not shown by `Debug`.
///
/// # Example
///
/// ```
/// use leafid_formats::Keys;
///
/// let text = Keys::generate_line()?;
/// let keys = Keys::parse(&text)?;
/// assert!(text.starts_with(&format!("{} = ", keys.current())));
///
/// let error = Keys::parse("4bTn = 00ff").unwrap_err();
/// assert_eq!(error.to_string(), "line 1 of the keys: a key must have 64 hex digits");
/// # Ok::<(), leafid_formats::KeysError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Keys {
    current: Arc<Key>,
    all: Vec<Arc<Key>>,
}

impl Keys {
    /// Reads the text of a keys file.
    ///
    /// # Errors
    ///
    /// For a text without a key, a line that is none, an id that is not that of its key, and two
    /// keys with one id. No error shows a key.
    pub fn parse(text: &str) -> Result<Self, KeysError> {
        let mut all: Vec<Arc<Key>> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split_once('#').map_or(line, |(line, _)| line).trim();
            if line.is_empty() {
                continue;
            }
            let bad = |problem| KeysError::BadLine {
                line: index + 1,
                problem,
            };
            let key = Key::parse(line).map_err(bad)?;
            if all.iter().any(|other| other.id == key.id) {
                return Err(bad(
                    "an earlier key has this id: remove the line, or generate another key",
                ));
            }
            if all.len() == KEYS_MAX {
                return Err(bad("there are more than 1000 keys: remove the oldest"));
            }
            all.push(Arc::new(key));
        }
        let current = Arc::clone(all.first().ok_or(KeysError::Empty)?);
        Ok(Self { current, all })
    }

    /// A line of a keys file with a new key, from the entropy of the system.
    ///
    /// # Errors
    ///
    /// [`KeysError::NoEntropy`] when the system has none.
    pub fn generate_line() -> Result<Zeroizing<String>, KeysError> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(|error| KeysError::NoEntropy(error.to_string()))?;
        // As long as the line will be: growing would leave a copy behind.
        let mut line = Zeroizing::new(String::with_capacity(KeyId::LEN + 3 + 64));
        KeyId::of(&key).push(&mut line);
        line.push_str(" = ");
        for byte in *key {
            line.push(hex_digit(byte >> 4));
            line.push(hex_digit(byte & 15));
        }
        Ok(line)
    }

    /// The id of the key that writes new ids.
    #[must_use]
    pub fn current(&self) -> KeyId {
        self.current.id
    }

    /// The ids of all keys, the current one first.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.all.iter().map(|key| key.id)
    }
}

/// Why a text has no keys.
///
/// # Example
///
/// ```
/// use leafid_formats::{Keys, KeysError};
///
/// assert_eq!(Keys::parse("# none").unwrap_err(), KeysError::Empty);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// There is no line with a key.
    #[error("there is no key: write a line ID = KEY, as `leafid format-key` prints it")]
    Empty,
    /// A line is no key.
    #[error("line {line} of the keys: {problem}")]
    BadLine {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The text is no id of a key.
    #[error("the id of a key must be four digits and letters")]
    BadId,
    /// The system gave no random bytes.
    #[error("the system gave no random bytes for a key: {0}")]
    NoEntropy(String),
}

/// The four ways in which opaque ids are enciphered.
pub(crate) const RADIXES: [u32; 4] = [2, 10, 36, 62];

/// One key.
pub(crate) struct Key {
    pub(crate) id: KeyId,
    /// For each of [`RADIXES`].
    ciphers: [FF1<Aes256>; 4],
}

impl Key {
    /// The key of a line.
    fn parse(line: &str) -> Result<Self, &'static str> {
        let (id, hex) = line.split_once('=').ok_or("a key is written ID = KEY")?;
        let id: KeyId = id
            .trim()
            .parse()
            .map_err(|_| "the id of a key must be four digits and letters")?;
        let mut key = Zeroizing::new([0; 32]);
        let hex = hex.trim().as_bytes();
        if hex.len() != 64 {
            return Err("a key must have 64 hex digits");
        }
        for (byte, digits) in key.iter_mut().zip(hex.chunks_exact(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            let (Some(high), Some(low)) = (digit(digits[0]), digit(digits[1])) else {
                return Err("a key must have 64 hex digits");
            };
            *byte = u8::try_from(high << 4 | low).unwrap_or_default();
        }
        let key = Self::new(&key)?;
        match key.id == id {
            true => Ok(key),
            false => Err("the id is not that of the key: one of them is mistyped"),
        }
    }

    fn new(key: &[u8; 32]) -> Result<Self, &'static str> {
        let cipher = |radix| FF1::new(key, radix).map_err(|_| "no cipher for this radix");
        let [binary, decimal, base36, base62] = RADIXES;
        Ok(Self {
            id: KeyId::of(key),
            ciphers: [
                cipher(binary)?,
                cipher(decimal)?,
                cipher(base36)?,
                cipher(base62)?,
            ],
        })
    }

    /// The cipher at an index of [`RADIXES`].
    pub(crate) fn cipher(&self, index: usize) -> &FF1<Aes256> {
        &self.ciphers[index]
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

fn hex_digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0')
}

/// The keys of a process, which all its formats share, so that they can be replaced.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedKeys(Arc<RwLock<Option<Keys>>>);

impl SharedKeys {
    pub(crate) fn replace(&self, keys: Keys) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(keys);
    }

    /// The key that a text names, perhaps by mistake.
    pub(crate) fn named(&self, id: KeyId) -> Result<Arc<Key>, FormatError> {
        self.key(None)?;
        self.key(Some(id)).map_err(|error| {
            FormatError::NotOfFormat(format!("{error}, unless the text is mistyped"))
        })
    }

    /// The key with an id, or the current one.
    pub(crate) fn key(&self, id: Option<KeyId>) -> Result<Arc<Key>, FormatError> {
        let keys = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let keys = keys.as_ref().ok_or_else(|| {
            FormatError::MissingKey(
                "the format needs a key, and this process has none: configure a keys file"
                    .to_owned(),
            )
        })?;
        let Some(id) = id else {
            return Ok(Arc::clone(&keys.current));
        };
        let key = keys.all.iter().find(|key| key.id == id).ok_or_else(|| {
            FormatError::MissingKey(format!(
                "this process does not have the key {id}: put it into the keys file"
            ))
        })?;
        Ok(Arc::clone(key))
    }
}
