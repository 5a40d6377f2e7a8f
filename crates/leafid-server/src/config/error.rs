//! `ConfigError`: every mistake in the settings, the access file or the certificates.

/// Settings that cannot be used, each with its origin and what is allowed.
///
/// # Example
///
/// ```
/// use leafid_server::Sources;
///
/// let environment = vec![("LEAFID_STOR".into(), "sqlite:ids.db".into())];
/// let error = Sources { environment, ..Sources::default() }.load().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "unknown environment variable LEAFID_STOR: did you mean LEAFID_STORE?"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .mistakes.join("; "))]
pub struct ConfigError {
    /// All mistakes, without passwords.
    pub mistakes: Vec<String>,
}
