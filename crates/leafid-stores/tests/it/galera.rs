//! Two Galera nodes, each with callers of its own on the same tags: a commit on one rolls back what
//! the other has under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leafid::store::{SegmentStore, StoreError};
use leafid::{Clock, Segment, SystemClock};
use leafid_stores::{StoreOptions, init};
use leafid_testbed::MariaDb;

use crate::{check_disjoint, create, open_at, tag, url_of, wish};

const TAGS: [&str; 2] = ["order", "user"];
/// This many rolled-back changes are enough.
const CONFLICTS_MIN: u64 = 800;
/// Long enough on any machine.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// Guards that a segment which a node rolled back in favour of the other one's is never issued: the
/// call gets a conflict, and the next try gets a segment of its own.
#[tokio::test(flavor = "multi_thread")]
async fn segments_of_two_galera_nodes_stay_apart() {
    let nodes = MariaDb::start_galera_pair();
    let database = nodes[0].create_database();
    let urls = nodes.each_ref().map(|node| node.url(&database.name));
    init(&url_of(&urls[0]), &StoreOptions::default())
        .await
        .unwrap();
    let stores = [open_at(&urls[0]).await, open_at(&urls[1]).await];
    for name in TAGS {
        create(&*stores[0], name).await;
    }
    let tags = TAGS.map(tag);
    while stores[1].read(&tags).await.unwrap().len() < TAGS.len() {
        // The second node has still to apply what the first one committed.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let conflicts = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let mut callers = Vec::new();
    for tag in TAGS {
        for (node, store) in stores.iter().enumerate() {
            let (store, conflicts) = (Arc::clone(store), Arc::clone(&conflicts));
            callers.push((
                tag,
                tokio::spawn(async move { draw(&*store, tag, node, &conflicts).await }),
            ));
        }
    }
    let mut drawn = TAGS.map(|_| Vec::new());
    for (tag, caller) in callers {
        let segments = caller.await.unwrap();
        assert!(
            segments.len() > 20,
            "a node starves: {} segments",
            segments.len()
        );
        drawn[usize::from(tag == TAGS[1])].extend(segments);
    }
    drawn.into_iter().for_each(check_disjoint);
}

/// Reserves until each node lost often enough.
async fn draw(
    store: &dyn SegmentStore,
    tag: &str,
    node: usize,
    conflicts: &[AtomicU64; 2],
) -> Vec<Segment> {
    let clock = SystemClock::new();
    let end = clock.now() + WAIT_MAX;
    let mut segments = Vec::new();
    let is_enough = || {
        let seen = conflicts.iter().map(|count| count.load(Ordering::Relaxed));
        seen.sum::<u64>() >= CONFLICTS_MIN
    };
    while !is_enough() || segments.len() <= 20 {
        assert!(clock.now() < end, "too few conflicts: {conflicts:?}");
        match store.reserve(&wish(tag, 10)).await {
            Ok(reserved) => segments.push(reserved.segment),
            Err(StoreError::Conflict { .. }) => {
                conflicts[node].fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => panic!("{}", crate::chain(&error)),
        }
    }
    segments
}
