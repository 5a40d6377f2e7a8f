//! Faults: servers that end, hang or refuse, and lost replies.

use leafid::ErrorKind;
use leafid_testbed::Proxy;

use super::*;
use crate::chain;
use crate::registries::{check_moved_address, check_slow_reads};

async fn open_at(url: &str, timeout: Duration) -> Arc<dyn LeaseStore> {
    let options = StoreOptions::default().with_statement_timeout(timeout);
    open_with(url, &LeaseOptions::new("faults"), options).await
}

/// Guards that rows survive, that a dead server is named, and that a new session is opened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_killed_has_all_rows() {
    let server = ZooKeeper::start();
    let bed = Bed::on(&server).await;
    let mut rng = Rng::new();
    let mut held = Server::start(bed.open(None).await, "10.1.0.1:8080", &mut rng).await;
    server.kill();
    let swap = LeaseSwap {
        expected: Some(held.held.key()),
        record: held.held.clone(),
    };
    for _ in 0..2 {
        let error = held.store.swap(&swap).await.unwrap_err();
        assert!(error.is_retryable());
        let text = error.to_string();
        let worker = held.worker();
        let start = format!("cannot write worker id {worker} at {}: ", bed.url);
        assert!(text.starts_with(&start), "{text}");
    }
    server.start_again();
    assert!(held.extend().await);
    let rows = bed.open(None).await.leases().await.unwrap();
    assert!(rows.contains(&held.held));
}

/// Guards that each call ends in time, and that an expired session is replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_is_given_up_in_time() {
    const TIMEOUT: Duration = Duration::from_millis(500);
    let server = ZooKeeper::start_with(&["tickTime=100"]);
    let store = open_at(&server.url(), TIMEOUT).await;
    assert_eq!(store.bind("leaf").await.unwrap(), "leaf");
    server.pause();
    for _ in 0..2 {
        let asked = tokio::time::timeout(4 * TIMEOUT, store.leases()).await;
        let error = asked.unwrap().unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("cannot list worker ids at zookeeper://"),
            "{text}"
        );
    }
    server.resume();
    let mut answer = store.bind("baidu").await;
    for _ in 0..20 {
        if answer.is_ok() {
            break;
        }
        answer = store.bind("baidu").await;
    }
    assert_eq!(answer.unwrap(), "leaf");
}

/// Guards that a caller who gives up on a server that hangs asks another one next, whichever of
/// them is the first, and whether or not it ever answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_gives_way_to_another() {
    const PATIENCE: Duration = Duration::from_millis(400);
    let hanging = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let hanging = hanging.local_addr().unwrap();
    let (server, paused) = (ZooKeeper::start(), ZooKeeper::start());
    let (up, paused_at) = (server.port(), paused.port());
    paused.pause();
    for other in [hanging.port(), paused_at] {
        for ports in [[up, other], [other, up]] {
            let [first, second] = ports;
            let url = format!("zookeeper://127.0.0.1:{first},127.0.0.1:{second}");
            let store = open_at(&url, Duration::from_secs(10)).await;
            let mut answered = false;
            for _ in 0..3 {
                let row = tokio::time::timeout(PATIENCE, store.lease(WorkerId::new(0))).await;
                answered |= row.is_ok_and(|row| row.is_ok());
            }
            assert!(answered, "{url}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zookeeper_answers_late() {
    let server = ZooKeeper::start();
    // To sync, the row, the children and the report of one of them.
    check_slow_reads(|port| server.url_at(port), server.port(), 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_of_zookeeper_that_moved_is_noticed() {
    let (server, other) = (ZooKeeper::start(), ZooKeeper::start());
    check_moved_address(|port| server.url_at(port), server.port(), other.port()).await;
}

/// Guards that a lost reply is an error although the change may have been made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_reply_is_no_failure() {
    let server = ZooKeeper::start();
    let proxy = Proxy::new(server.port());
    let mut lost = 0;
    for number in 0..10 {
        let pool = LeaseOptions::new(format!("lost-{number}"));
        let url = server.url_at(proxy.port());
        let store = open_with(&url, &pool, StoreOptions::default()).await;
        let other = open_with(&server.url(), &pool, StoreOptions::default()).await;
        // The session is there then, so that the first reply of the next call is to its write.
        store.leases().await.unwrap();
        proxy.cut_next_reply();
        let answer = store.bind("ours").await;
        let kept = other.bind("theirs").await.unwrap();
        match answer {
            Ok(answer) => assert_eq!(answer, kept),
            Err(error) => {
                assert!(error.is_retryable());
                assert!(error.to_string().contains("is unknown"), "{error}");
                lost += u32::from(kept == "ours");
            }
        }
        assert_eq!(store.bind("again").await.unwrap(), kept);
    }
    assert!(lost > 0, "no reply to a write was lost");
}

/// Guards that a tree behind a password keeps others out, shows no password, and lets Java Leaf
/// assign its numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_has_the_rows_for_itself() {
    let bed = Bed::new().await;
    let with_user = |user: &str| bed.url.replace("://", &format!("://{user}@"));
    let pool = LeaseOptions::new(&bed.pool);
    let open = async |url: &str| open_with(url, &pool, StoreOptions::default()).await;
    let owner = open(&with_user("leaf:s3cret%2F%40")).await;
    owner.bind("leaf").await.unwrap();
    let mut rng = Rng::new();
    let held = Server::start(owner, "10.1.0.1:8080", &mut rng).await;
    for url in [
        bed.url.clone(),
        with_user("leaf:wr0ng"),
        with_user("other:s3cret%2F%40"),
    ] {
        let error = open(&url).await.leases().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misconfigured);
        let text = chain(&error);
        assert!(text.contains("getAcl"), "{text}");
        assert!(
            !text.contains("s3cret") && !text.contains("wr0ng"),
            "{text}"
        );
    }
    let java = leafid_testbed::JavaLeafWorker::start(&bed.servers, &bed.pool, "10.0.0.5:80", 1);
    assert_ne!(java.await.unwrap().worker(), held.worker());
}

/// Guards a tree in a chroot, which is created if needed.
#[tokio::test]
async fn a_chroot_is_made_and_kept_to() {
    let bed = Bed::new().await;
    let url = format!("{}/deep/er", bed.url);
    let pool = LeaseOptions::new(&bed.pool);
    let store = open_with(&url, &pool, StoreOptions::default()).await;
    store.bind("leaf").await.unwrap();
    let path = format!("/deep/er{}", bed.forever());
    assert!(bed.client.check_stat(&path).await.unwrap().is_some());
    assert!(
        bed.client
            .check_stat(&bed.forever())
            .await
            .unwrap()
            .is_none()
    );
}

/// Guards that the clock is the server's, and that a tree has an identity.
#[tokio::test]
async fn the_clock_and_the_name_are_the_servers() {
    let clock = leafid_testbed::FakeClock::new();
    clock.offset(-3600.0);
    let server = ZooKeeper::start_at(&clock);
    let bed = Bed::on(&server).await;
    let store = bed.open(None).await;
    for offset in [-3600, -600, 0] {
        clock.offset(f64::from(offset));
        let shown = store.clock_ms().await.unwrap().unwrap();
        let wanted = now_ms()
            .checked_add_signed(i64::from(offset) * 1000)
            .unwrap();
        assert!(shown.abs_diff(wanted) < 10_000, "{shown} {wanted}");
    }
    let report = store.inspect().await.unwrap();
    assert_eq!(
        (&*report.product, &*report.location),
        ("ZooKeeper", &*bed.url)
    );
    assert!(report.weaknesses.is_empty());
    let other = Bed::on(&server)
        .await
        .open(None)
        .await
        .inspect()
        .await
        .unwrap();
    assert_ne!(report.identity, other.identity);
}
