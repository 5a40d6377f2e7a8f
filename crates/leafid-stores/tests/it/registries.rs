//! Registries of worker ids against real servers: the suite, and what happens when a server dies,
//! hangs or refuses. The same for each kind.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use leafid::store::lease_conformance::LeaseHandles;
use leafid::store::{LeaseKey, LeaseRecord, LeaseStore, LeaseSwap, StoreError};
use leafid::{Clock, ErrorKind, SystemClock, WorkerId};
use leafid_stores::{LeaseOptions, StoreOptions, open_leases};
use leafid_testbed::Proxy;

use crate::{chain, url_of};

/// Each test has a pool of its own, so that all can share a server.
pub(crate) fn new_pool() -> String {
    static POOLS: AtomicU64 = AtomicU64::new(0);
    format!("test-{}", POOLS.fetch_add(1, Ordering::Relaxed))
}

pub(crate) async fn leases_at(url: &str, pool: &str) -> Arc<dyn LeaseStore> {
    leases_with(url, pool, &StoreOptions::default()).await
}

pub(crate) async fn leases_with(
    url: &str,
    pool: &str,
    options: &StoreOptions,
) -> Arc<dyn LeaseStore> {
    let opened = open_leases(&url_of(url), &LeaseOptions::new(pool), options).await;
    opened.unwrap()
}

/// The first claim of this worker id.
pub(crate) fn claim(worker: u32) -> LeaseSwap {
    LeaseSwap {
        expected: None,
        record: LeaseRecord {
            worker: WorkerId::new(worker),
            epoch: 1,
            holder: "6f1c".into(),
            address: "10.0.0.5:8080".into(),
            until_ms: 1_900_000_000_000,
        },
    }
}

/// The swap after `swap`, by the same holder.
pub(crate) fn extend(swap: &LeaseSwap) -> LeaseSwap {
    let mut record = swap.record.clone();
    record.until_ms += 1;
    LeaseSwap {
        expected: Some(swap.record.key()),
        record,
    }
}

/// Runs the suite on one server.
pub(crate) fn check_leases_conform(url: &str) {
    crate::check_leases_conform(|| async {
        let pool = new_pool();
        LeaseHandles {
            first: leases_at(url, &pool).await,
            second: leases_at(url, &pool).await,
        }
    });
}

/// Guards that a swap whose reply was lost is an error, and that what was written is complete.
/// `replies` is how many come before the one that is cut.
pub(crate) async fn check_unknown_outcome(url_at: impl Fn(u16) -> String, port: u16, replies: u64) {
    let proxy = Proxy::new(port);
    let leases = leases_at(&url_at(proxy.port()), &new_pool()).await;
    let mut last = claim(3);
    assert!(leases.swap(&last).await.unwrap());
    let mut written = 0;
    for _ in 0..5 {
        let next = extend(&last);
        proxy.cut_reply_after(replies);
        let error = leases.swap(&next).await.unwrap_err();
        assert!(error.is_retryable(), "{error:?}");
        assert!(error.to_string().contains("unknown"), "{error}");
        let rows = leases.leases().await.unwrap();
        if rows == [next.record.clone()] {
            written += 1;
            last = next;
        } else {
            assert_eq!(rows, [last.record.clone()]);
        }
    }
    assert_eq!(proxy.cut_replies(), 5, "a reply was not cut");
    assert_eq!(written, 5, "a swap was cut before it was carried out");
}

/// Guards that a hanging server costs a call its time-out and no more.
pub(crate) async fn check_hanging(url: &str, pause: impl FnOnce(), resume: impl FnOnce()) {
    let options = StoreOptions::default().with_statement_timeout(Duration::from_millis(500));
    let leases = leases_with(url, &new_pool(), &options).await;
    assert!(leases.swap(&claim(0)).await.unwrap());
    pause();
    let clock = SystemClock::new();
    let started = clock.now();
    let error = leases.swap(&claim(1)).await.unwrap_err();
    let taken = clock.now().saturating_sub(started);
    assert!(error.is_retryable(), "{error:?}");
    assert!(
        taken < options.statement_timeout + Duration::from_millis(300),
        "{taken:?}: {error}"
    );
    resume();
    assert!(leases.swap(&claim(2)).await.unwrap());
}

/// Guards that a read of a row gets its answer, if that takes no longer than the time-out: it waits in
/// vain for no other read, and needs no connection of a call that failed. `replies` make an answer.
pub(crate) async fn check_slow_reads(url_at: impl Fn(u16) -> String, port: u16, replies: u32) {
    const ANSWER: Duration = Duration::from_millis(1200);
    let proxy = Proxy::new(port);
    let options = StoreOptions::default().with_statement_timeout(ANSWER * 5 / 3);
    let (url, pool) = (url_at(proxy.port()), new_pool());
    let leases = leases_with(&url, &pool, &options).await;
    leases.swap(&claim(0)).await.unwrap();
    let worker = WorkerId::new(0);
    // The connection is there then.
    let kept = leases.lease(worker).await.unwrap();
    assert!(kept.is_some());
    proxy.delay(ANSWER / replies);
    let second = async {
        tokio::time::sleep(ANSWER / 6).await;
        leases.lease(worker).await
    };
    let (first, second) = tokio::join!(leases.lease(worker), second);
    for row in [first, second, leases.lease(worker).await] {
        assert_eq!(row.unwrap(), kept);
    }
    // Each reply is in time, and all of them together are not.
    proxy.delay(ANSWER);
    assert_eq!(leases.lease(worker).await.unwrap(), kept);
    let _ = leases.identity().await; // fails at some, which closes its connection
    assert_eq!(leases.lease(worker).await.unwrap(), kept);
    // A connection takes several times as long as an answer.
    proxy.delay(ANSWER / 2);
    let other = leases_with(&url, &pool, &options).await;
    assert_eq!(other.lease(worker).await.unwrap(), kept);
}

/// Guards that the read of a row does not wait for connections that many other calls need.
pub(crate) async fn check_reads_beside_others(url_at: impl Fn(u16) -> String, port: u16) {
    const OTHERS: usize = 40;
    let proxy = Proxy::new(port);
    let leases = leases_with(&url_at(proxy.port()), &new_pool(), &StoreOptions::default()).await;
    leases.swap(&claim(0)).await.unwrap();
    assert!(leases.lease(WorkerId::new(0)).await.unwrap().is_some());
    proxy.delay(Duration::from_millis(100));
    let done = AtomicUsize::new(0);
    let others = join_all((0..OTHERS).map(async |_| {
        leases.leases().await.unwrap();
        done.fetch_add(1, Ordering::Relaxed);
    }));
    let read = async {
        tokio::task::yield_now().await;
        leases.lease(WorkerId::new(0)).await.unwrap();
        done.load(Ordering::Relaxed)
    };
    let (_, done_before) = tokio::join!(others, read);
    assert!(done_before < OTHERS / 2, "{done_before} of {OTHERS}");
}

/// Guards that the connection that is kept for reads of a row is replaced once it is old: the address
/// may lead to another server by now, here `other_port`, while the former one still answers over it.
/// A new connection that hangs, as at a fail-over, is not waited for until it ends.
pub(crate) async fn check_moved_address(
    url_at: impl Fn(u16) -> String,
    port: u16,
    other_port: u16,
) {
    let proxy = Proxy::new(port);
    let options = StoreOptions::default()
        .with_connection_age_max(Duration::from_secs(1))
        .with_statement_timeout(Duration::from_secs(2));
    let leases = leases_with(&url_at(proxy.port()), &new_pool(), &options).await;
    leases.swap(&claim(0)).await.unwrap();
    leases.identity().await.unwrap();
    let other = leases_at(&url_at(other_port), &new_pool()).await;
    other.identity().await.unwrap();
    let read = || leases.lease(WorkerId::new(0));
    assert!(read().await.unwrap().is_some());
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.lead_to(&[hanging.local_addr().unwrap().port()]);
    tokio::time::sleep(options.connection_age_max).await;
    for _ in 0..10 {
        assert!(read().await.unwrap().is_some(), "over the kept connection");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    proxy.lead_to(&[other_port]);
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        match read().await {
            Ok(Some(_)) => {}
            Ok(None) | Err(StoreError::Unsupported { .. }) => return,
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("the former server is still asked");
}

/// Guards that rows survive `kill -9`, and that the next call succeeds without help.
pub(crate) async fn check_restart(url: &str, kill: impl FnOnce(), start_again: impl FnOnce()) {
    let leases = leases_at(url, &new_pool()).await;
    assert!(leases.swap(&claim(0)).await.unwrap());
    assert_eq!(leases.bind("leaf").await.unwrap(), "leaf");
    kill();
    let error = leases.swap(&claim(1)).await.unwrap_err();
    assert!(error.to_string().contains("no connection"), "{error}");
    start_again();
    assert_eq!(leases.leases().await.unwrap(), [claim(0).record]);
    assert_eq!(leases.bind("baidu").await.unwrap(), "leaf");
    assert!(leases.swap(&extend(&claim(0))).await.unwrap());
}

/// Guards that an error says what to do and where, and never has the password.
pub(crate) async fn check_error(url: &str, expected: &str) -> ErrorKind {
    let leases = leases_at(url, &new_pool()).await;
    let error = leases.swap(&claim(3)).await.unwrap_err();
    let url = url_of(url);
    let text = format!("{} {error:?} {url:?}", chain(&error));
    assert!(matches!(error, StoreError::Unavailable { .. }), "{text}");
    assert!(text.contains(expected), "{text}");
    let start = format!("cannot swap worker id 3 at {url}: ");
    assert!(text.starts_with(&start), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
    error.kind()
}

/// Guards that a program does not wait for what only a person can change.
pub(crate) async fn check_misconfigured(url: &str, expected: &str) {
    let kind = check_error(url, expected).await;
    assert_eq!(kind, ErrorKind::Misconfigured, "{expected}");
}

/// Guards that pools on one server are separate, even if one's name begins like another's.
pub(crate) async fn check_pools_are_apart(url: &str) {
    let pool = new_pool();
    let one = leases_at(url, &pool).await;
    let longer = leases_at(url, &format!("{pool}.b")).await;
    assert!(one.swap(&claim(1)).await.unwrap());
    assert_eq!(one.bind("leaf").await.unwrap(), "leaf");
    assert!(longer.leases().await.unwrap().is_empty());
    assert!(longer.swap(&claim(10)).await.unwrap());
    assert_eq!(longer.bind("baidu").await.unwrap(), "baidu");
    assert_eq!(one.leases().await.unwrap(), [claim(1).record]);
}

/// Guards that no digit is lost on the way, though scripts and JSON may count in doubles.
pub(crate) async fn check_large_numbers(url: &str) {
    let leases = leases_at(url, &new_pool()).await;
    let mut last = claim(7);
    last.record.epoch = LeaseRecord::FOREVER - 1;
    last.record.until_ms = LeaseRecord::FOREVER - 1;
    assert!(leases.swap(&last).await.unwrap());
    let mut wrong = extend(&last);
    wrong.expected = Some(LeaseKey {
        epoch: LeaseRecord::FOREVER,
        ..last.record.key()
    });
    assert!(!leases.swap(&wrong).await.unwrap());
    let next = extend(&last);
    assert!(leases.swap(&next).await.unwrap());
    assert_eq!(leases.leases().await.unwrap(), [next.record]);
}
