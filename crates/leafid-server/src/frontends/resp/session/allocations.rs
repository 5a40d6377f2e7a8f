//! Counts the allocations of taking ids: there are none.

use allocation_counter::measure;

use super::tests::TestServer;
use super::*;

/// Feeds an input several times to a session that is warmed up, and counts the allocations.
fn allocations(server: &TestServer, input: &str, ids: usize) -> u64 {
    let mut session = server.front_end.session();
    let mut out = Vec::with_capacity(64 * 1024);
    let mut feed = || {
        out.clear();
        let fed = session.feed(input.as_bytes(), &mut out);
        assert_eq!(fed.consumed, input.len());
        assert!(matches!(fed.then, Then::Read(_)));
        let answers = out.split(|byte| *byte == b'\n').count() - 1;
        assert_eq!(answers, ids);
    };
    feed();
    measure(|| (0..10).for_each(|_| feed())).count_total
}

/// Guards that an id in memory costs no allocation, whether the tag stays the same or changes.
#[test]
fn ids_cost_no_allocation() {
    let server = TestServer::new();
    // From here on memory holds ids of both tags.
    server.ask(&[b"INCR order\r\nINCR user\r\n"]);
    let check = |input: &str, ids: usize| {
        assert_eq!(allocations(&server, input, ids), 0, "{input:?}");
    };
    let incr = "*2\r\n$4\r\nINCR\r\n$5\r\norder\r\n";
    let other = "*2\r\n$4\r\nINCR\r\n$4\r\nuser\r\n";
    check(incr, 1);
    check(&incr.repeat(128), 128);
    check(&format!("{incr}{other}").repeat(64), 128);
    check(
        &"*3\r\n$6\r\nINCRBY\r\n$5\r\norder\r\n$1\r\n1\r\n".repeat(16),
        16,
    );
    check(
        &"*3\r\n$6\r\nINCRBY\r\n$5\r\norder\r\n$1\r\n9\r\n".repeat(16),
        16,
    );
    check(&"*2\r\n$7\r\nID.NEXT\r\n$5\r\norder\r\n".repeat(16), 32);
    check("*2\r\n$3\r\nGET\r\n$5\r\norder\r\n", 2);
    check("*1\r\n$4\r\nPING\r\n", 1);
}

/// Guards that allocations are counted: an unknown command makes some.
#[test]
fn allocations_are_seen() {
    assert!(allocations(&TestServer::new(), "FOO a\r\n", 1) > 0);
}
