//! The description of the API, made from the code: from the macros of utoipa at structs and
//! handlers, from `api/schema.rs`, and from `problems.rs`.

use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use super::problems;
use crate::api::Problem;
use crate::frontends::http::{
    audit, clock, decode, gear, ids, leaf, openapi, probes, quotas, tags, workers,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Leafid",
        description = "Ids that are unique across servers and ascending per tag and server.\n\nErrors are problem documents (RFC 9457) with a stable `code`, except on Leaf's own paths, which answer as Leaf does.\n\nA call of another method answers 405 with `Allow`; a body that is not declared as JSON 415.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "ids", description = "issue ids"),
        (name = "tags", description = "create, change and list sequences of ids"),
        (name = "quotas", description = "how many ids per second this server may issue"),
        (name = "workers", description = "the worker ids of snowflake ids, and the clock"),
        (name = "audit", description = "who changed what"),
        (name = "leaf", description = "Leaf's own API, for callers of Leaf: it answers as Java Leaf does, so only its regular part is described. It accepts every method, answers every error with status 500, and ignores unknown parameters"),
        (name = "gear", description = "the API of ns4_gear_idgen, for its callers: every failure is a 200"),
        (name = "operation", description = "health and metrics"),
    ),
    paths(
        ids::get, ids::post, ids::post_range, decode::show,
        tags::list, tags::create, tags::show, tags::change, tags::delete,
        workers::show, workers::list, workers::release, clock::show, clock::accept,
        quotas::list, quotas::set_server, quotas::remove_server, quotas::set_tag,
        quotas::remove_tag, quotas::set_token, quotas::remove_token, audit::list,
        gear::get_id, leaf::segment, leaf::snowflake, leaf::table::cache, leaf::table::db, leaf::decode,
        probes::livez, probes::readyz, probes::metrics, openapi::openapi_json,
    ),
    components(schemas(Problem)),
)]
struct Api;

pub(super) fn document() -> Document {
    let mut document = Api::openapi();
    let components = document.components.get_or_insert_default();
    let mut token = Http::new(HttpAuthScheme::Bearer);
    token.description = Some(
        "The secret of a token in the access file. A server without an access file requires none."
            .to_owned(),
    );
    components.add_security_scheme(problems::TOKEN, SecurityScheme::Http(token));
    problems::describe(&mut document);
    document
}

/// The text of the description, as the files have it.
fn text() -> String {
    // Serialising to memory does not fail.
    let text = document().to_pretty_json().unwrap_or_default();
    // Characters that are not ASCII only occur in texts, where they may be escaped: some are
    // invisible.
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars().chain(['\n']) {
        match c.is_ascii() {
            true => ascii.push(c),
            false => {
                let mut units = [0; 2];
                let units = c.encode_utf16(&mut units).iter();
                ascii.extend(units.map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::Value;

    use super::*;

    /// `LEAFID_UPDATE=1` rewrites the files.
    #[test]
    fn the_generated_description_is_the_code_s() {
        let made = text();
        let files = ["src/frontends/http/openapi.json", "../../docs/openapi.json"];
        for file in files {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            if std::env::var_os("LEAFID_UPDATE").is_some() {
                fs::write(&path, &made).unwrap();
            }
            let checked_in = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                checked_in == made,
                "{file} is out of date: run cargo xtask codegen"
            );
        }
    }

    /// Guards that the described bounds are those in force.
    #[test]
    fn bounds_are_those_in_force() {
        let description = serde_json::to_value(document()).unwrap();
        let schemas = &description["components"]["schemas"];
        let limits = crate::config::Limits::default();
        let count = &schemas["IdsRequest"]["properties"]["count"]["maximum"];
        assert_eq!(count, &Value::from(limits.count_max));
        let length = &schemas["RangeRequest"]["properties"]["length"]["maximum"];
        assert_eq!(length, &Value::from(limits.range_len_max));
        let rate = &schemas["QuotaRequest"]["properties"]["ids_per_second"]["maximum"];
        assert_eq!(rate, &Value::from(limits.ids_per_second_max));
        let list = description["paths"]["/v1/tags"]["get"]["parameters"]
            .as_array()
            .unwrap();
        let limit = list
            .iter()
            .find(|parameter| parameter["name"] == "limit")
            .unwrap();
        assert_eq!(limit["schema"]["maximum"], Value::from(limits.page_len_max));
        assert_eq!(limit["schema"]["default"], Value::from(limits.page_len));
    }
}
