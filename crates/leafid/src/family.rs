//! `Family`: kinds of ids that need neither a store nor a worker id, such as UUIDs.

use std::fmt;
use std::str::FromStr;

/// A family of ids that a process makes by itself, from time and random bits. Each id is a text.
///
/// The generators are in the crate `leafid-formats`; this is their name in a store, on the wire
/// and on the command line.
///
/// # Example
///
/// ```
/// use leafid::Family;
///
/// assert_eq!("uuid7".parse::<Family>()?, Family::Uuid7);
/// assert_eq!(Family::Ulid.to_string(), "ulid");
/// # Ok::<(), leafid::ParseFamilyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// UUID version 1: 100 ns since 1582, a clock sequence, a random node.
    Uuid1,
    /// UUID version 4: 122 random bits.
    Uuid4,
    /// UUID version 6: version 1 with its time in order.
    Uuid6,
    /// UUID version 7: milliseconds and random bits, **ascending** per process.
    Uuid7,
    /// UUID version 8 as in RFC 9562, appendix B.1: 10 ns and random bits, **ascending** per process.
    Uuid8,
    /// ULID: milliseconds and 80 random bits, **ascending** per process.
    Ulid,
    /// KSUID: seconds and 128 random bits.
    Ksuid,
    /// TSID: milliseconds, a random node and a counter in 64 bits, **ascending** per process.
    Tsid,
    /// The `ObjectId` of MongoDB: seconds, 5 random bytes, a counter.
    ObjectId,
    /// XID: seconds, machine, process, a counter.
    Xid,
    /// CosId's ids of 80 bits: milliseconds, machine, sequence, **ascending** per process.
    CosId,
    /// NanoID: random symbols, 21 unless the tag says otherwise.
    NanoId,
    /// CUID2: a hash of time, counter and random bits, 24 symbols unless the tag says otherwise.
    Cuid2,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 13] = [
        Self::Uuid1,
        Self::Uuid4,
        Self::Uuid6,
        Self::Uuid7,
        Self::Uuid8,
        Self::Ulid,
        Self::Ksuid,
        Self::Tsid,
        Self::ObjectId,
        Self::Xid,
        Self::CosId,
        Self::NanoId,
        Self::Cuid2,
    ];

    /// The family in one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uuid1 => "uuid1",
            Self::Uuid4 => "uuid4",
            Self::Uuid6 => "uuid6",
            Self::Uuid7 => "uuid7",
            Self::Uuid8 => "uuid8",
            Self::Ulid => "ulid",
            Self::Ksuid => "ksuid",
            Self::Tsid => "tsid",
            Self::ObjectId => "objectid",
            Self::Xid => "xid",
            Self::CosId => "cosid",
            Self::NanoId => "nanoid",
            Self::Cuid2 => "cuid2",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text is not a [`Family`].
///
/// # Example
///
/// ```
/// assert!("uuid2".parse::<leafid::Family>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a family of ids is uuid1, uuid4, uuid6, uuid7, uuid8, ulid, ksuid, tsid, objectid, xid, \
    cosid, nanoid or cuid2"
)]
pub struct ParseFamilyError;

impl FromStr for Family {
    type Err = ParseFamilyError;

    fn from_str(text: &str) -> Result<Self, ParseFamilyError> {
        let mut all = Self::ALL.into_iter();
        all.find(|family| family.name() == text)
            .ok_or(ParseFamilyError)
    }
}
