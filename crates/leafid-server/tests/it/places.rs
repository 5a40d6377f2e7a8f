//! Guards the places of operators: with all others taken, health and administration are answered,
//! and whoever comes for ids is sent away and gives its place up.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use leafid_server::{Config, Limits};

use crate::http2::Http2;
use crate::site::{Site, eventually};

/// A server whose one place for everything is taken.
struct FullSite {
    site: Site,
    /// Who has it.
    _held: TcpStream,
}

impl FullSite {
    fn with(limits: Limits) -> Self {
        let limits = Limits {
            connections_max: 1,
            ..limits
        };
        let site = Site::with(&Config::default(), limits);
        let mut held = site.connect();
        held.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n")
            .unwrap();
        assert!(held.read(&mut [0; 1024]).unwrap() > 0);
        Self { site, _held: held }
    }
}

/// Guards that no route issues ids there, whatever its method, and that all others are answered.
#[test]
fn no_route_issues_ids_to_who_has_a_place_of_operators() {
    let FullSite { site, _held } = FullSite::with(Limits::default());
    for request in [
        "GET /v1/tags/order/ids",
        "HEAD /v1/tags/order/ids",
        "POST /v1/tags/order/ids",
        "POST /v1/tags/order/ranges",
        "PUT /v1/tags/order/ranges",
        "GET /api/segment/get/order",
        "POST /api/segment/get/order",
        "GET /api/segment/get/order/",
        "GET /api/snowflake/get/order",
        "OPTIONS /api/snowflake/get/order",
    ] {
        // It does not ask for the end: the server does.
        let body = r#"{"length":2}"#;
        let head = "host: x\r\ncontent-type: application/json";
        let answer = site.raw(&format!(
            "{request} HTTP/1.1\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        let status = if request.contains("/api/") {
            "500"
        } else {
            "503"
        };
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {answer}"
        );
        assert!(answer.contains("retry-after: 1\r\n"), "{request}: {answer}");
        assert!(
            answer.contains("connection: close\r\n"),
            "{request}: {answer}"
        );
    }
    let create = r#"{"tag":"order"}"#;
    assert_eq!(site.ask_with("POST /v1/tags", create).status, 201);
    for request in ["GET /readyz", "GET /metrics", "GET /v1/tags/order"] {
        assert_eq!(site.ask(request).status, 200, "{request}");
    }
}

/// Guards that over HTTP/2 too who comes for ids gives its place up, with a word of our own: one
/// that opened it in a short peak would be refused for life, and enough of them lock operators out.
#[test]
fn over_http_2_who_comes_for_ids_is_told_to_go() {
    let limits = Limits {
        operator_connections_max: 2,
        ..Limits::default()
    };
    let full = FullSite::with(limits);
    let mut callers = [Http2::connect(&full.site), Http2::connect(&full.site)];
    for caller in &mut callers {
        assert!(caller.is_ok("/readyz"));
        assert!(!caller.is_ok("/v1/tags/order/ids"));
    }
    for caller in &mut callers {
        assert!(caller.is_told_to_go());
    }
    eventually("a place", || full.site.ask("GET /readyz").status == 200);
}
