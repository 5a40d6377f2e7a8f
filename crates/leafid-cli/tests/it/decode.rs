//! Guards `leafid decode`, and that the server decodes alike.

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::server_process::{Server, run, until};

#[test]
fn decode_works_without_a_server() {
    let folder = tempdir().unwrap();
    let decode = |words: &[&str]| run(folder.path(), &[&["decode"], words].concat());
    let parts = "time            2019-09-06T01:35:00.834Z\n\
                 worker id       39\n\
                 sequence        3448\n\
                 layout          leaf\n";
    let leaf = ["1169786042799259000", "--layout", "leaf"];
    assert_eq!(decode(&leaf).ok(), parts);
    // Without a layout: the same, and what else it may be.
    let number = decode(&leaf[..1]).ok();
    let readings = number.strip_prefix(parts).unwrap();
    assert!(readings.starts_with("\n MAY BE "), "{readings}");
    assert!(readings.contains("\n discord "), "{readings}");
    let ulid = decode(&["01ARZ3NDEKTSV4RRFFQ69G5FAV"]).ok();
    assert!(ulid.contains("\n ulid"), "{ulid}");
    assert!(ulid.contains("2016-07-30T23:54:10.259Z"), "{ulid}");
    let early = decode(&["374964732433530880"]).ok();
    let headline = early.lines().take_while(|line| !line.is_empty());
    let marked = headline.filter(|line| line.contains("before the family existed"));
    assert_eq!(marked.count(), 1, "{early}");
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
    decode(&["007"]).check_usage();
    decode(&["007", "--layout", "leaf"]).check_usage();
    decode(&["1", "--layout", "snowflake"]).check_usage();
    let large = ["1169786042799259000", "--layout", "js53"];
    decode(&large).check_failed(2, "at most 9007199254740991", "--layout");
    let beyond = ["18446744073709551615", "--layout", "leaf"];
    decode(&beyond).check_failed(2, "at most 9223372036854775807", "--layout");
    assert!(decode(&beyond[..1]).ok().contains("\n discord "));
    let discord = decode(&["18446744073709551615", "--layout", "discord"]).ok();
    assert!(discord.starts_with("time            2154-"));
    assert!(discord.ends_with("but             its time is in the future\n"));
    let no_tag = ["1", "--data-dir", "x"];
    decode(&no_tag).check_failed(2, "no tag", "--tag");
    decode(&["1", "--tag", "a", "--layout", "leaf"]).check_usage();
}

#[test]
fn decode_prints_the_json_of_the_server() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    // With it, the server knows the rows of the registry.
    until("a worker id", || {
        (server.get("/api/snowflake/get/x").0 == 200).then_some(())
    });
    let check = |id: &str, layout: &str, expected: Value| {
        let printed = run(folder.path(), &["decode", id, "--layout", layout, "--json"]).json();
        assert_eq!(printed, expected);
        let url = format!("{}/v1/decode/{id}?layout={layout}", server.url);
        let text = ureq::get(&url).call().unwrap().into_body().read_to_string();
        let mut answered: Value = serde_json::from_str(&text.unwrap()).unwrap();
        // Only a server knows worker ids, and a new one none of these.
        let marks = answered["marks"].take();
        let unknown = json!(["the registry has no row for its worker id"]);
        let expected_marks = if layout == "leaf" { unknown } else { json!([]) };
        assert_eq!(marks, expected_marks);
        answered["marks"] = json!([]);
        assert_eq!(answered, expected);
    };
    let leaf = json!({
        "id": "1169786042799259000", "layout": "leaf", "time": "2019-09-06T01:35:00.834Z",
        "unix_ms": "1567733700834", "tick": "278898726177", "worker_id": 39, "sequence": "3448",
        "marks": [],
    });
    check("1169786042799259000", "leaf", leaf);
    let twitter = json!({
        "id": "4329472", "layout": "twitter", "time": "2010-11-04T01:42:54.658Z",
        "unix_ms": "1288834974658", "tick": "1", "worker_id": 33, "data_center": 1,
        "worker_in_data_center": 1, "sequence": "0", "marks": [],
    });
    check("4329472", "twitter", twitter);
}

/// Guards that a tag decodes its ids alike on a server and on the store alone, and no others.
#[test]
fn ids_are_decoded_by_their_tag() {
    let folder = tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let format = "SO-{number width=6}{check damm}";
    let create = [
        "tag",
        "create",
        "invoice",
        "--format",
        format,
        "--data-dir",
        data,
    ];
    run(folder.path(), &create).ok();
    let next = ["next", "invoice", "--data-dir", data];
    let id = run(folder.path(), &next).ok();
    let id = id.trim();
    let on_store = ["decode", id, "--tag", "invoice", "--data-dir", data];
    let by_store = run(folder.path(), &on_store).ok();
    assert_eq!(by_store, "tag             invoice\nnumber          1\n");
    let json = run(folder.path(), &[&on_store[..], &["--json"]].concat()).json();
    let expected = json!({"id": id, "tag": "invoice", "number": "1", "parts": {}, "marks": []});
    assert_eq!(json, expected);
    let other = [
        "decode",
        "SO-0000019",
        "--tag",
        "invoice",
        "--data-dir",
        data,
    ];
    run(folder.path(), &other).check_failed(2, "not an id of the tag invoice", "as it was issued");

    let server = Server::start(folder.path(), &["--data-dir", data]);
    let on_server = ["decode", id, "--tag", "invoice", "--server", &server.url];
    assert_eq!(run(folder.path(), &on_server).ok(), by_store);
    let other = [
        "decode",
        "SO-0000019",
        "--tag",
        "invoice",
        "--server",
        &server.url,
    ];
    run(folder.path(), &other).check_failed(1, "invoice", "");
}
