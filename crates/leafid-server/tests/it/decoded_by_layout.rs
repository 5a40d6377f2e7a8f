//! Guards what is said about snowflake ids by a server with a layout of its own, and about ids of
//! families with leased worker ids.

use leafid::{Clock as _, Fields, Layout, SystemClock, WorkerId};
use leafid_server::Config;
use serde_json::{Value, json};

use crate::decoded_alike::{HOUR_MS, UNKNOWN, create, decoded, readings, resp, with_snowflakes};
use crate::grpc::Line;
use crate::grpc::v1::DecodeRequest;

const TOO_EARLY: &str = "its time is before the family existed";

fn now_ms() -> i64 {
    i64::try_from(SystemClock::new().wall().as_millis()).unwrap()
}

fn with_layout(layout: Layout) -> Line {
    let mut config = Config::default();
    config.workers.layout = layout;
    Line::to(with_snowflakes(config))
}

fn names(found: &[Value]) -> Vec<&str> {
    let names = found.iter().map(|found| found["name"].as_str().unwrap());
    names.collect()
}

/// Guards that an id of the server's own layout is read as such first, whatever the layout, with its
/// shard; a small number is still a plain one first.
#[test]
fn the_own_layout_comes_first_over_every_protocol() {
    let layout = "time41x1ms/worker6/sequence12/shard4@2026-01-01T00:00:00Z";
    let check = |text: &str, name: &str, small: &[&str]| {
        let layout: Layout = text.parse().unwrap();
        let line = with_layout(layout);
        let own = line.server.service.worker_status().unwrap().lease.unwrap();
        let fields = Fields {
            tick: layout.tick_of(now_ms() - HOUR_MS).unwrap(),
            worker: own.worker,
            sequence: 9,
            shard: layout.shard_max(),
        };
        let id = layout.compose(fields).to_string();
        let found = readings(&line, &id);
        assert_eq!(found[0]["name"], name, "{found:?}");
        assert_eq!(found[0]["marks"], json!([]));
        assert_eq!(found[0]["parts"]["worker"], own.worker.to_string());
        let same = names(&found).iter().filter(|found| **found == name).count();
        assert_eq!(same, 1, "{found:?}");
        assert_eq!(names(&readings(&line, "1000"))[..small.len()], *small);
        found[0].clone()
    };
    let found = check(layout, "snowflake", &["segment"]);
    assert_eq!(found["parts"]["layout"], layout);
    assert_eq!(found["parts"]["shard"], "15");
    check("leaf", "leaf", &["segment"]);
    check("js53", "js53", &["segment"]);
}

/// Guards that what speaks against an id is the same in each of its readings by one layout.
#[test]
fn an_id_has_the_same_marks_everywhere() {
    let line = with_layout(Layout::LEAF);
    create(&line.server, &json!({"tag": "trace", "kind": "snowflake"}));
    let own = line.server.service.worker_status().unwrap().lease.unwrap();
    let fields = Fields {
        tick: 89_396_651_014, // 2013
        worker: own.worker,
        sequence: 0,
        shard: 0,
    };
    let id = Layout::LEAF.compose(fields);
    let marks = json!([TOO_EARLY]);
    let text = id.to_string();
    assert_eq!(decoded(&line, "trace", &text)["marks"], marks);
    let found = readings(&line, &text);
    let leaf = found.iter().find(|found| found["name"] == "leaf").unwrap();
    assert_eq!(leaf["marks"], marks);
    for path in [
        format!("/v1/decode/{id}"),
        format!("/v1/decode/{id}?layout=leaf"),
    ] {
        let found = line.server.ask(&format!("GET {path}")).json();
        assert_eq!(found["marks"], marks, "{path}");
        assert_eq!(found["time"], leaf["time"], "{path}");
    }
    let request = DecodeRequest {
        id: id.get(),
        layout: String::new(),
    };
    let number = line.run(line.ids().decode(request)).unwrap().into_inner();
    assert_eq!(json!(number.marks), marks);
}

/// Guards that a text that only reads as a number when its zeros are dropped is not decoded as one.
#[test]
fn a_number_with_leading_zeros_is_no_id() {
    let line = with_layout(Layout::LEAF);
    create(&line.server, &json!({"tag": "order"}));
    line.server.ask("GET /api/segment/get/order");
    for text in ["007", "00", "0001169786042799259000"] {
        for path in [
            format!("/v1/decode/{text}"),
            format!("/v1/decode/{text}?layout=leaf"),
        ] {
            let path = format!("GET {path}");
            line.server.check_problem(&path, "", 400, "bad_field");
        }
        let found = resp(&line.server, &["ID.DECODE", text]);
        assert_eq!(found["error"], "bad_field", "{text}");
    }
    assert_eq!(decoded(&line, "order", "001"), "bad_field");
    assert_eq!(decoded(&line, "order", "1")["number"], "1");
    let padded = readings(&line, "00038390726480144748");
    assert_eq!(names(&padded), ["tsid"]);
}

/// Guards that a TSID and a CosId are compared with the rows of the registry, which leases their
/// worker ids; with a layout that they cannot have, their node is random, and nothing is said.
#[test]
fn leased_nodes_without_a_row_are_marked() {
    let line = with_layout(Layout::LEAF);
    let own = line.server.service.worker_status().unwrap().lease.unwrap();
    let other = WorkerId::new(own.worker.get() ^ 512);
    let then_ms = u64::try_from(now_ms() - HOUR_MS).unwrap();
    let tsid = |worker: WorkerId| {
        let number = (then_ms - 1_577_836_800_000) << 22 | u64::from(worker.get()) << 12;
        format!("{number:020}")
    };
    let cosid = |worker: WorkerId| {
        let date = jiff::Timestamp::from_millisecond(then_ms.cast_signed()).unwrap();
        let date = date.strftime("%Y%m%d%H%M%S%3f");
        format!("{date}-{:07}-00000", worker.get())
    };
    create(
        &line.server,
        &json!({"tag": "node", "kind": "tsid", "format": "{id form=decimal}"}),
    );
    create(
        &line.server,
        &json!({"tag": "machine", "kind": "cosid", "format": "{id form=friendly}"}),
    );
    for (worker, marks) in [(own.worker, json!([])), (other, json!([UNKNOWN]))] {
        assert_eq!(decoded(&line, "node", &tsid(worker))["marks"], marks);
        assert_eq!(decoded(&line, "machine", &cosid(worker))["marks"], marks);
    }
    let wide = with_layout(Layout::WIDE);
    create(
        &wide.server,
        &json!({"tag": "node", "kind": "tsid", "format": "{id form=decimal}"}),
    );
    assert_eq!(decoded(&wide, "node", &tsid(other))["marks"], json!([]));
}
