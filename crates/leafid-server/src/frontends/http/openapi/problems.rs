//! The problems that a call may answer with, so that the description names every status.

use std::collections::BTreeMap;

use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content, Header, OpenApi, Ref, RefOr, Required, Response, ResponseBuilder};

use crate::frontends::http::problem::Kind;

/// The name of the security scheme.
pub(super) const TOKEN: &str = "token";

// Codes of problems that calls have in common.

/// Problems of any call.
const CALL: &str = "bad_path unknown_field foreign_host target_too_long store_unavailable";
/// Problems of a call if tokens are required.
const LOOK: &str = "no_token bad_token not_allowed";
/// Problems of a call that is for admins.
const ADMIN: &str = "no_token bad_token not_admin";
/// Problems of a call that changes something.
const CHANGE: &str = "no_token bad_token not_admin foreign_page undeclared unsupported_media_type";
/// Problems of a body.
const BODY: &str = "bad_json bad_field timeout too_large unsupported_media_type";
/// A parameter with an invalid value.
const PARAMETER: &str = "bad_field";
/// A tag that may not exist.
const TAG: &str = "bad_tag unknown_tag";
/// Problems with the store's row of a tag.
const STORE: &str = "bad_row unsupported";
/// Reasons for which no ids are issued.
const ISSUE: &str = "bad_count foreign_page limit_reached snowflake_tag over_quota bad_row \
                     mode_off not_yet shutting_down overloaded";
/// Reasons for which no snowflake ids are issued.
const SNOWFLAKE: &str = "layout_ended no_worker clock_behind";
/// Worker ids and the clock exist only with snowflake ids.
const WORKER: &str = "mode_off";

/// Reasons for which a worker id is not released.
const RELEASE: &str = "unknown_worker worker_alive worker_held worker_changed";

/// The problems of each call, in groups, in addition to those of any call.
const OF: &[(&str, &[&str])] = &[
    ("get_ids", &[LOOK, PARAMETER, TAG, ISSUE, SNOWFLAKE]),
    ("post_ids", &[LOOK, BODY, TAG, ISSUE, SNOWFLAKE]),
    ("post_ranges", &[LOOK, CHANGE, BODY, TAG, ISSUE]),
    ("decode", &[PARAMETER, "unknown_layout not_of_layout"]),
    ("list_tags", &[LOOK, PARAMETER, STORE, "bad_tag bad_count"]),
    (
        "create_tag",
        &[CHANGE, BODY, STORE, "bad_tag tag_exists snowflake_tag"],
    ),
    ("show_tag", &[LOOK, TAG, STORE]),
    (
        "change_tag",
        &[
            CHANGE,
            BODY,
            TAG,
            STORE,
            "snowflake_tag next_behind limit_reached",
        ],
    ),
    ("delete_tag", &[CHANGE, TAG, STORE]),
    ("show_worker", &[LOOK, WORKER]),
    ("list_workers", &[LOOK, WORKER, STORE]),
    ("release_worker", &[CHANGE, BODY, WORKER, STORE, RELEASE]),
    ("show_clock", &[WORKER]),
    ("accept_clock", &[CHANGE, WORKER, "clock_ahead"]),
    ("list_changes", &[ADMIN, PARAMETER, STORE, "bad_count"]),
    ("list_quotas", &[LOOK]),
    ("set_server_quota", &[CHANGE, BODY]),
    ("remove_server_quota", &[CHANGE]),
    ("set_tag_quota", &[CHANGE, BODY, "bad_tag too_many_quotas"]),
    ("remove_tag_quota", &[CHANGE, "bad_tag"]),
    ("set_token_quota", &[CHANGE, BODY, "unknown_token"]),
    ("remove_token_quota", &[CHANGE, "unknown_token"]),
];

/// Calls whose body is optional.
const WITHOUT_BODY: &[&str] = &["post_ids", "change_tag"];

/// The problems of a call; none for those that answer in another form.
fn of(operation: &str) -> Vec<Kind> {
    let Some((_, groups)) = OF.iter().find(|(name, _)| *name == operation) else {
        return Vec::new();
    };
    let codes = [CALL].into_iter().chain(groups.iter().copied());
    let codes = codes.flat_map(str::split_whitespace);
    codes.filter_map(Kind::named).collect()
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
    if kinds.iter().any(|kind| kind.code == "no_token") {
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
    use super::*;

    #[test]
    fn every_code_is_that_of_a_problem() {
        let groups = OF.iter().flat_map(|(_, groups)| *groups).chain([&CALL]);
        for code in groups.flat_map(|codes| codes.split_whitespace()) {
            assert!(Kind::named(code).is_some(), "{code}");
        }
    }

    /// Guards that every call in the description has its problems.
    #[test]
    fn every_call_of_our_own_names_its_problems() {
        let document = crate::frontends::http::openapi::document::document();
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
