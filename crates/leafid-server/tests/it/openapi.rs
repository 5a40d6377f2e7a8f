//! Guards that the served description and the routes are the same API.

use serde_json::Value;

use crate::test_server::TestServer;

#[test]
fn every_described_call_exists() {
    let server = TestServer::new();
    let served = server.ask("GET /openapi.json");
    assert_eq!(served.header("content-type"), "application/json");
    let description: Value = served.json();
    assert_eq!(served.body, leafid_server::openapi());
    let paths = description["paths"].as_object().unwrap();
    assert!(paths.len() >= 13, "{}", paths.len());
    for (path, methods) in paths {
        for method in methods.as_object().unwrap().keys() {
            let path = path
                .replace("{tag}", "a")
                .replace("{key}", "a")
                .replace("{name}", "a")
                .replace("{id}", "1");
            let request = format!("{} {path}", method.to_uppercase());
            let reply = server.ask(&request);
            let code = serde_json::from_str(&reply.body).unwrap_or(Value::Null)["code"].clone();
            assert!(
                reply.status != 405 && code != "not_found",
                "{request}: {reply:?}"
            );
        }
    }
}
