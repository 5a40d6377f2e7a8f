//! `Origin`: where the value of a setting comes from, and which origin wins.

use std::fmt;
use std::path::PathBuf;

/// Where a value comes from.
///
/// # Example
///
/// ```
/// use leafid_server::Origin;
///
/// let origin = Origin::File { path: "leafid.toml".into(), line: Some(3) };
/// assert_eq!(origin.to_string(), "leafid.toml:3");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// No layer sets it.
    Default,
    /// A line of a file; no line if the file as a whole implies the value.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: Option<usize>,
    },
    /// An environment variable.
    Environment(String),
    /// A flag.
    Flag(String),
    /// A socket that the service manager passed.
    Socket,
}

impl Origin {
    /// Higher wins.
    pub(super) const fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File { .. } => 1,
            Self::Environment(_) => 2,
            Self::Flag(_) => 3,
            Self::Socket => 4,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line: None } => path.display().fmt(f),
            Self::File {
                path,
                line: Some(line),
            } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) | Self::Flag(name) => f.write_str(name),
            Self::Socket => f.write_str("a socket of systemd"),
        }
    }
}
