//! From a URL to ids in one call: `connect`, its builder, and the same without a runtime.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use leafid::store::{TagSettings, TagSpec};
use leafid::{ErrorKind, Event, Generators, IssueError, Observer, Options, blocking::block_on};
use leafid_stores::{ConnectError, Connector, StoreOptions, blocking, connect, init, open};
use leafid_testbed::{shared_mariadb, shared_postgres};
use tempfile::TempDir;

use crate::{create, open_at, tag};

/// On a disk: a file in memory is refused.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn url_in(folder: &TempDir) -> String {
    format!("sqlite:{}/ids.db", folder.path().display())
}

/// Guards the five lines of the README, and that a second start continues.
#[tokio::test]
async fn a_url_gives_ids() {
    let folder = folder();
    for expected in [1, 1001] {
        let ids = connect(&url_in(&folder)).await.unwrap();
        let orders = ids.ensure_tag("order").await.unwrap();
        assert_eq!(orders.next().await.unwrap().get(), expected);
    }
}

/// Guards that connecting is the same for every database.
#[tokio::test]
async fn a_database_gives_ids() {
    for url in [
        shared_mariadb().create_database().url,
        shared_postgres().create_database().url,
    ] {
        let ids = Connector::new(&url).create_tables(true).spawn().await;
        let orders = ids.unwrap().ensure_tag("order").await.unwrap();
        assert_eq!(orders.next().await.unwrap().get(), 1);
        let again = blocking_in_thread(url).await;
        assert_eq!(again, 1001);
    }
}

/// Connects on a thread that has no runtime.
async fn blocking_in_thread(url: String) -> u64 {
    let taking = std::thread::spawn(move || {
        let ids = blocking::connect(&url).unwrap();
        let orders = ids.ensure_tag_blocking("order").unwrap();
        orders.next_blocking().unwrap().get()
    });
    taking.join().unwrap()
}

/// Guards that a program without a runtime can do all that one with a runtime can, from many
/// threads and with calls that are given up.
#[test]
fn a_program_without_a_runtime_gets_ids() {
    let folder = folder();
    let ids = blocking::connect(&url_in(&folder)).unwrap();
    let orders = ids.ensure_tag_blocking("order").unwrap();
    for _ in 0..20 {
        let mut given_up = Box::pin(ids.list_tags(None, 10));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _pending = given_up.as_mut().poll(&mut context);
    }
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (ids, orders) = (&ids, &orders);
            scope.spawn(move || {
                orders.next_blocking().unwrap();
                let spec = TagSpec::new(tag(&format!("tag-{number}")));
                block_on(ids.create_tag(&spec)).unwrap();
            });
        }
    });
    assert_eq!(block_on(ids.list_tags(None, 10)).unwrap().len(), 5);
    assert_eq!(orders.next_blocking().unwrap().get(), 5);
    ids.stop();
    assert_eq!(
        block_on(ids.read_tag(&tag("order")))
            .unwrap()
            .unwrap()
            .max_id,
        1001
    );
}

/// Guards that the thread and its resources end with the last handle, wherever that is dropped.
#[test]
fn the_thread_ends_with_the_last_handle() {
    let folder = folder();
    let is_over = |drop_ids: &dyn Fn(Generators)| {
        let (sender, ended) = channel();
        let ids = Connector::new(&url_in(&folder))
            .observer(Arc::new(Told(sender)))
            .spawn_thread()
            .unwrap();
        ids.ensure_tag_blocking("order").unwrap();
        drop_ids(ids);
        // The observer is dropped with the driver.
        while ended.recv_timeout(Duration::from_secs(30)).is_ok() {}
        assert!(
            ended
                .try_recv()
                .is_err_and(|error| error == std::sync::mpsc::TryRecvError::Disconnected)
        );
    };
    is_over(&drop);
    is_over(&|ids| crate::runtime().block_on(async { drop(ids) }));
}

struct Told(Sender<String>);

impl Observer for Told {
    fn event(&self, event: &Event<'_>) {
        let _gone = self.0.send(format!("{event:?}"));
    }
}

/// Guards that a file which a power cut would empty is refused unless that is allowed.
#[tokio::test]
async fn a_weak_store_is_refused() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let error = connect(&url_in(&folder)).await.unwrap_err();
    let ConnectError::Store(error) = error else {
        panic!("{error:?}");
    };
    assert!(error.weak_store().is_some(), "{error:?}");
    assert!(error.to_string().contains("allow_weak"), "{error}");
    let allowed = Connector::new(&url_in(&folder)).allow_weak(true).spawn();
    allowed.await.unwrap().ensure_tag("order").await.unwrap();
}

/// Guards that a mistake of the program is an error that says what to do, not a panic.
#[test]
fn mistakes_are_reported() {
    let folder = folder();
    let error = block_on(connect(&url_in(&folder))).unwrap_err();
    assert!(error.to_string().contains("blocking::connect"), "{error}");
    let error = blocking::connect("oracle://db").unwrap_err();
    assert!(matches!(error, ConnectError::Url(_)), "{error:?}");
    let error = blocking::connect("postgres://u@127.0.0.1:1/x").unwrap_err();
    assert!(matches!(error, ConnectError::Store(_)), "{error:?}");
}

/// Guards that a program does not wait for what only a person can change, and that ids are
/// available once it was changed.
#[tokio::test]
async fn a_missing_table_is_no_outage() {
    for url in [
        shared_mariadb().create_database().url,
        shared_postgres().create_database().url,
    ] {
        let error = connect(&format!("{url}_elsewhere")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misconfigured, "{error}");
        let (store, options) = (url.parse().unwrap(), StoreOptions::default());
        let opened = open(&store, &options).await.unwrap();
        let (ids, driver) = Generators::open(opened, Options::default());
        tokio::spawn(driver);
        let error = ids.next("order").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misconfigured, "{error}");
        assert!(error.to_string().contains("leafid_stores::init"), "{error}");
        init(&store, &options).await.unwrap();
        let orders = ids.ensure_tag("order").await.unwrap();
        let mut tries = 0;
        while let Err(error) = orders.next().await {
            assert_eq!(error.kind(), ErrorKind::Misconfigured, "{error}");
            tries += 1;
            assert!(tries < 300, "{error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Guards that `ensure_tag` changes no existing tag, and that no tag is created for a misspelt
/// name.
#[tokio::test]
async fn a_tag_is_ensured_once() {
    let folder = folder();
    let url = url_in(&folder);
    create(&*open_at(&url).await, "order").await;
    let settings = TagSettings {
        step: 50,
        ..TagSettings::default()
    };
    let (ids, driver) = Connector::new(&url)
        .options(Options::default())
        .create_missing(settings)
        .build()
        .await
        .unwrap();
    let driver = tokio::spawn(driver);
    for (name, step) in [("order", 1000), ("user", 50), ("order", 1000)] {
        let tag = ids.ensure_tag(name).await.unwrap().tag().clone();
        let record = ids.read_tag(&tag).await.unwrap().unwrap();
        assert_eq!(record.settings.step, step, "{name}");
    }
    let error = ids.ensure_tag(" order").await.unwrap_err();
    assert!(matches!(error, IssueError::Permanent(_)), "{error}");
    drop(ids);
    driver.await.unwrap();
}
