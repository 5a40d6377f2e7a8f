//! Rules about who may call whom.

use super::{Finding, SourceFile};

/// The crates in which a call to a store would be somebody's side way.
const GUARDED: [&str; 3] = [
    "crates/leafid/src/",
    "crates/leafid-server/src/",
    "crates/leafid-cli/src/",
];
/// The only callers of a store: the driver's side of a tag, tags as things, the registry of worker
/// ids, and the server's watched store, which passes calls on.
const STORE_CALLERS: [&str; 14] = [
    "crates/leafid/src/allocator/load.rs",
    "crates/leafid/src/allocator/refill.rs",
    "crates/leafid/src/catalog.rs",
    "crates/leafid/src/catalog/raise.rs",
    "crates/leafid/src/driver/probe.rs",
    "crates/leafid/src/registry.rs",
    "crates/leafid/src/registry/calls.rs",
    "crates/leafid/src/registry/claim.rs",
    "crates/leafid/src/registry/clock_check.rs",
    "crates/leafid/src/registry/release.rs",
    "crates/leafid/src/registry/retrying_store.rs",
    "crates/leafid/src/registry/row_read.rs",
    "crates/leafid/src/registry/start.rs",
    "crates/leafid-server/src/ops/instrumented_store.rs",
];
/// The methods of `SegmentStore` and of `LeaseStore`.
const STORE_METHODS: [&str; 14] = [
    "reserve", "read", "list", "create", "update", "delete", "inspect", "probe", "bind", "lease",
    "leases", "swap", "report", "clock_ms",
];

/// Only the driver calls a store, because only there calls are bounded, counted and repeated.
pub(super) fn store_callers(file: &SourceFile) -> Vec<Finding> {
    let is_guarded = GUARDED.iter().any(|folder| file.path.starts_with(folder));
    let is_store = file.path.starts_with("crates/leafid/src/store");
    if !is_guarded || is_store || STORE_CALLERS.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let patterns = STORE_METHODS.iter().flat_map(|method| {
        [
            format!("store.{method}("),
            format!("store().{method}("),
            format!("store()?.{method}("),
            format!("SegmentStore::{method}"),
            format!("LeaseStore::{method}"),
        ]
    });
    let message = "only allocator/load.rs, allocator/refill.rs, catalog.rs, catalog/raise.rs, \
                   driver/probe.rs and registry/ of leafid call a store: go through Generators or \
                   WorkerRegistry";
    patterns
        .flat_map(|pattern| file.code.lines_with(&pattern))
        .filter(|line| !file.is_test(*line))
        .map(|line| Finding::new(&file.path, line, message))
        .collect()
}

/// The front ends of the server.
const FRONT_ENDS: [&str; 3] = ["http", "grpc", "resp"];

/// A front end translates a protocol; what is done is decided behind `Service`.
pub(super) fn front_ends(file: &SourceFile) -> Vec<Finding> {
    let is_front_end = FRONT_ENDS.iter().any(|front_end| {
        let front_end = format!("crates/leafid-server/src/frontends/{front_end}");
        file.path.starts_with(&format!("{front_end}/")) || file.path == format!("{front_end}.rs")
    });
    if !is_front_end {
        return Vec::new();
    }
    words_found(
        file,
        &["leafid_stores", "Generators", "SegmentStore"],
        "a front end calls only Service: move this behind it",
    )
}

/// `Service` is the same behind every front end.
pub(super) fn service(file: &SourceFile) -> Vec<Finding> {
    let service = "crates/leafid-server/src/service";
    let is_service = file.path == format!("{service}.rs");
    if !is_service && !file.path.starts_with(&format!("{service}/")) {
        return Vec::new();
    }
    words_found(
        file,
        &["axum", "hyper", "hyper_util", "http", "tower_http", "tonic"],
        "Service knows no protocol: translate in the front end",
    )
}

fn words_found(file: &SourceFile, words: &[&str], message: &str) -> Vec<Finding> {
    words
        .iter()
        .flat_map(|word| file.code.lines_with_word(word))
        .filter(|line| !file.is_test(*line))
        .map(|line| Finding::new(&file.path, line, message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn only_the_driver_calls_a_store() {
        let call = "//! x\nfn f() {\n    self.shared()\n        .store\n        .read(&tags)\n}\n";
        check_rule(store_callers, "crates/leafid/src/generators.rs", call, &[4]);
        check_rule(store_callers, "crates/leafid/src/catalog.rs", call, &[]);
        let qualified = "SegmentStore::reserve(&*s, &r)";
        check_rule(
            store_callers,
            "crates/leafid-cli/src/next.rs",
            qualified,
            &[1],
        );
        let lease = "store()?.leases()";
        check_rule(store_callers, "crates/leafid/src/snowflake.rs", lease, &[1]);
        check_rule(store_callers, "crates/leafid/src/registry.rs", lease, &[]);
        let getter = "service.store().inspect()";
        check_rule(
            store_callers,
            "crates/leafid-server/src/service/health.rs",
            getter,
            &[1],
        );
        let harmless = "/// store.read(x)\nrestore.read(x);\nstore.clone();";
        check_rule(store_callers, "crates/leafid/src/driver.rs", harmless, &[]);
        let in_test = "//! x\n#[cfg(test)]\nmod tests { fn f() { store.create(&spec); } }";
        check_rule(store_callers, "crates/leafid/src/driver.rs", in_test, &[]);
    }

    #[test]
    fn front_ends_call_only_the_service() {
        let bad = "use leafid_stores::open;\nuse leafid::{Generators, Id};\n";
        check_rule(
            front_ends,
            "crates/leafid-server/src/frontends/http/tags.rs",
            bad,
            &[1, 2],
        );
        check_rule(
            front_ends,
            "crates/leafid-server/src/frontends/http.rs",
            bad,
            &[1, 2],
        );
        check_rule(front_ends, "crates/leafid-server/src/service.rs", bad, &[]);
        let good = "use crate::service::Service; // not Generators\n";
        check_rule(
            front_ends,
            "crates/leafid-server/src/frontends/http/tags.rs",
            good,
            &[],
        );
    }

    #[test]
    fn the_service_knows_no_protocol() {
        let bad = "use axum::Json;\nfn f(status: http::StatusCode) {}\n";
        check_rule(service, "crates/leafid-server/src/service.rs", bad, &[1, 2]);
        check_rule(
            service,
            "crates/leafid-server/src/service/tags.rs",
            bad,
            &[1, 2],
        );
        check_rule(
            service,
            "crates/leafid-server/src/frontends/http.rs",
            bad,
            &[],
        );
    }
}
