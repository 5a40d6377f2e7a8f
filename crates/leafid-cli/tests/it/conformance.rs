//! Guards the server's conformance with tools of others: Schemathesis checks it against the OpenAPI
//! document, h2spec against the rules of HTTP/2, and promtool the metrics.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use leafid_testbed::{go_build, install_python, run};
use tempfile::tempdir;

use crate::clients::clients;
use crate::server_process::{SECRET, Server};

/// Runs a program to its end, in a folder of its own; returns whether it found nothing, and its
/// output.
fn finish(command: &mut Command) -> (bool, String) {
    let folder = tempdir().unwrap();
    let output = command.current_dir(folder.path()).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    (output.status.success(), printed)
}

/// No schema can say which texts are formats of a tag or ids of some family: those that are not are
/// refused, although they fit the schema.
const NO_SCHEMA: &str = r#"
[checks.negative_data_rejection]
# With 414, which an array in place of a parameter gets: it is too long.
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 414, 415, 422, 428, 429, "5xx"]

[[operations]]
include-name = "POST /v1/tags"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "GET /v1/decode/{id}"
checks.positive_data_acceptance.enabled = false
"#;

/// Runs Schemathesis on all calls but Leaf's own, which answer as Leaf does. The server creates no
/// tag on first use, so that a deleted one stays deleted.
fn check_contract(server: &Server, more: &[&str]) {
    let folder = clients().installed("schemathesis", &[], install_python);
    let mut schemathesis = Command::new(folder.join("bin/schemathesis"));
    let config = folder.join("leafid-operations.toml");
    fs::write(&config, NO_SCHEMA).unwrap();
    schemathesis.arg("--config-file").arg(&config);
    // All checks, which is the default; to name them would win over the file.
    schemathesis.args(["run", "--exclude-tag", "leaf"]);
    // The same requests each time, so that a finding can be reproduced.
    schemathesis.args(["--seed", "1", "--no-color"]).args(more);
    schemathesis.arg(format!("{}/openapi.json", server.url));
    let (found_nothing, printed) = finish(&mut schemathesis);
    assert!(found_nothing, "{printed}");
    assert!(printed.contains(" generated, "), "{printed}");
}

#[test]
fn the_server_is_as_its_openapi_document_says() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &["--create-tags=false"]);
    check_contract(&server, &["--max-examples", "60"]);
    server.stop();
}

/// With the token of an admin, so that what changes something is done.
#[test]
fn the_document_is_true_where_tokens_are_asked_for() {
    let folder = tempdir().unwrap();
    let secret = format!("{SECRET}-of-the-operators-and-more");
    write_access_file(folder.path(), &secret);
    let settings = ["--access-file", "access.toml", "--create-tags=false"];
    let server = Server::start(folder.path(), &settings);
    let header = format!("Authorization: Bearer {secret}");
    check_contract(&server, &["--header", &header, "--max-examples", "30"]);
    server.stop();
}

/// Only its owner may read such a file.
fn write_access_file(folder: &Path, secret: &str) {
    let path = folder.join("access.toml");
    let token = format!("[[token]]\nname = \"ops\"\nsecret = \"{secret}\"\nadmin = true\n");
    fs::write(&path, token).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Guards that promtool accepts the metrics: names, types and units.
#[test]
fn metrics_are_as_prometheus_wants_them() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    for path in ["/v1/tags/order/ids", "/api/snowflake/get/order", "/nothing"] {
        let _any = server.get(path);
    }
    let (status, metrics) = server.get("/metrics");
    assert_eq!(status, 200);
    let file = folder.path().join("metrics");
    fs::write(&file, &metrics).unwrap();
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]);
    promtool.stdin(Stdio::from(File::open(file).unwrap()));
    let (found_nothing, printed) = finish(&mut promtool);
    assert!(found_nothing && printed.is_empty(), "{printed}\n{metrics}");
    server.stop();
}

/// The port speaks HTTP/1.1 too, and answers anything but a preface in that: 400, and the end.
const OF_HTTP: &[&str] = &["Sends invalid connection preface"];

/// The findings of h2spec about gRPC, none of which breaks a rule; DESIGN.md says why.
const OF_GRPC: &[&str] = &[
    // The connection is reset, which h2spec does not count as closed.
    "Sends invalid connection preface",
    // Its requests are not gRPC calls, and are answered without DATA.
    "Sends a WINDOW_UPDATE frame on half-closed (remote) stream",
    "Sends a PRIORITY frame on half-closed (remote) stream",
    // Each is answered before the next is read, so that there are never that many at a time.
    "Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded",
    // The answer is complete before the rest of the request comes.
    "Sends a HEADERS frame with the \"content-length\" header field which does not equal the DATA \
     frame payload length",
    "Sends a HEADERS frame with the \"content-length\" header field which does not equal the sum \
     of the multiple DATA frames payload length",
];

fn install_h2spec(source: &Path, folder: &Path) {
    let mut go = go_build(source);
    go.arg("-o").arg(folder.join("h2spec"));
    run(go.arg("github.com/summerwind/h2spec/cmd/h2spec"));
}

/// The cases of h2spec that fail on a port, with requests for a path, and what it printed.
fn failing(port: &str, path: &str) -> (BTreeSet<String>, String) {
    let folder = clients().installed("h2spec", &[], install_h2spec);
    let mut h2spec = Command::new(folder.join("h2spec"));
    h2spec.args(["-h", "127.0.0.1", "-p", port, "-P", path, "-o", "5"]);
    let (_, printed) = finish(&mut h2spec);
    let summary = printed.lines().rev().find(|line| line.contains(" tests, "));
    let is_whole = summary.is_some_and(|line| line.starts_with("145 "));
    assert!(is_whole, "{printed}");
    let (_, failures) = printed.split_once("Failures:").unwrap_or_default();
    let failed = failures.lines().filter_map(|line| {
        let (_, case) = line
            .trim_start()
            .strip_prefix("\u{d7} ")?
            .split_once(": ")?;
        Some(case.to_owned())
    });
    (failed.collect(), printed)
}

/// Each case must pass, or be known. If a request is answered before its wrong frame arrives, a
/// case fails; so only a case that fails each time counts.
fn check_http2(port: &str, path: &str, known: &[&str]) {
    const RUNS_MAX: usize = 5;
    let (mut failed, mut printed) = failing(port, path);
    for _ in 1..RUNS_MAX {
        failed.retain(|case| !known.contains(&case.as_str()));
        if failed.is_empty() {
            return;
        }
        let again;
        (again, printed) = failing(port, path);
        failed.retain(|case| again.contains(case));
    }
    failed.retain(|case| !known.contains(&case.as_str()));
    assert!(failed.is_empty(), "{failed:?} of {port}: {printed}");
}

#[test]
fn http2_is_spoken_by_its_rules() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let (_, http) = server.url.rsplit_once(':').unwrap();
    // A call that waits for its body, so that it detects what is wrong with it.
    check_http2(http, "/v1/tags/order/ids", OF_HTTP);
    let (_, grpc) = server.greeting.split_once("grpc://127.0.0.1:").unwrap();
    let grpc = grpc.split(|sign: char| !sign.is_ascii_digit()).next();
    check_http2(grpc.unwrap(), "/leafid.v1.Ids/Next", OF_GRPC);
    server.stop();
}
