//! `Problem`: an error as a problem document (RFC 9457), with a stable code and what to do next.

use std::borrow::Cow;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use hyper::header::{self, HeaderValue};
use hyper::{StatusCode, Uri};
use leafid::Tag;

use super::answer::{self, Answer};
use crate::api;
use crate::excerpt::shown;
use crate::service::{Class, Code};

/// An error that becomes an answer. The path of the request is added last, in [`Problem::answer`].
#[derive(Debug, Clone)]
pub(crate) struct Problem(Box<Inner>);

/// On the heap, so that the successful result stays small.
#[derive(Debug, Clone)]
struct Inner {
    kind: Kind,
    detail: String,
    next: Next,
    field: Option<String>,
    retry_after: Option<Duration>,
    /// The methods that the path allows.
    allow: Option<HeaderValue>,
}

/// The result of a route. The caller of the route knows which form of error its clients expect.
pub(crate) type Answered = Result<Answer, Problem>;

/// The kind of error: its code never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(super) title: &'static str,
}

macro_rules! kinds {
    ($($name:ident $status:ident $code:literal $title:literal)*) => {
        impl Kind {
            $(pub(crate) const $name: Self = Self {
                status: StatusCode::$status,
                code: $code,
                title: $title,
            };)*
            #[cfg(test)]
            const OF_HTTP: &[Self] = &[$(Self::$name),*];
        }
    };
}

// Errors of HTTP alone; the others are those of the service.
kinds! {
    BAD_JSON BAD_REQUEST "bad_json" "the body is not the JSON that this call expects"
    UNKNOWN_FIELD BAD_REQUEST "unknown_field" "this call has no such field"
    BAD_PATH BAD_REQUEST "bad_path" "the path is not percent-encoded UTF-8"
    UNDECLARED FORBIDDEN "undeclared" "the call has no token and is not declared as JSON"
    FOREIGN_PAGE FORBIDDEN "foreign_page" "web pages of other origins may not call this server"
    FOREIGN_HOST FORBIDDEN "foreign_host" "the server does not answer to this name"
    UNKNOWN_LAYOUT NOT_FOUND "unknown_layout" "no such layout"
    NOT_OF_LAYOUT NOT_FOUND "not_of_layout" "the id does not exist in this layout"
    NOT_FOUND NOT_FOUND "not_found" "there is nothing at this path"
    METHOD_NOT_ALLOWED METHOD_NOT_ALLOWED "method_not_allowed" "the path does not allow this method"
    TIMEOUT REQUEST_TIMEOUT "timeout" "the body did not arrive in time"
    TOO_LARGE PAYLOAD_TOO_LARGE "too_large" "the body is too large"
    TARGET_TOO_LONG URI_TOO_LONG "target_too_long" "the path with its query is too long"
    UNSUPPORTED_MEDIA_TYPE UNSUPPORTED_MEDIA_TYPE "unsupported_media_type" "the body is not declared as JSON"
}

impl Kind {
    /// Written out in full at its only use (`http.rs`), where no HTTP code runs.
    #[cfg(test)]
    const TLS_NEEDED: Self = Self {
        status: StatusCode::BAD_REQUEST,
        code: "tls_needed",
        title: "this server requires TLS",
    };
    pub(crate) const BAD_FIELD: Self = Self::of(Code::BadField);
    pub(crate) const BAD_TAG: Self = Self::of(Code::BadTag);
    pub(crate) const SNOWFLAKE_TAG: Self = Self::of(Code::SnowflakeTag);

    /// The kind with this code; `None` if no problem has it.
    #[cfg(test)]
    pub(super) fn named(code: &str) -> Option<Self> {
        let of_service = Code::ALL.iter().map(|code| Self::of(*code));
        let mut all = Self::OF_HTTP.iter().copied().chain(of_service);
        all.find(|kind| kind.code == code)
    }

    /// An error of the service.
    pub(crate) const fn of(code: Code) -> Self {
        let status = match code.class() {
            Class::Invalid => StatusCode::BAD_REQUEST,
            Class::Unauthenticated => StatusCode::UNAUTHORIZED,
            Class::Forbidden => StatusCode::FORBIDDEN,
            Class::NotFound => StatusCode::NOT_FOUND,
            Class::Exists | Class::Conflict | Class::Changed => StatusCode::CONFLICT,
            Class::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Class::Broken => StatusCode::INTERNAL_SERVER_ERROR,
            Class::Unsupported => StatusCode::NOT_IMPLEMENTED,
            Class::Overloaded | Class::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self {
            status,
            code: code.name(),
            title: code.title(),
        }
    }
}

/// The remediation.
#[derive(Debug, Clone)]
pub(super) enum Next {
    Text(Cow<'static, str>),
    /// The command that creates this tag.
    CreateTag(Tag),
    /// The command that shows this tag.
    ShowTag(Tag),
}

impl Problem {
    pub(crate) fn new(
        kind: Kind,
        detail: impl Into<String>,
        next: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self(Box::new(Inner {
            kind,
            detail: detail.into(),
            next: Next::Text(next.into()),
            field: None,
            retry_after: None,
            allow: None,
        }))
    }

    #[must_use]
    pub(crate) fn with_field(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(shown(&field.into()).into_owned());
        self
    }

    #[must_use]
    pub(crate) fn with_retry_after(mut self, retry_after: Duration) -> Self {
        self.0.retry_after = Some(retry_after);
        self
    }

    #[must_use]
    pub(crate) fn with_next(mut self, next: Next) -> Self {
        self.0.next = next;
        self
    }

    pub(crate) fn method_not_allowed(allow: &str) -> Self {
        let detail = format!("this path allows {allow}");
        let next = "use one of the methods in Allow";
        let mut problem = Self::new(Kind::METHOD_NOT_ALLOWED, detail, next);
        problem.0.allow = HeaderValue::from_str(allow).ok();
        problem
    }

    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The document, for a request to a path at `host`.
    pub(crate) fn document(
        &self,
        path: &str,
        scheme: &str,
        host: Option<&HeaderValue>,
    ) -> api::Problem {
        let Kind {
            status,
            code,
            title,
        } = self.0.kind;
        api::Problem {
            r#type: format!("urn:leafid:problem:{code}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: self.0.detail.clone(),
            instance: Some(path.to_owned()),
            code: code.to_owned(),
            next: self.0.next.text(scheme, plain(host)),
            field: self.0.field.clone(),
            retry_after_ms: self.0.retry_after.map(milliseconds),
        }
    }

    /// The answer to a request to `uri` at `host`.
    pub(crate) fn answer(&self, uri: &Uri, scheme: &str, host: Option<&HeaderValue>) -> Answer {
        let document = self.document(uri.path(), scheme, host);
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut answer = answer::of(self.0.kind.status, "application/problem+json", body);
        if let Some(retry_after) = self.0.retry_after {
            let headers = answer.headers_mut();
            headers.insert(header::RETRY_AFTER, seconds(retry_after).into());
        }
        if self.0.kind.status == StatusCode::UNAUTHORIZED {
            let headers = answer.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(allow) = &self.0.allow {
            let headers = answer.headers_mut();
            headers.insert(header::ALLOW, allow.clone());
        }
        answer
    }
}

/// For handlers of the router: an empty answer that carries the problem to the code that writes it.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut answer = self.0.kind.status.into_response();
        answer.extensions_mut().insert(self);
        answer
    }
}

impl Next {
    fn text(&self, scheme: &str, host: &str) -> String {
        match self {
            Self::Text(text) => text.clone().into_owned(),
            Self::CreateTag(tag) if tag.check_new().is_err() => {
                "choose a name without invisible characters".to_owned()
            }
            Self::CreateTag(tag) => {
                let body = serde_json::json!({ "tag": tag.as_str() }).to_string();
                let body = body.replace('\'', r"'\''");
                format!(
                    "curl -X POST {scheme}://{host}/v1/tags -H 'content-type: application/json' -d '{body}'"
                )
            }
            Self::ShowTag(tag) => {
                let tag = crate::config::percent_encoded(tag.as_str());
                format!("curl {scheme}://{host}/v1/tags/{tag}")
            }
        }
    }
}

/// The host of the request, if it is safe to quote in a command.
fn plain(host: Option<&HeaderValue>) -> &str {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".:-[]".contains(byte);
    host.filter(|host| !host.is_empty() && host.as_bytes().iter().all(is_plain))
        .and_then(|host| host.to_str().ok())
        .unwrap_or("localhost:8080")
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX)
        .max(1)
}

/// In whole seconds, rounded up: `Retry-After` has no smaller unit.
pub(super) fn seconds(duration: Duration) -> u64 {
    milliseconds(duration).div_ceil(1000).clamp(1, 3600)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that exactly the codes in the code are in the documentation, each with its status.
    #[test]
    fn codes_are_documented() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/http.md");
        let page = std::fs::read_to_string(page).unwrap();
        let of_service = Code::ALL.iter().copied().map(Kind::of);
        let of_http = Kind::OF_HTTP.iter().copied().chain([Kind::TLS_NEEDED]);
        let all: Vec<Kind> = of_http.chain(of_service).collect();
        for kind in &all {
            let row = format!("| {} | `{}` |", kind.status.as_u16(), kind.code);
            assert_eq!(page.matches(&row).count(), 1, "{row} in docs/http.md");
        }
        let rows = page
            .lines()
            .filter(|line| line.starts_with("| 4") || line.starts_with("| 5"));
        assert_eq!(rows.count(), all.len());
    }

    #[test]
    fn a_host_that_could_do_harm_in_a_command_is_left_out() {
        let check = |host: &'static str, expected: &str| {
            assert_eq!(plain(Some(&HeaderValue::from_static(host))), expected);
        };
        check("ids.example:8080", "ids.example:8080");
        check("[::1]:80", "[::1]:80");
        check("x;rm -rf", "localhost:8080");
        check("", "localhost:8080");
        assert_eq!(plain(None), "localhost:8080");
    }

    #[test]
    fn retry_after_is_rounded_up() {
        assert_eq!(seconds(Duration::ZERO), 1);
        assert_eq!(seconds(Duration::from_millis(1001)), 2);
        assert_eq!(seconds(Duration::MAX), 3600);
    }
}
