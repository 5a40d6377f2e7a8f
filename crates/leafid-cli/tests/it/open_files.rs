//! Guards that connections leave open files for what the server needs itself, and that one address
//! leaves connections for others.

use std::net::TcpStream;

use tempfile::tempdir;

use crate::server_process::{Server, until};

/// With this few files a flood of connections made the journal fail for good: it could not be
/// opened.
#[test]
fn a_flood_of_connections_leaves_files_for_the_journal() {
    let folder = tempdir().unwrap();
    let server = Server::start_limited(folder.path(), "-n 300", &[]);
    let log = server.log();
    assert!(log.contains("the limit on open files is too low"), "{log}");
    assert_eq!(server.get("/api/snowflake/get/order").0, 200);
    let written = || {
        std::fs::metadata(folder.path().join("leafid-data/worker.journal"))
            .and_then(|journal| journal.modified())
            .unwrap()
    };
    let flood: Vec<_> = (0..400)
        .map(|_| TcpStream::connect(server.address()))
        .collect();
    assert!(flood.iter().all(Result::is_ok));
    let before = written();
    for round in 0..2 {
        until("the journal, written again", || {
            // The time in ids advances only while the journal is written.
            let (status, body) = server.get("/api/snowflake/get/order");
            assert_eq!(status, 200, "{round}: {body}: {}", server.log());
            (written() != before).then_some(())
        });
    }
    // A tag that was never used needs the store.
    assert_eq!(server.get("/v1/tags/new/ids").0, 200);
    assert!(!server.log().contains("journal"), "{}", server.log());
    drop(flood);
    server.stop();
}
