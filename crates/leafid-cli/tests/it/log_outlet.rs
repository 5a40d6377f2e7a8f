//! Guards that a log which cannot be written, or which no one reads, blocks nothing.

use std::fs::OpenOptions;
use std::io::{self, Read as _};

use tempfile::tempdir;

use crate::server_process::{Server, until};

/// More lines than a pipe takes, each a change that is recorded.
const CHANGES: usize = 1000;

fn check(server: &Server) {
    let quota = |number: usize| {
        let url = format!("{}/v1/quotas/tags/order", server.url);
        let body = serde_json::json!({ "ids_per_second": 1_000_000 + number });
        ureq::put(url).send_json(body).unwrap();
    };
    (0..CHANGES).for_each(quota);
    for path in [
        "/livez",
        "/readyz",
        "/v1/tags/order/ids",
        "/api/snowflake/get/x",
    ] {
        // The first segment of a tag may take longer than a caller waits.
        until(path, || (server.get(path).0 == 200).then_some(()));
    }
}

#[test]
fn a_full_disk_of_the_log_costs_lines_only() {
    let folder = tempdir().unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let server = Server::start_logging_to(folder.path(), full);
    check(&server);
    server.stop();
}

#[test]
fn a_reader_that_closes_costs_lines_only() {
    let folder = tempdir().unwrap();
    let (reader, writer) = io::pipe().unwrap();
    let server = Server::start_logging_to(folder.path(), writer);
    drop(reader);
    check(&server);
    server.stop();
}

#[test]
fn a_reader_that_hangs_gets_all_queued_lines() {
    let folder = tempdir().unwrap();
    let (mut reader, writer) = io::pipe().unwrap();
    let server = Server::start_logging_to(folder.path(), writer);
    check(&server);
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    });
    server.stop();
    let text = reading.join().unwrap();
    let recorded = text.lines().filter(|line| line.contains("quota changed"));
    assert_eq!(recorded.count(), CHANGES);
}
