//! Guards that whoever gives a tag a format is told what its texts are not good for.

use serde_json::{Value, json};

use crate::formats::create;
use crate::grpc::Line;
use crate::grpc::v1::{CreateTagRequest, GetTagRequest, ListTagsRequest, Tag};

const UNREADABLE: &str = "texts of this format cannot be decoded to their numbers";
const MAY_REPEAT: &str =
    "texts of this format may repeat: no number is in them, so nothing makes them unique";
const NARROW: &str = "a server whose worker id is above 9, which {worker} has no room for, issues \
    nothing of this tag, and there are worker ids up to 1023";
const FORMATS: [(&str, &[&str]); 6] = [
    ("{number radix=62}", &[]),
    ("{uuid8}", &[]),
    ("{uuid5 namespace=url}", &[UNREADABLE]),
    ("{worker width=4}-{number}", &[]),
    ("{worker width=1}-{number}", &[NARROW]),
    ("{may_repeat}{date %Y%m%d}{random 6}", &[MAY_REPEAT]),
];

#[test]
fn http_warns_of_formats_that_cannot_be_read_or_may_repeat() {
    let line = Line::new();
    for (at, (format, warnings)) in FORMATS.into_iter().enumerate() {
        let tag = format!("tag{at}");
        let created = create(&line.server, &json!({"tag": tag, "format": format}));
        let wanted = match warnings {
            [] => Value::Null,
            _ => json!(warnings),
        };
        assert_eq!(created["warnings"], wanted, "{format}");
        let shown = line.server.ask(&format!("GET /v1/tags/{tag}")).json();
        assert_eq!(shown["warnings"], wanted, "{format}");
    }
    let listed = line.server.ask("GET /v1/tags").body;
    assert!(!listed.contains("warnings"), "{listed}");
}

/// Guards that a tag that is made again with a lower limit does not end without a word.
#[test]
fn a_tag_without_numbers_is_created_with_a_warning() {
    let line = Line::new();
    create(&line.server, &json!({"tag": "order", "start": "113"}));
    assert_eq!(line.server.ask("DELETE /v1/tags/order").status, 204);
    let created = create(&line.server, &json!({"tag": "order", "limit": "50"}));
    let warning = "it issues nothing: its next number would be 113, and its limit is 50";
    assert_eq!(created["warnings"], json!([warning]));
}

/// Guards that a tag is not created with a first id that it could never issue.
#[test]
fn a_tag_does_not_start_beyond_its_end() {
    let line = Line::new();
    for (tag, limit, format, start, last) in [
        ("few", "5", json!(null), "6", "5"),
        ("short", "int64", json!("{number width=3}"), "1000", "999"),
    ] {
        let body =
            |start: &str| json!({"tag": tag, "limit": limit, "format": format, "start": start});
        let refused = body(start).to_string();
        let problem = line
            .server
            .check_problem("POST /v1/tags", &refused, 400, "bad_field");
        assert_eq!(problem["field"], "start");
        let wanted = format!("must be at most {last}");
        assert!(
            problem["detail"].as_str().unwrap().contains(&wanted),
            "{problem}"
        );
        create(&line.server, &body(last));
        let only = line.server.ask(&format!("GET /v1/tags/{tag}/ids")).json();
        assert_eq!(only["ids"], json!([last]));
    }
}

#[test]
fn grpc_warns_of_formats_that_cannot_be_read_or_may_repeat() {
    let line = Line::new();
    for (at, (format, warnings)) in FORMATS.into_iter().enumerate() {
        let name = format!("tag{at}");
        let tag = Tag {
            name: name.clone(),
            format: format.to_owned(),
            kind: 1,
            ..Tag::default()
        };
        let request = CreateTagRequest {
            tag: Some(tag),
            start: 0,
        };
        let created = line.run(line.tags().create_tag(request)).unwrap();
        assert_eq!(created.into_inner().warnings, warnings, "{format}");
        let shown = line.run(line.tags().get_tag(GetTagRequest { name }));
        assert_eq!(shown.unwrap().into_inner().warnings, warnings, "{format}");
    }
    let listed = line.run(line.tags().list_tags(ListTagsRequest::default()));
    let listed = listed.unwrap().into_inner().tags;
    assert!(listed.iter().all(|tag| tag.warnings.is_empty()));
}
