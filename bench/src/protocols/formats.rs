//! Tags whose ids are texts beside a plain segment tag of the same server, over each protocol.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use crate::contest::{self, Case, Outcome};
use crate::h2load::H2Load;
use crate::load::{Expected, HttpSpeech, Load, RespTextSpeech, Speech};
use crate::serve::{command, create};

use super::Settings;
use super::http::{CONNECTIONS, Leafid, STEP};

const RESP_CONNECTIONS: usize = 50;
const RESP_PIPELINED: [usize; 2] = [1, 16];
const GRPC_CONNECTIONS: usize = 8;
const GRPC_IN_FLIGHT: usize = 32;

/// A tag that is measured. Its name has one letter, so that requests are as long as those of the
/// plain one.
struct TextTag {
    name: &'static str,
    key: &'static str,
    path: &'static str,
    kind: &'static str,
    format: Option<&'static str>,
}

const PLAIN: TextTag = TextTag {
    name: "plain",
    key: "t",
    path: super::http::PATH,
    kind: "segment",
    format: None,
};

const TEXT_TAGS: [TextTag; 4] = [
    TextTag {
        name: "SO-{number width=8 radix=62}",
        key: "r",
        path: "/api/segment/get/r",
        kind: "segment",
        format: Some("SO-{number width=8 radix=62}"),
    },
    TextTag {
        name: "{key}-{opaque radix=62}",
        key: "o",
        path: "/api/segment/get/o",
        kind: "segment",
        format: Some("{key}-{opaque radix=62}"),
    },
    TextTag {
        name: "calendar counter, restart=day",
        key: "c",
        path: "/api/segment/get/c",
        kind: "segment",
        format: Some("{date %Y%m%d}-{number width=10 restart=day}"),
    },
    TextTag {
        name: "uuid7",
        key: "u",
        path: "/api/segment/get/u",
        kind: "uuid7",
        format: None,
    },
];

pub(super) fn run(settings: &Settings) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let keys = folder.path().join("format-keys");
    fs::write(&keys, command(&["format-key"])).expect("a file in a temporary folder");
    fs::set_permissions(&keys, Permissions::from_mode(0o600)).expect("a file of ours");
    let keys = keys.to_str().expect("a plain path");
    let leafid = Leafid::start(&["--format-keys", keys]);
    for tag in &TEXT_TAGS {
        let TextTag { key, kind, .. } = tag;
        let format = tag
            .format
            .map(|format| format!(",\"format\":\"{format}\",\"step\":{STEP}"));
        let format = format.unwrap_or_default();
        let body = format!("{{\"tag\":\"{key}\",\"kind\":\"{kind}\"{format}}}");
        create(leafid.serve.address, "/v1/tags", &body);
        leafid.serve.first_answer(tag.path);
    }
    let length = settings.length(11, Duration::from_secs(1));
    Outcome::print_head();
    let speech = |tag: &TextTag| HttpSpeech::new(tag.path, Expected::texts());
    let mut loads = all().map(|tag| Load::connect(leafid.serve.address, CONNECTIONS, speech(tag)));
    let outcome = closed(&leafid, &mut loads, 1, length);
    outcome.print("GET, own load, 64 connections", None);
    for pipelined in RESP_PIPELINED {
        let speech = |tag: &TextTag| RespTextSpeech::new(tag.key);
        let mut loads =
            all().map(|tag| Load::connect(leafid.serve.resp, RESP_CONNECTIONS, speech(tag)));
        let outcome = closed(&leafid, &mut loads, pipelined, length);
        let work = format!("INCR, {pipelined} pipelined, own load, 50 connections");
        outcome.print(&work, None);
    }
    let h2loads = all().map(|tag| H2Load::new(tag.key.as_bytes()[0]));
    let cases = all().into_iter().zip(&h2loads).map(|(tag, h2load)| {
        let address = leafid.serve.grpc;
        let load = move |time| h2load.run(address, GRPC_CONNECTIONS, GRPC_IN_FLIGHT, time);
        Case::new(tag.name, leafid.serve.process(), load)
    });
    let outcome = contest::run(cases.collect(), length);
    outcome.print("gRPC unary, h2load, 8 connections x 32", None);
}

/// The plain tag first: the others are compared with it.
fn all() -> [&'static TextTag; 5] {
    let [r, o, c, u] = &TEXT_TAGS;
    [&PLAIN, r, o, c, u]
}

fn closed<S: Speech>(
    leafid: &Leafid,
    loads: &mut [Load<S>],
    pipelined: usize,
    length: contest::Length,
) -> Outcome {
    let process = leafid.serve.process();
    let cases = all()
        .into_iter()
        .zip(&mut *loads)
        .map(|(tag, load)| Case::new(tag.name, process, move |time| load.closed(pipelined, time)));
    let outcome = contest::run(cases.collect(), length);
    for (tag, load) in all().into_iter().zip(loads) {
        let speech = load.speech();
        let wrong = (speech.expected().failures(), speech.expected().repeated());
        assert_eq!(wrong, (0, 0), "{}: failures, repeated ids", tag.name);
    }
    outcome
}
