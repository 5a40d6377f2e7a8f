//! `Transport`: who could read or change what is said to a store on its way.

use std::fmt;

/// How a store is reached.
///
/// # Example
///
/// ```
/// use leafid::store::{Security, Transport};
///
/// let transport = Transport { security: Security::Unverified, advice: None };
/// assert_eq!(transport.to_string(), "encrypted, but it is not verified who answers");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transport {
    /// Whether it is encrypted, and for whom.
    pub security: Security,
    /// What to change, where others can come between: the store is on another machine, and the
    /// connection is not verified.
    pub advice: Option<String>,
}

/// Whether a connection is encrypted, and for whom.
///
/// # Example
///
/// ```
/// assert_eq!(leafid::store::Security::Verified.name(), "verified");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// Not encrypted.
    Plain,
    /// Encrypted for whoever answers: nobody looked at the certificate.
    Unverified,
    /// Encrypted, and the certificate was checked.
    Verified,
}

impl Security {
    /// A word for programs: `plain`, `unverified` or `verified`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Unverified => "unverified",
            Self::Verified => "verified",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.security {
            Security::Plain => "not encrypted",
            Security::Unverified => "encrypted, but it is not verified who answers",
            Security::Verified => "encrypted and verified",
        })
    }
}
