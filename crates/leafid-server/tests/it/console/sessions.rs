//! Guards sessions of the console: their rights, and that they serve no other site.

use leafid_server::{Config, Limits, TagPattern, TokenScope, TokenSpec};
use serde_json::json;

use super::READS;
use crate::test_server::{Reply, TestServer};

const READER: &str = "the-secret-of-reader";
const ADMIN: &str = "the-secret-of-admin";
const SHOP: &str = "the-secret-of-the-shop";

fn guarded() -> TestServer {
    let mut admin = TokenSpec::new("admin", ADMIN);
    admin.is_admin = true;
    let mut reader = TokenSpec::new("reader", READER);
    reader.scope = TokenScope::Read;
    let mut shop = TokenSpec::new("shop", SHOP);
    shop.tags = vec![TagPattern::new("shop*")];
    let config = Config {
        tokens: vec![admin, reader, shop],
        create_tags: Some(true),
        ..Config::default()
    };
    TestServer::with(&config, Limits::default())
}

/// Sends a request as a page of the server does, with headers of its own besides.
fn ask_from(server: &TestServer, site: &str, cookie: &str, request: &str, body: &str) -> Reply {
    let (method, path) = request.split_once(' ').unwrap();
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n",
        server.address
    );
    for (name, value) in [("sec-fetch-site", site), ("cookie", cookie)] {
        if !value.is_empty() {
            head += &format!("{name}: {value}\r\n");
        }
    }
    head += &format!(
        "content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    Reply::parse(&server.raw(&head))
}

fn ask(server: &TestServer, cookie: &str, request: &str, body: &str) -> Reply {
    ask_from(server, "same-origin", cookie, request, body)
}

/// Logs in; the cookie.
fn log_in(server: &TestServer, secret: &str) -> String {
    let body = json!({ "token": secret }).to_string();
    let reply = ask(server, "", "POST /console/session", &body);
    assert_eq!(reply.status, 200, "{reply:?}");
    let cookie = reply.header("set-cookie");
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(
        attributes,
        "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"
    );
    assert!(!reply.body.contains(secret) && !cookie.contains(secret));
    format!("theme=dark; {pair}")
}

#[test]
fn a_session_has_the_rights_of_its_token() {
    let server = guarded();
    for read in READS {
        let reply = ask(&server, "", read, "");
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (401, &json!("no_token")),
            "{read}"
        );
    }
    let body = json!({ "token": "wrong-wrong-wrong-wrong" }).to_string();
    let refused = ask(&server, "", "POST /console/session", &body);
    assert_eq!((refused.status, refused.header("set-cookie")), (401, ""));
    let (admin, reader) = (log_in(&server, ADMIN), log_in(&server, READER));
    let create = |cookie: &str, tag: &str| {
        ask(
            &server,
            cookie,
            "POST /v1/tags",
            &json!({ "tag": tag }).to_string(),
        )
        .status
    };
    assert_eq!(
        (create(&admin, "shop"), create(&reader, "other")),
        (201, 403)
    );
    for (cookie, name, is_admin) in [(&admin, "admin", true), (&reader, "reader", false)] {
        let session = ask(&server, cookie, "GET /console/session", "").json();
        assert_eq!(
            (&session["token"], &session["admin"]),
            (&json!(name), &json!(is_admin))
        );
        for read in READS {
            assert_eq!(
                ask(&server, cookie, read, "").status,
                200,
                "{read} as {name}"
            );
        }
    }
    let taken = ask(&server, &admin, "POST /v1/tags/shop/ids", "{}");
    assert_eq!((taken.status, &taken.json()["ids"][0]), (200, &json!("1")));
    assert_eq!(
        ask(&server, &admin, "GET /v1/tags/shop/ids", "").status,
        200
    );
    assert_eq!(
        ask(&server, &reader, "POST /v1/tags/shop/ids", "{}").status,
        403
    );
    let ended = ask(&server, &admin, "DELETE /console/session", "");
    assert!(
        ended.header("set-cookie").contains("Max-Age=0"),
        "{ended:?}"
    );
    assert_eq!(
        ask(&server, &admin, "GET /console/overview", "").status,
        401
    );
    // A token that was removed takes its sessions along.
    server
        .service
        .apply_access(&[TokenSpec::new("new", ADMIN)], &[]);
    assert_eq!(
        ask(&server, &reader, "GET /console/overview", "").status,
        401
    );
}

#[test]
fn a_session_serves_no_other_site() {
    let server = guarded();
    let admin = log_in(&server, ADMIN);
    let body = json!({ "tag": "shop" }).to_string();
    for site in ["cross-site", "same-site", "none", ""] {
        let refused = ask_from(&server, site, &admin, "POST /v1/tags", &body);
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (403, &json!("foreign_page")),
            "{site}"
        );
        let login = json!({ "token": ADMIN }).to_string();
        let refused = ask_from(&server, site, "", "POST /console/session", &login);
        assert_eq!(refused.status, 403, "{site}");
        for take in ["POST /v1/tags/shop/ids", "GET /v1/tags/shop/ids"] {
            assert_eq!(
                ask_from(&server, site, &admin, take, "{}").status,
                403,
                "{site} {take}"
            );
        }
        let leaf = ask_from(&server, site, &admin, "GET /api/segment/get/shop", "");
        assert_ne!(leaf.status, 200, "{site}: {leaf:?}");
    }
    assert_eq!(ask(&server, &admin, "POST /v1/tags", &body).status, 201);
}

#[test]
fn a_token_for_some_tags_sees_no_others() {
    let server = guarded();
    let admin = log_in(&server, ADMIN);
    for tag in ["secret-plan", "shop", "shop-2"] {
        let body = json!({ "tag": tag, "limit": "int32" }).to_string();
        assert_eq!(ask(&server, &admin, "POST /v1/tags", &body).status, 201);
        let take = format!("POST /v1/tags/{tag}/ids");
        assert_eq!(ask(&server, &admin, &take, "{}").status, 200);
        let deleted = ask(&server, &admin, &format!("DELETE /v1/tags/{tag}"), "");
        assert_eq!(deleted.status, 204);
        let again = json!({ "tag": tag }).to_string();
        assert_eq!(ask(&server, &admin, "POST /v1/tags", &again).status, 201);
    }
    let shop = log_in(&server, SHOP);
    for read in READS {
        let reply = ask(&server, &shop, read, "");
        assert!(
            !reply.body.contains("secret-plan"),
            "{read}: {}",
            reply.body
        );
    }
    let hidden = ask(&server, &shop, "GET /console/tags/secret-plan", "");
    assert_eq!(hidden.status, 403, "{hidden:?}");
    let live = ask(&server, &shop, "GET /console/live?tag=secret-plan", "");
    assert!(!live.body.contains("\"segments\""), "{}", live.body);
}
