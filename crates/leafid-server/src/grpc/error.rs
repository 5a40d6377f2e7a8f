//! Which status each meaning of the service is: the one place that maps errors to gRPC.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use hyper::HeaderMap;
use leafid::{IssueError, Never, NotYetReason, SnowflakeError, TagError};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use super::code_of;
use super::v1::Failure;
use crate::service::{self, ServiceError};

/// Whose reasons they are, in `google.rpc.ErrorInfo`.
const DOMAIN: &str = "leafid";
/// Where the details are in the metadata.
const DETAILS: &str = "grpc-status-details-bin";
/// When to come back after an answer that was not made in time, or to a server that goes.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The reason, and what to do, where a message is too large or cannot be read.
const TOO_LARGE: (&str, &str) = ("too_large", "send fewer bytes in one message");
const BAD_MESSAGE: (&str, &str) = (
    "bad_message",
    "send one whole message of the type that the method takes: see its protocol file",
);

const RETRY: &str = "try again when the retry delay has passed";
const LOOK: &str = "try again when the retry delay has passed; if it stays, see /readyz?verbose \
                    and the server's log";
const ASK_ANOTHER: &str = "try again when the retry delay has passed, or ask another server";
const TAKE_IDS: &str =
    "take its ids with leafid.v1.Ids/NextMany, or create another tag of kind segment";

/// Why a call is not done, on its way out.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    code: Code,
    /// Stable, in lower case, as in HTTP.
    reason: &'static str,
    message: String,
    /// What the caller can do about it.
    next: Cow<'static, str>,
    field: Option<&'static str>,
    retry_after: Option<Duration>,
}

impl Refusal {
    fn new(
        code: Code,
        reason: &'static str,
        message: impl Into<String>,
        next: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            next: next.into(),
            field: None,
            retry_after: None,
        }
    }

    /// With the field of the message that is wrong.
    pub(super) fn with_field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    fn with_retry_after(mut self, retry_after: Duration) -> Self {
        self.retry_after = Some(retry_after);
        self
    }

    /// A field of a message has a value that it cannot have.
    pub(super) fn bad_field(field: &'static str, message: impl Into<String>) -> Self {
        let next = format!("send {field} as its description says");
        let reason = service::Code::BadField.name();
        Self::new(Code::InvalidArgument, reason, message, next).with_field(field)
    }

    pub(super) fn unknown_method() -> Self {
        let message = "this server has no such method";
        let next = "ask for those that there are with reflection, such as with grpcurl list";
        Self::new(Code::Unimplemented, "unknown_method", message, next)
    }

    /// What tonic says by itself of a message that it cannot take; other statuses are none.
    fn of_message(status: &Status) -> Option<Self> {
        let code = status.code();
        let (reason, next) = match code {
            Code::OutOfRange => TOO_LARGE,
            Code::Internal => BAD_MESSAGE,
            _ => return None,
        };
        Some(Self::new(code, reason, status.message(), next))
    }

    /// The caller's bound, not the server's.
    pub(super) fn deadline_exceeded() -> Self {
        let message = "the deadline passed before there was an answer";
        let next = "give the call more time";
        Self::new(Code::DeadlineExceeded, "deadline_exceeded", message, next)
    }

    /// The server's own bound, not the caller's.
    pub(super) fn too_slow() -> Self {
        let reason = service::Code::StoreUnavailable.name();
        let message = "the store did not answer in time";
        Self::new(Code::Unavailable, reason, message, LOOK).with_retry_after(RETRY_AFTER)
    }

    /// All places for connections are taken; this one is for operators.
    pub(super) fn no_place() -> Self {
        let reason = service::Code::Overloaded.name();
        let message = "as many connections are open as this server takes on";
        Self::new(Code::ResourceExhausted, reason, message, ASK_ANOTHER)
            .with_retry_after(RETRY_AFTER)
    }

    pub(super) fn shutting_down() -> Self {
        let code = service::Code::ShuttingDown;
        let next = next_of_code(code);
        Self::new(Code::Unavailable, code.name(), code.title(), next).with_retry_after(RETRY_AFTER)
    }
}

/// The status, with its details for programs.
impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let mut details = ErrorDetails::new();
        let metadata = HashMap::from([("next".to_owned(), refusal.next.into_owned())]);
        details.set_error_info(refusal.reason.to_ascii_uppercase(), DOMAIN, metadata);
        if let Some(retry_after) = refusal.retry_after {
            details.set_retry_info(Some(retry_after));
        }
        if let Some(field) = refusal.field {
            details.add_bad_request_violation(field, refusal.message.clone());
        }
        Self::with_error_details(refusal.code, refusal.message, details)
    }
}

/// Adds the details to the end of an answer that tonic made without them. Our own have them.
pub(super) fn explain(end: &mut HeaderMap) {
    if code_of(end) == Code::Ok || end.contains_key(DETAILS) {
        return;
    }
    let refusal = Status::from_header_map(end).and_then(|status| Refusal::of_message(&status));
    if let Some(refusal) = refusal {
        // What cannot be written as a header stays as tonic had it.
        let _added = Status::from(refusal).add_header(end);
    }
}

/// The same in an answer of a stream, which goes on.
impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let retry_after = refusal.retry_after;
        Self {
            code: refusal.code.into(),
            reason: refusal.reason.to_ascii_uppercase(),
            message: refusal.message,
            retry_after: retry_after.and_then(|retry_after| retry_after.try_into().ok()),
        }
    }
}

impl From<ServiceError> for Refusal {
    fn from(error: ServiceError) -> Self {
        let code = error.code();
        let refusal = Self::new(status(code), code.name(), error.to_string(), next(&error));
        let refusal = match &error {
            ServiceError::BadCount { field, .. } => refusal.with_field(field),
            ServiceError::Issue(IssueError::Never(Never::BadTag(_))) => refusal.with_field("tag"),
            ServiceError::Decompose(_) => refusal.with_field("id"),
            _ => refusal,
        };
        match error.retry_after() {
            Some(retry_after) => refusal.with_retry_after(retry_after),
            None => refusal,
        }
    }
}

impl From<ServiceError> for Status {
    fn from(error: ServiceError) -> Self {
        Refusal::from(error).into()
    }
}

impl From<TagError> for Refusal {
    fn from(error: TagError) -> Self {
        let code = service::Code::BadTag;
        let next = next_of_code(code);
        Self::new(status(code), code.name(), error.to_string(), next).with_field("tag")
    }
}

/// UNAVAILABLE and RESOURCE_EXHAUSTED are for what passes by itself, FAILED_PRECONDITION for what
/// does not: callers, and what stands between, try the first two again.
const fn status(code: service::Code) -> Code {
    use service::Code as C;
    match code {
        C::BadCount | C::BadTag | C::BadField => Code::InvalidArgument,
        C::NoToken | C::BadToken => Code::Unauthenticated,
        C::NotAdmin => Code::PermissionDenied,
        C::UnknownTag | C::UnknownToken | C::UnknownWorker => Code::NotFound,
        C::TagExists => Code::AlreadyExists,
        C::LimitReached | C::SnowflakeTag | C::WorkerAlive | C::TooManyQuotas => {
            Code::FailedPrecondition
        }
        C::WorkerChanged => Code::Aborted,
        C::OverQuota | C::Overloaded => Code::ResourceExhausted,
        C::BadRow | C::LayoutEnded => Code::Internal,
        C::Unsupported | C::ModeOff => Code::Unimplemented,
        C::NotYet | C::NoWorker | C::ClockBehind | C::StoreUnavailable | C::ShuttingDown => {
            Code::Unavailable
        }
    }
}

/// What to do about it, where the meaning alone does not say.
fn next(error: &ServiceError) -> Cow<'static, str> {
    let text = match error {
        ServiceError::SegmentOff => "set segment = true, or ask another server",
        ServiceError::SnowflakeOff => "set snowflake = true, or ask another server",
        ServiceError::BadCount { field, max, .. } => {
            return format!("send {field} as a whole number from 1 to {max}").into();
        }
        ServiceError::Issue(IssueError::NotYet(not_yet)) => match not_yet.reason {
            NotYetReason::StoreFailed(_) => LOOK,
            NotYetReason::TooManyTags(_) => "use a tag that is in use already, or raise tags_max",
            NotYetReason::Loading | NotYetReason::Busy => RETRY,
        },
        ServiceError::Issue(IssueError::Never(Never::BadCount { .. }))
        | ServiceError::Snowflake(SnowflakeError::BadCount { .. }) => {
            "ask for fewer ids, at least 1"
        }
        ServiceError::Decompose(_) => "name the layout that the id was made with",
        other => next_of_code(other.code()),
    };
    text.into()
}

const fn next_of_code(code: service::Code) -> &'static str {
    use service::Code as C;
    match code {
        C::BadCount | C::BadField => "send another value",
        C::BadTag => "name a tag of 1 to 128 characters",
        C::NoToken => "send a token in the metadata, as authorization: Bearer SECRET",
        C::BadToken => "send the secret of one of the tokens in the access file",
        C::NotAdmin => "use a token with admin = true",
        C::UnknownTag => "create it with leafid.v1.Tags/CreateTag",
        C::UnknownToken => "see the access file for those that there are",
        C::UnknownWorker | C::WorkerChanged => "see GET /v1/workers for those that there are",
        C::TagExists => "change it with leafid.v1.Tags/UpdateTag, or choose another name",
        C::LimitReached => {
            "raise the tag's limit with leafid.v1.Tags/UpdateTag, or use another tag"
        }
        C::SnowflakeTag => TAKE_IDS,
        C::WorkerAlive => "stop that server, and it gives the worker id back",
        C::TooManyQuotas => "take another tag's quota away with DELETE /v1/quotas/tags/{tag}",
        C::OverQuota => "try again when the retry delay has passed, or have the quota raised",
        C::BadRow => "repair the tag's row in the store",
        C::LayoutEnded => "set layout to one with more bits of time, or with a later epoch",
        C::Unsupported => "set the store up as the message says",
        C::ModeOff | C::ShuttingDown => "ask another server",
        C::NotYet => RETRY,
        C::NoWorker | C::StoreUnavailable => LOOK,
        C::ClockBehind => "try again when the retry delay has passed, or set clock-policy = borrow",
        C::Overloaded => ASK_ANOTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that every code is in the documentation, with its status, and no other.
    #[test]
    fn codes_are_documented() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grpc.md");
        let page = std::fs::read_to_string(page).unwrap();
        let of_service = service::Code::ALL.iter();
        let of_service = of_service.map(|code| (status(*code), code.name()));
        let own = [Refusal::unknown_method(), Refusal::deadline_exceeded()];
        let own = own.map(|refusal| (refusal.code, refusal.reason));
        let of_message = [
            (Code::OutOfRange, TOO_LARGE.0),
            (Code::Internal, BAD_MESSAGE.0),
        ];
        let codes: Vec<_> = of_service.chain(own).chain(of_message).collect();
        for (status, reason) in &codes {
            let status = crate::metrics::grpc_name(*status);
            let row = format!("| {status} | `{}` |", reason.to_ascii_uppercase());
            assert_eq!(page.matches(&row).count(), 1, "{row} in docs/grpc.md");
        }
        let rows = page
            .lines()
            .filter(|line| line.contains("| `") && line.starts_with("| "));
        let rows = rows.filter(|line| line.as_bytes()[2].is_ascii_uppercase());
        assert_eq!(rows.count(), codes.len());
    }
}
