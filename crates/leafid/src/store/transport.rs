//! `Transport`: whether others could read or change the traffic to a store.

use std::fmt;

/// The transport security of a store.
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
    /// Whether it is encrypted and verified.
    pub security: Security,
    /// What to change, if others can intercept it: the store is on another machine, and the
    /// connection is not verified.
    pub advice: Option<String>,
}

/// Whether a connection is encrypted and verified.
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
    /// Encrypted, but the certificate was not verified.
    Unverified,
    /// Encrypted, and the certificate was verified.
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
