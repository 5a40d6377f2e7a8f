//! `Failure`: what went wrong, what to do next, and the exit code.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};
use std::process::ExitCode;

use leafid::format::FormatError;
use leafid::store::{StoreError, TagFieldError};
use leafid::{Clock as _, Escaped, IssueError, SystemClock, Tag};
use leafid_server::{LogFormat, with_causes};
use serde_json::json;
use tokio::time::error::Elapsed;

/// The result of a subcommand.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    messages: Vec<String>,
    next: String,
    code: u8,
    format: LogFormat,
}

impl Failure {
    /// The command was understood, but failed.
    pub(crate) fn new(message: impl Display, next: impl Into<String>) -> Self {
        Self::several(vec![message.to_string()], next)
    }

    /// Several errors at once.
    pub(crate) fn several(messages: Vec<String>, next: impl Into<String>) -> Self {
        Self {
            messages,
            next: next.into(),
            code: 1,
            format: LogFormat::Text,
        }
    }

    /// The command line is contradictory.
    pub(crate) fn usage(message: impl Display, next: impl Into<String>) -> Self {
        Self {
            code: 2,
            ..Self::new(message, next)
        }
    }

    /// The answer itself has reported the failure.
    pub(crate) fn silent() -> Self {
        Self::several(Vec::new(), "")
    }

    /// The same, in the format of the log.
    pub(crate) fn in_format(self, format: LogFormat) -> Self {
        Self { format, ..self }
    }

    /// Prints it as a note on something that otherwise succeeded.
    pub(crate) fn note(&self, what: &str) {
        for message in &self.messages {
            let line = format!("note: {what}: {}\n", plain(message));
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }

    /// Prints it, and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let lines = match self.format {
            LogFormat::Text => self.lines(),
            LogFormat::Json => self.json(),
        };
        // If standard error is closed, the exit code must suffice.
        let _ = io::stderr().write_all(lines.as_bytes());
        ExitCode::from(self.code)
    }
}

impl Failure {
    fn lines(&self) -> String {
        let mut lines = String::new();
        for message in &self.messages {
            lines.push_str(&format!("error: {}\n", plain(message)));
        }
        if !self.next.is_empty() {
            lines.push_str(&format!("next: {}\n", plain(&self.next)));
        }
        lines
    }

    /// Uses the log's field names for what both have.
    fn json(&self) -> String {
        let line = |message: &String| {
            let timestamp = timestamp().to_string();
            let fields = json!({"message": plain(message), "next": plain(&self.next)});
            let line = json!({"timestamp": timestamp, "level": "ERROR", "fields": fields,
                              "target": "leafid"});
            format!("{line}\n")
        };
        self.messages.iter().map(line).collect()
    }
}

/// The time of day; of a clock that is wrong by ages the last time there is.
fn timestamp() -> jiff::Timestamp {
    let wall_ms = i64::try_from(SystemClock::new().wall().as_millis());
    let time = jiff::Timestamp::from_millisecond(wall_ms.unwrap_or(i64::MAX));
    time.unwrap_or(jiff::Timestamp::MAX)
}

/// A text that may have several lines; characters from outside are escaped.
fn plain(text: &str) -> String {
    let lines = text.split('\n').map(|line| Escaped(line).to_string());
    lines.collect::<Vec<_>>().join("\n")
}

/// Checks that a tag may be created with this name.
pub(crate) fn check_new(tag: &Tag) -> Outcome {
    let checked = tag.check_new();
    checked.map_err(|error| Failure::usage(error, "choose a name without them"))
}

/// For writing to standard output. A reader that has seen enough, such as `head`, is not a failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe {
            return Self {
                code: 0,
                ..Self::silent()
            };
        }
        let next = "make sure that standard output can be written to";
        Self::new(format!("cannot write the answer: {error}"), next)
    }
}

impl From<leafid_server::ConfigError> for Failure {
    fn from(error: leafid_server::ConfigError) -> Self {
        let next = "docs/config.md and `leafid serve --help` list every setting";
        Self::several(error.mistakes, next)
    }
}

/// A setting of a tag, which the command line names.
impl From<TagFieldError> for Failure {
    fn from(error: TagFieldError) -> Self {
        let next = error.remedy("give", &format!("--{}", error.field.name()));
        Self::usage(error, next)
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        let next = "see docs/formats.md, or ask a server with `leafid next TAG --server URL`";
        Self::new(error, next)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let error = match error {
            StoreError::BadField(error) => return error.into(),
            error => error,
        };
        let next = match &error {
            StoreError::UnknownTag => "create it with `leafid tag create TAG`",
            StoreError::TagExists => "look at it with `leafid tag show TAG`",
            StoreError::FormerKind { .. } => {
                "choose another name, or create it with `leafid tag create TAG --kind KIND`"
            }
            StoreError::FormerFormat { .. } => {
                "choose another name, or create it with the format that it had"
            }
            StoreError::LimitReached { .. } => {
                "raise its limit with `leafid tag set TAG --limit LIMIT`, or use another tag"
            }
            StoreError::NextBeyond { .. } => "give a smaller --next, or raise --limit first",
            StoreError::NextBehind { .. } => "give a larger --next, or leave it out",
            StoreError::BadRow { .. } => "correct the row in the database",
            StoreError::BadField(_) => "name another value",
            StoreError::Unsupported { .. } => "`leafid store check` shows how the store is set up",
            StoreError::Conflict { .. } => "try again",
            _ => next_for_unavailable(&error),
        };
        Self::new(with_causes(&error), next)
    }
}

impl From<IssueError> for Failure {
    fn from(error: IssueError) -> Self {
        let next = match error.is_retryable() {
            true => "try again",
            false => "the message says what to change",
        };
        Self::new(with_causes(&error), next)
    }
}

/// What to do about a store that cannot be used: repair a file, reach the server, or do what the
/// server's answer asks for.
fn next_for_unavailable(error: &StoreError) -> &'static str {
    if error.weak_store().is_some() {
        return "change the setting, or use the store all the same with --allow-weak-store";
    }
    let causes = || std::iter::successors(error.source(), |&cause| cause.source());
    let io = causes().find_map(|cause| cause.downcast_ref::<io::Error>());
    match io.map(io::Error::kind) {
        Some(
            ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::AlreadyExists
            | ErrorKind::StorageFull,
        ) => "make sure that the folder exists, has room and may be written by this user",
        None if !causes().any(<dyn Error>::is::<Elapsed>) => {
            "the store answered with an error: correct what the message names"
        }
        _ => "make sure that the store runs and that its URL, user and password are right",
    }
}
