//! A tag of each family, as a user makes it with the command and takes its ids with the clients at
//! hand: curl, redis-cli, and curl again for gRPC.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use leafid::Family;
use leafid_testbed::run as output;
use tempfile::tempdir;

use crate::server_process::{Server, run};

/// The id that gRPC's `Next` answers, called by curl.
fn over_grpc(server: &Server, folder: &Path, tag: &str) -> String {
    // A message: not compressed, its length, and the string in field 1.
    let length = u8::try_from(tag.len()).unwrap();
    let request = [&[0, 0, 0, 0, length + 2, 0x0a, length][..], tag.as_bytes()].concat();
    let (sent, received) = (folder.join("request"), folder.join("answer"));
    fs::write(&sent, request).unwrap();
    let url = format!(
        "http://127.0.0.1:{}/leafid.v1.Ids/Next",
        server.port("grpc")
    );
    let body = format!("@{}", sent.display());
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--fail", "--http2-prior-knowledge", &url]);
    curl.args(["--header", "content-type: application/grpc"]);
    curl.args(["--header", "te: trailers", "--data-binary", &body]);
    output(curl.arg("--output").arg(&received));
    let answer = fs::read(&received).unwrap();
    // The string in field 2 is all there is.
    assert_eq!(
        (answer[5], usize::from(answer[6])),
        (0x12, answer.len() - 7)
    );
    String::from_utf8(answer[7..].to_vec()).unwrap()
}

/// Guards that each family is made by one command, and that all front ends and the command answer
/// ids of it, which the command decodes.
#[test]
fn a_tag_of_each_family_is_made_by_a_command_and_drawn_by_every_front_end() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &["--data-dir", "ids"]);
    let leafid =
        |words: &[&str]| run(folder.path(), &[words, &["--server", &server.url]].concat()).ok();
    for family in Family::ALL {
        let name = family.name();
        leafid(&["tag", "create", name, "--kind", name]);
        let (_, leaf) = server.get(&format!("/api/segment/get/{name}"));
        let (_, own) = server.get(&format!("/v1/tags/{name}/ids"));
        let own: serde_json::Value = serde_json::from_str(&own).unwrap();
        let port = server.port("redis").to_string();
        let mut redis = Command::new("redis-cli");
        let redis = output(redis.args(["-p", &port, "INCR", name]));
        let mut all = vec![
            leaf,
            own["ids"][0].as_str().unwrap().to_owned(),
            redis.trim().to_owned(),
            over_grpc(&server, folder.path(), name),
        ];
        let taken = leafid(&["next", name, "-n", "3"]);
        all.extend(taken.lines().map(str::to_owned));
        let distinct: BTreeSet<&String> = all.iter().collect();
        assert_eq!((all.len(), distinct.len()), (7, 7), "{all:?}");
        for id in &all {
            // One NanoID in 64 begins with a hyphen.
            let decode = ["decode", "--tag", name, "--server", &server.url, "--", id];
            let decoded = run(folder.path(), &decode).ok();
            assert!(decoded.contains(name), "{id}: {decoded}");
        }
    }
    server.stop();
}
