//! Maps each error of the service to its gRPC status: the only place that does.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use hyper::HeaderMap;
use leafid::store::{TagField, TagFieldError};
use leafid::{IssueError, TagError};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use super::v1::Failure;
use crate::service::{self, Class, ServiceError, Wording};

/// The domain of the reasons, in `google.rpc.ErrorInfo`.
const DOMAIN: &str = "leafid";
/// The metadata key of the details.
const DETAILS: &str = "grpc-status-details-bin";

/// Reason and remediation for a message that is too large or cannot be read.
const TOO_LARGE: (&str, &str) = ("too_large", "send fewer bytes in one message");
const COMPRESSED: (&str, &str) = ("compressed", "send messages as they are, not compressed");
const BAD_MESSAGE: (&str, &str) = (
    "bad_message",
    "send one whole message of the type that the method takes: see its protocol file",
);

/// The terms of gRPC in remediations.
const WORDING: Wording = Wording {
    retry_after: "the retry delay",
    tag: "a tag of 1 to 128 characters",
    token: "a token in the metadata, as authorization: Bearer SECRET",
    layout: "layout = NAME",
    create_tag: "leafid.v1.Tags/CreateTag",
    update_tag: "leafid.v1.Tags/UpdateTag",
    take_ids: "leafid.v1.Ids/NextMany",
    tag_field: |field| match field {
        TagField::Step => "tag.step",
        TagField::Policy | TagField::StepMax | TagField::Cover => "tag.policy",
        TagField::Limit => "tag.limit",
        TagField::Description => "tag.description",
        field => field.name(),
    },
};

/// Why a call fails, before it becomes a status.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    code: Code,
    /// Stable, in lower case, as over HTTP.
    reason: &'static str,
    message: String,
    /// The remediation.
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

    /// Names the field of the message that is wrong.
    pub(super) fn with_field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    /// A field of a message has an invalid value.
    pub(super) fn bad_field(field: &'static str, message: impl Into<String>) -> Self {
        let next = format!("send {field} as its description says");
        let reason = service::Code::BadField.name();
        Self::new(Code::InvalidArgument, reason, message, next).with_field(field)
    }

    pub(super) fn unknown_method() -> Self {
        let message = "this server has no such method";
        let next = "list the methods by reflection, for example with grpcurl list";
        Self::new(Code::Unimplemented, "unknown_method", message, next)
    }

    /// The metadata of a call is too long.
    pub(super) fn too_much_metadata(len: usize, len_max: usize) -> Self {
        let message = format!("the metadata takes {len} bytes, more than {len_max}");
        let next = "send less metadata, such as a shorter token";
        Self::new(Code::ResourceExhausted, "too_much_metadata", message, next)
    }

    /// An error that tonic itself raises for a message that it cannot read; `None` for other
    /// statuses.
    fn of_message(status: &Status) -> Option<Self> {
        let code = status.code();
        let (reason, next) = match code {
            Code::OutOfRange => TOO_LARGE,
            Code::Internal => BAD_MESSAGE,
            Code::Unimplemented => COMPRESSED,
            _ => return None,
        };
        Some(Self::new(code, reason, status.message(), next))
    }

    /// The caller did not send its message in time. Nothing was done for it, yet the status is not
    /// one that clients retry automatically, as the next message would be as slow.
    pub(super) fn timeout(body_max: Duration) -> Self {
        let message = format!("the message took longer than {} s", body_max.as_secs());
        let next = "send the message at once";
        Self::new(Code::DeadlineExceeded, "timeout", message, next)
    }

    /// The limit is the caller's, not the server's.
    pub(super) fn deadline_exceeded() -> Self {
        let message = "the deadline passed before there was an answer";
        let next = "set a longer deadline";
        Self::new(Code::DeadlineExceeded, "deadline_exceeded", message, next)
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

/// The status with which headers or trailers end a call; `None`: the call continues.
pub(super) fn code_of(end: &HeaderMap) -> Option<Code> {
    let status = end.get("grpc-status")?;
    Some(Code::from_bytes(status.as_bytes()))
}

/// Adds the details to the end of an answer that tonic made without them. Our own answers have
/// them.
pub(super) fn explain(code: Code, end: &mut HeaderMap) {
    if code == Code::Ok || end.contains_key(DETAILS) {
        return;
    }
    let refusal = Status::from_header_map(end).and_then(|status| Refusal::of_message(&status));
    if let Some(refusal) = refusal {
        // If it cannot be written as a header, tonic's stays.
        let _added = Status::from(refusal).add_header(end);
    }
}

/// The same in the answer of a stream, which continues.
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
        let next = error.remediation(&WORDING);
        Self {
            field: error.field(&WORDING),
            retry_after: error.retry_after(),
            ..Self::new(status(code.class()), code.name(), error.to_string(), next)
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
        ServiceError::Issue(IssueError::Permanent(error.into())).into()
    }
}

impl From<TagFieldError> for Refusal {
    fn from(error: TagFieldError) -> Self {
        ServiceError::from(error).into()
    }
}

/// UNAVAILABLE and RESOURCE_EXHAUSTED are for what passes, FAILED_PRECONDITION for what does not:
/// clients and proxies retry the first two.
const fn status(class: Class) -> Code {
    match class {
        Class::Invalid => Code::InvalidArgument,
        Class::Unauthenticated => Code::Unauthenticated,
        Class::Forbidden => Code::PermissionDenied,
        Class::NotFound => Code::NotFound,
        Class::Exists => Code::AlreadyExists,
        Class::Conflict => Code::FailedPrecondition,
        Class::Changed => Code::Aborted,
        Class::TooMany | Class::Overloaded => Code::ResourceExhausted,
        Class::Broken => Code::Internal,
        Class::Unsupported => Code::Unimplemented,
        Class::Unavailable => Code::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that exactly the codes in the code are in the documentation, each with its status.
    #[test]
    fn codes_are_documented() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grpc.md");
        let page = std::fs::read_to_string(page).unwrap();
        let of_service = service::Code::ALL.iter();
        let of_service = of_service.map(|code| (status(code.class()), code.name()));
        let own = [
            Refusal::unknown_method(),
            Refusal::deadline_exceeded(),
            Refusal::timeout(Duration::ZERO),
            Refusal::too_much_metadata(0, 0),
        ];
        let own = own.map(|refusal| (refusal.code, refusal.reason));
        let of_message = [
            (Code::OutOfRange, TOO_LARGE.0),
            (Code::Internal, BAD_MESSAGE.0),
            (Code::Unimplemented, COMPRESSED.0),
        ];
        let codes: Vec<_> = of_service.chain(own).chain(of_message).collect();
        for (status, reason) in &codes {
            let status = crate::frontends::grpc::counts::code_name(*status);
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
