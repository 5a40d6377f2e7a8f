//! What happens to a store when its server dies, hangs, becomes read-only or is far away. The same
//! for MariaDB and PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leafid::store::{Reserve, SegmentStore, StoreError, TagSpec};
use leafid::{Clock, Segment, SystemClock};
use leafid_stores::{StoreOptions, init};
use leafid_testbed::{Database, MariaDb, Postgres, Proxy, shared_mariadb, shared_postgres};
use tokio::task::JoinHandle;

use crate::{
    allowing_weak, chain, check_disjoint, create, open_at, open_with, tag, take, url_of, wish,
};

/// A server of either kind.
trait Bed: Send + Sync + 'static {
    fn create_database(&self) -> Database;
    fn sql(&self, database: &str, statements: &str);
    fn port(&self) -> u16;
    fn url_at(&self, port: u16, database: &str) -> String;
    fn passwords(&self) -> [&'static str; 2];
    fn kill(&self);
    fn start_again(&self);
    fn pause(&self);
    fn resume(&self);
    /// Makes the server refuse writes, or accept them again, even for connected clients.
    fn set_read_only(&self, is_read_only: bool);
}

macro_rules! bed {
    ($server:ty, $read_only:expr) => {
        impl Bed for $server {
            fn create_database(&self) -> Database {
                self.create_database()
            }
            fn sql(&self, database: &str, statements: &str) {
                self.sql(database, statements);
            }
            fn port(&self) -> u16 {
                self.port()
            }
            fn url_at(&self, port: u16, database: &str) -> String {
                self.url_at(port, database)
            }
            fn passwords(&self) -> [&'static str; 2] {
                self.passwords()
            }
            fn kill(&self) {
                self.kill();
            }
            fn start_again(&self) {
                self.start_again();
            }
            fn pause(&self) {
                self.pause();
            }
            fn resume(&self) {
                self.resume();
            }
            fn set_read_only(&self, is_read_only: bool) {
                $read_only(self, is_read_only);
            }
        }
    };
}

bed!(MariaDb, |server: &MariaDb, is_read_only: bool| {
    server.sql(
        "mysql",
        &format!("SET GLOBAL read_only = {}", u8::from(is_read_only)),
    );
});
bed!(Postgres, |server: &Postgres, is_read_only: bool| {
    let value = if is_read_only { "on" } else { "off" };
    server.sql(
        "postgres",
        &format!("ALTER SYSTEM SET default_transaction_read_only = {value}"),
    );
    server.sql("postgres", "SELECT pg_reload_conf()");
});

async fn initialised(server: &dyn Bed) -> Database {
    let database = server.create_database();
    init(&url_of(&database.url), &StoreOptions::default())
        .await
        .unwrap();
    database
}

/// Reserves until told to stop, and returns the segments and how many calls failed.
fn keep_taking(
    store: Arc<dyn SegmentStore>,
    stop: Arc<AtomicBool>,
) -> JoinHandle<(Vec<Segment>, u32)> {
    tokio::spawn(async move {
        let (mut segments, mut failures) = (Vec::new(), 0);
        let mut floor = None;
        while !stop.load(Ordering::Relaxed) {
            let reserve = Reserve {
                floor,
                ..wish("order", 7)
            };
            match store.reserve(&reserve).await {
                Ok(reserved) => {
                    assert!(Some(reserved.previous) >= floor, "the server lost a commit");
                    floor = Some(reserved.segment.end());
                    segments.push(reserved.segment);
                }
                Err(error) => {
                    assert!(error.is_retryable(), "{}", chain(&error));
                    failures += 1;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
        (segments, failures)
    })
}

async fn check_restart(server: impl Bed) {
    let server = Arc::new(server);
    let database = initialised(&*server).await;
    let store = open_at(&database.url).await;
    create(&*store, "order").await;
    let stop = Arc::new(AtomicBool::new(false));
    let takers: Vec<_> = (0..4)
        .map(|_| keep_taking(store.clone(), stop.clone()))
        .collect();
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let server = server.clone();
        let restart = tokio::task::spawn_blocking(move || {
            server.kill();
            std::thread::sleep(Duration::from_millis(200));
            server.start_again();
        });
        restart.await.unwrap();
    }
    take(&*store, "order", 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.store(true, Ordering::Relaxed);
    let (mut all, mut failed) = (Vec::new(), 0);
    for taker in takers {
        let (segments, failures) = taker.await.unwrap();
        all.extend(segments);
        failed += failures;
    }
    assert!(failed > 0, "nobody met the restart");
    assert!(all.len() > 100, "only {} segments", all.len());
    check_disjoint(all);
}

/// Guards that `kill -9` of the server under load loses no acknowledged segment, and that the store
/// recovers when the server is back.
#[tokio::test(flavor = "multi_thread")]
async fn mariadb_killed_under_load() {
    check_restart(MariaDb::start()).await;
}

/// Guards the same for PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_killed_under_load() {
    check_restart(Postgres::start()).await;
}

async fn check_unknown_outcome(server: &dyn Bed) {
    let database = initialised(server).await;
    let proxy = Proxy::new(server.port());
    let store = open_at(&server.url_at(proxy.port(), &database.name)).await;
    create(&*store, "order").await;
    let first = take(&*store, "order", 10).await;
    for round in 0..5 {
        proxy.cut_next_reply();
        let error = store.reserve(&wish("order", 10)).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        assert_eq!(
            proxy.cut_replies(),
            round + 1,
            "the reply was not the one cut"
        );
        let next = take(&*store, "order", 10).await;
        // The segment whose reply was lost was committed, and is never issued.
        assert_eq!(next.start(), first.end() + (round + 1) * 20 - 10);
    }
}

/// Guards that a segment whose reply was lost is never issued.
#[tokio::test]
async fn mariadb_outcome_unknown() {
    check_unknown_outcome(shared_mariadb()).await;
}

/// Guards the same for PostgreSQL.
#[tokio::test]
async fn postgres_outcome_unknown() {
    check_unknown_outcome(shared_postgres()).await;
}

async fn check_age(server: &dyn Bed) {
    let database = initialised(server).await;
    let proxy = Proxy::new(server.port());
    let options = StoreOptions::default()
        // Each connection is old at once.
        .with_connection_age_max(Duration::ZERO);
    let store = open_with(&server.url_at(proxy.port(), &database.name), options).await;
    create(&*store, "order").await;
    proxy.refuse_new();
    let before = proxy.connections();
    for _ in 0..3 {
        take(&*store, "order", 10).await;
    }
    assert_eq!(proxy.connections(), before);
    proxy.pass();
    let patience = tokio::time::timeout(Duration::from_secs(30), async {
        while proxy.connections() < before + 3 {
            take(&*store, "order", 10).await;
            tokio::task::yield_now().await;
        }
    });
    patience.await.expect("an old connection is replaced");
}

/// Guards that no call waits for an old connection to be replaced, which once took six seconds with
/// a server that needs one for each answer, and that it is replaced nonetheless.
#[tokio::test(flavor = "multi_thread")]
async fn mariadb_connections_grow_old() {
    check_age(shared_mariadb()).await;
}

/// Guards the same for PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_connections_grow_old() {
    check_age(shared_postgres()).await;
}

async fn check_hanging(server: impl Bed) {
    let database = initialised(&server).await;
    let statement_timeout = Duration::from_millis(700);
    let options = StoreOptions::default().with_statement_timeout(statement_timeout);
    let store = open_with(&database.url, options).await;
    create(&*store, "order").await;
    let before = take(&*store, "order", 10).await;
    server.pause();
    let clock = SystemClock::new();
    // Once on a connection that was there, once on a new one.
    for _ in 0..2 {
        let started = clock.now();
        let error = store.reserve(&wish("order", 10)).await.unwrap_err();
        let taken = clock.now().saturating_sub(started);
        assert!(error.is_retryable(), "{error:?}");
        assert!(
            taken < statement_timeout + Duration::from_millis(300),
            "{taken:?}: {error}"
        );
    }
    server.resume();
    let after = take(&*store, "order", 10).await;
    assert!(after.start() >= before.end(), "{before} {after}");
}

/// Guards that a hanging server costs a call its time-out and no more.
#[tokio::test]
async fn mariadb_hanging() {
    check_hanging(MariaDb::start()).await;
}

/// Guards the same for PostgreSQL.
#[tokio::test]
async fn postgres_hanging() {
    check_hanging(Postgres::start()).await;
}

/// A session hears of a changed setting a moment later.
async fn first_error(store: &dyn SegmentStore) -> StoreError {
    for _ in 0..200 {
        if let Err(error) = store.reserve(&wish("order", 10)).await {
            return error;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the server does not become read-only");
}

async fn check_fail_over(first: impl Bed, second: impl Bed) {
    let (one, two) = (initialised(&first).await, initialised(&second).await);
    // As if they were one replicated database.
    let same = "UPDATE leafid_pool SET layout = 'same' WHERE pool = '#identity'";
    first.sql(&one.name, same);
    second.sql(&two.name, same);
    let list = format!("{},{}", one.url, two.url);
    create(&*open_at(&one.url).await, "order").await;
    let far = TagSpec {
        start: 1_000_000,
        ..TagSpec::new(tag("order"))
    };
    open_at(&two.url).await.create(&far).await.unwrap();

    first.set_read_only(true);
    first_error(&*open_at(&one.url).await).await;
    let store = open_with(&list, allowing_weak()).await;
    assert!(
        take(&*store, "order", 10).await.start() >= 1_000_000,
        "the first server was used"
    );

    // The servers change roles under an open connection.
    first.set_read_only(false);
    tokio::time::sleep(Duration::from_millis(300)).await;
    second.set_read_only(true);
    let error = first_error(&*store).await;
    assert!(error.to_string().contains("read-only"), "{error}");
    assert!(
        take(&*store, "order", 10).await.start() < 1_000_000,
        "the second server was used"
    );

    first.set_read_only(true);
    first_error(&*store).await;
    let error = store.reserve(&wish("order", 10)).await.unwrap_err();
    assert_eq!(
        error.to_string().matches("is read-only").count(),
        2,
        "{error}"
    );
}

/// Guards that a read-only server is skipped, even if it becomes read-only under a connection.
#[tokio::test]
async fn mariadb_read_only_is_passed_over() {
    check_fail_over(MariaDb::start(), MariaDb::start()).await;
}

/// Guards the same for PostgreSQL.
#[tokio::test]
async fn postgres_read_only_is_passed_over() {
    check_fail_over(Postgres::start(), Postgres::start()).await;
}

async fn check_errors(server: &dyn Bed) {
    let database = server.create_database();
    let [_, password] = server.passwords();
    let hidden = leafid_testbed::free_port();
    let right = database.url.as_str();
    let cases = [
        (right.to_owned(), "call leafid_stores::init"),
        (
            right.replace(password, "s3cret-but-wrong"),
            "user or password is wrong",
        ),
        (server.url_at(hidden, &database.name), "no connection"),
        (server.url_at(server.port(), "nowhere"), "database"),
    ];
    for (url, expected) in cases {
        let store = open_at(&url).await;
        let error = store.reserve(&wish("order", 10)).await.unwrap_err();
        let text = format!(
            "{} {error:?} {:?} {}",
            chain(&error),
            url_of(&url),
            url_of(&url)
        );
        assert!(text.contains(expected), "{text}");
        assert!(
            error
                .to_string()
                .starts_with("cannot reserve 10 ids of tag \"order\" at "),
            "{text}"
        );
        assert!(!text.contains("s3cret"), "{text}");
    }
}

/// Guards that errors say what to do and never have the password.
#[tokio::test]
async fn mariadb_errors_are_readable() {
    check_errors(shared_mariadb()).await;
}

/// Guards the same for PostgreSQL.
#[tokio::test]
async fn postgres_errors_are_readable() {
    check_errors(shared_postgres()).await;
}

async fn check_many_callers(server: &dyn Bed) {
    let database = initialised(server).await;
    let options = StoreOptions::default().with_connections_max(2);
    let stores = [
        open_at(&database.url).await,
        open_with(&database.url, options).await,
    ];
    create(&*stores[0], "order").await;
    let callers: Vec<_> = (0..32)
        .map(|caller: usize| {
            let store = stores[caller % 2].clone();
            tokio::spawn(async move {
                let mut segments = Vec::new();
                for _ in 0..60 {
                    segments.push(take(&*store, "order", 3).await);
                }
                segments
            })
        })
        .collect();
    let mut all = Vec::new();
    for caller in callers {
        all.extend(caller.await.unwrap());
    }
    check_disjoint(all);
    let rows = stores[0].read(&[tag("order")]).await.unwrap();
    assert_eq!(
        rows[0].max_id,
        32 * 60 * 3 + 1,
        "an update was lost, or ids were skipped"
    );
}

/// Guards that one statement is enough under contention: nothing is lost, skipped or refused.
#[tokio::test(flavor = "multi_thread")]
async fn mariadb_many_callers() {
    check_many_callers(shared_mariadb()).await;
}

/// Guards the same for PostgreSQL, whose statement locks, reads and updates.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_many_callers() {
    check_many_callers(shared_postgres()).await;
}
