//! Guards `leafid decode`, and that the server decodes alike.

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::server_process::{Server, run};

#[test]
fn decode_works_without_a_server() {
    let folder = tempdir().unwrap();
    let decode = |words: &[&str]| run(folder.path(), &[&["decode"], words].concat());
    assert_eq!(
        decode(&["1169786042799259000"]).ok(),
        "time            2019-09-06T01:35:00.834Z\n\
         worker id       39\n\
         sequence        3448\n\
         layout          leaf\n"
    );
    let twitter = decode(&["1541815603606036480", "--layout", "twitter"]).ok();
    assert!(
        twitter.contains("data center     11\nworker in it    26\n"),
        "{twitter}"
    );
    let handbook = [
        "660125991150026752",
        "--layout",
        "leaf@2015-01-01T00:00:00+08:00",
    ];
    let handbook = decode(&handbook).ok();
    assert!(
        handbook.starts_with("time            2019-12-27T06:25:00.838Z\n"),
        "{handbook}"
    );
    assert!(
        handbook.ends_with("leaf@2014-12-31T16:00:00Z\n"),
        "{handbook}"
    );
}

#[test]
fn decode_refuses_what_is_no_id_of_the_layout() {
    let folder = tempdir().unwrap();
    let decode = |words: &[&str]| run(folder.path(), &[&["decode"], words].concat());
    decode(&["x"]).check_usage();
    decode(&["18446744073709551616"]).check_usage();
    decode(&["1", "--layout", "snowflake"]).check_usage();
    let large = ["1169786042799259000", "--layout", "js53"];
    decode(&large).check_failed(2, "at most 9007199254740991", "--layout");
    decode(&["18446744073709551615"]).check_failed(2, "at most 9223372036854775807", "--layout");
    let discord = ["18446744073709551615", "--layout", "discord"];
    assert!(decode(&discord).ok().starts_with("time            2154-"));
}

#[test]
fn decode_prints_the_json_of_the_server() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let check = |id: &str, layout: &str, expected: Value| {
        let printed = run(folder.path(), &["decode", id, "--layout", layout, "--json"]).json();
        assert_eq!(printed, expected);
        let url = format!("{}/v1/decode/{id}?layout={layout}", server.url);
        let text = ureq::get(&url).call().unwrap().into_body().read_to_string();
        let answered: Value = serde_json::from_str(&text.unwrap()).unwrap();
        assert_eq!(answered, expected);
    };
    let leaf = json!({
        "id": "1169786042799259000", "layout": "leaf", "time": "2019-09-06T01:35:00.834Z",
        "unix_ms": "1567733700834", "tick": "278898726177", "worker_id": 39, "sequence": "3448",
    });
    check("1169786042799259000", "leaf", leaf);
    let twitter = json!({
        "id": "4329472", "layout": "twitter", "time": "2010-11-04T01:42:54.658Z",
        "unix_ms": "1288834974658", "tick": "1", "worker_id": 33, "data_center": 1,
        "worker_in_data_center": 1, "sequence": "0",
    });
    check("4329472", "twitter", twitter);
}
