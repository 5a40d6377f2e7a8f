//! The problems that a call may answer with, so that the description names every status.

use std::collections::BTreeMap;

use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content, Header, OpenApi, Ref, RefOr, Required, Response, ResponseBuilder};

use crate::frontends::http::problem::Kind;
use crate::service::Code;

/// The name of the security scheme.
pub(super) const TOKEN: &str = "token";

/// Problems of any call.
const CALL: &[Kind] = &[
    Kind::BAD_PATH,
    Kind::UNKNOWN_FIELD,
    Kind::FOREIGN_HOST,
    Kind::TARGET_TOO_LONG,
    Kind::of(Code::StoreUnavailable),
];
/// Problems of a call if tokens are required.
const LOOK: &[Kind] = &[
    Kind::of(Code::NoToken),
    Kind::of(Code::BadToken),
    Kind::of(Code::NotAllowed),
];
/// Problems of a call that is for admins.
const ADMIN: &[Kind] = &[
    Kind::of(Code::NoToken),
    Kind::of(Code::BadToken),
    Kind::of(Code::NotAdmin),
];
/// Problems of a call that changes something.
const CHANGE: &[Kind] = &[
    Kind::of(Code::NoToken),
    Kind::of(Code::BadToken),
    Kind::of(Code::NotAdmin),
    Kind::FOREIGN_PAGE,
    Kind::UNDECLARED,
    Kind::UNSUPPORTED_MEDIA_TYPE,
];
/// Problems of a body.
const BODY: &[Kind] = &[
    Kind::BAD_JSON,
    Kind::BAD_FIELD,
    Kind::TIMEOUT,
    Kind::TOO_LARGE,
    Kind::UNSUPPORTED_MEDIA_TYPE,
];
/// A parameter with an invalid value.
const PARAMETER: &[Kind] = &[Kind::BAD_FIELD];
/// A tag that may not exist.
const TAG: &[Kind] = &[Kind::BAD_TAG, Kind::of(Code::UnknownTag)];
/// Problems with the store's row of a tag.
const STORE: &[Kind] = &[Kind::of(Code::BadRow), Kind::of(Code::Unsupported)];
/// Reasons for which no ids are issued.
const ISSUE: &[Kind] = &[
    Kind::of(Code::BadCount),
    Kind::FOREIGN_PAGE,
    Kind::of(Code::LimitReached),
    Kind::of(Code::OverQuota),
    Kind::of(Code::BadRow),
    Kind::of(Code::ModeOff),
    Kind::of(Code::NotYet),
    Kind::of(Code::ShuttingDown),
    Kind::of(Code::Overloaded),
];
/// Reasons for which no snowflake ids are issued.
const SNOWFLAKE: &[Kind] = &[
    Kind::of(Code::LayoutEnded),
    Kind::of(Code::NoWorker),
    Kind::of(Code::ClockBehind),
];
/// Worker ids and the clock exist only with snowflake ids.
const WORKER: &[Kind] = &[Kind::of(Code::ModeOff)];

/// Reasons for which a worker id is not released.
const RELEASE: &[Kind] = &[
    Kind::of(Code::UnknownWorker),
    Kind::of(Code::WorkerAlive),
    Kind::of(Code::WorkerHeld),
    Kind::of(Code::WorkerChanged),
];

/// The problems of each call, in groups, in addition to those of any call.
const OF: &[(&str, &[&[Kind]])] = &[
    ("get_ids", &[LOOK, PARAMETER, TAG, ISSUE, SNOWFLAKE]),
    ("post_ids", &[LOOK, BODY, TAG, ISSUE, SNOWFLAKE]),
    (
        "post_ranges",
        &[LOOK, CHANGE, BODY, TAG, ISSUE, &[Kind::SNOWFLAKE_TAG]],
    ),
    (
        "decode",
        &[PARAMETER, &[Kind::UNKNOWN_LAYOUT, Kind::NOT_OF_LAYOUT]],
    ),
    (
        "list_tags",
        &[
            LOOK,
            PARAMETER,
            STORE,
            &[Kind::BAD_TAG, Kind::of(Code::BadCount)],
        ],
    ),
    (
        "create_tag",
        &[
            CHANGE,
            BODY,
            STORE,
            &[Kind::BAD_TAG, Kind::of(Code::TagExists)],
        ],
    ),
    ("show_tag", &[LOOK, TAG, STORE]),
    (
        "change_tag",
        &[
            CHANGE,
            BODY,
            TAG,
            STORE,
            &[Kind::SNOWFLAKE_TAG, Kind::of(Code::NextBehind)],
        ],
    ),
    ("delete_tag", &[CHANGE, TAG, STORE]),
    ("show_worker", &[LOOK, WORKER]),
    ("list_workers", &[LOOK, WORKER, STORE]),
    ("release_worker", &[CHANGE, BODY, WORKER, STORE, RELEASE]),
    ("show_clock", &[WORKER]),
    (
        "accept_clock",
        &[CHANGE, WORKER, &[Kind::of(Code::ClockAhead)]],
    ),
    (
        "list_changes",
        &[ADMIN, PARAMETER, STORE, &[Kind::of(Code::BadCount)]],
    ),
    ("list_quotas", &[LOOK]),
    ("set_server_quota", &[CHANGE, BODY]),
    ("remove_server_quota", &[CHANGE]),
    (
        "set_tag_quota",
        &[
            CHANGE,
            BODY,
            &[Kind::BAD_TAG, Kind::of(Code::TooManyQuotas)],
        ],
    ),
    ("remove_tag_quota", &[CHANGE, &[Kind::BAD_TAG]]),
    (
        "set_token_quota",
        &[CHANGE, BODY, &[Kind::of(Code::UnknownToken)]],
    ),
    (
        "remove_token_quota",
        &[CHANGE, &[Kind::of(Code::UnknownToken)]],
    ),
];

/// Calls whose body is optional.
const WITHOUT_BODY: &[&str] = &["post_ids", "change_tag"];

/// The problems of a call; none for those that answer in another form.
fn of(operation: &str) -> Vec<Kind> {
    let found = OF.iter().find(|(name, _)| *name == operation);
    found.map_or_else(Vec::new, |(_, groups)| [CALL, &groups.concat()].concat())
}

/// Adds to each call the problems that it may answer with, and whether it needs a token and a body.
pub(super) fn describe(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
            &mut item.patch,
        ];
        for operation in operations.into_iter().flatten() {
            describe_one(operation);
        }
    }
}

fn describe_one(operation: &mut Operation) {
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        let is_needed = !WITHOUT_BODY.contains(&operation.operation_id.as_deref().unwrap_or(""));
        body.required = Some(if is_needed {
            Required::True
        } else {
            Required::False
        });
    }
    let kinds = of(operation.operation_id.as_deref().unwrap_or_default());
    if kinds.contains(&Kind::of(Code::NoToken)) {
        let with_token = SecurityRequirement::new(TOKEN, [""; 0]);
        operation.security = Some(vec![with_token, SecurityRequirement::default()]);
    }
    let mut by_status: BTreeMap<u16, Vec<Kind>> = BTreeMap::new();
    for kind in kinds {
        let those = by_status.entry(kind.status.as_u16()).or_default();
        if !those.contains(&kind) {
            those.push(kind);
        }
    }
    for (status, kinds) in by_status {
        let responses = &mut operation.responses.responses;
        responses.insert(status.to_string(), RefOr::T(response(status, &kinds)));
    }
}

fn response(status: u16, kinds: &[Kind]) -> Response {
    let lines = kinds
        .iter()
        .map(|kind| format!("`{}`: {}", kind.code, kind.title));
    let document = Content::new(Some(Ref::from_schema_name("Problem")));
    let response = ResponseBuilder::new()
        .description(lines.collect::<Vec<_>>().join("\n\n"))
        .content("application/problem+json", document);
    match status {
        401 => response.header("WWW-Authenticate", authenticate()),
        429 | 503 => response.header("Retry-After", retry_after()),
        _ => response,
    }
    .build()
}

fn authenticate() -> Header {
    let bearer = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(["Bearer"]));
    header(bearer, "how to authenticate")
}

fn retry_after() -> Header {
    let seconds = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1_usize))
        .maximum(Some(3600_usize));
    header(seconds, "when to try again, in seconds, if that is known")
}

pub(super) fn header(schema: ObjectBuilder, description: &str) -> Header {
    let mut header = Header::new(schema);
    header.description = Some(description.to_owned());
    header
}

#[cfg(test)]
mod tests {
    /// Guards that every call in the description has its problems.
    #[test]
    fn every_call_of_our_own_names_its_problems() {
        let document = crate::frontends::http::openapi::document();
        let described = serde_json::to_value(document).unwrap();
        for (path, item) in described["paths"].as_object().unwrap() {
            for (method, call) in item.as_object().unwrap() {
                let has = call["responses"].get("503").is_some();
                let is_own = path.starts_with("/v1/");
                assert!(has == is_own || path == "/readyz", "{method} {path}");
                assert!(
                    call["responses"].get("default").is_none(),
                    "{method} {path}"
                );
            }
        }
    }
}
