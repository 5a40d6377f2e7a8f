//! The end of a registry: `close` reports what became of the worker id, and a generator keeps its
//! registry alive.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use leafid::store::{LeaseRecord, LeaseStore as _, LeaseSwap, MemoryLeaseStore};
use leafid::{Closed, WorkerChoice, WorkerId, WorkerRegistry, blocking};

use crate::cluster::{Mood, Server, Setup, store};

const TIMEOUT: Duration = Duration::from_secs(5);

/// Closes the registry of a server, which meanwhile does `act`.
fn close(server: &mut Server, act: impl FnOnce(&mut Server)) -> Closed {
    let registry = server.registry.clone();
    let mut closing = pin!(registry.close(TIMEOUT));
    let mut context = Context::from_waker(Waker::noop());
    assert!(closing.as_mut().poll(&mut context).is_pending());
    act(server);
    match closing.poll(&mut context) {
        Poll::Ready(closed) => closed,
        Poll::Pending => panic!("it waits on and on"),
    }
}

fn settle(server: &mut Server) {
    server.advance(Duration::ZERO);
}

/// Guards that a worker id which was given back is reported so, and can be claimed at once.
#[test]
fn a_closed_registry_gives_its_worker_id_back() {
    let store = store();
    let mut first = Setup::new(&store).start();
    first.next();
    let worker = first.worker();
    assert_eq!(close(&mut first, settle), Closed::Released { worker });
    let again = blocking::block_on(first.registry.close(TIMEOUT));
    assert_eq!(again, Closed::Released { worker });
    let mut setup = Setup::new(&store);
    setup.options.choice = WorkerChoice::Exactly(worker);
    let mut second = setup.start();
    second.advance(TIMEOUT);
    assert_eq!(second.worker(), worker);
}

/// Guards that a worker id which could not be given back is reported as leased, with its end and
/// the reason.
#[test]
fn a_worker_id_that_stays_leased_is_reported() {
    let store = store();
    let mut server = Setup::new(&store).start();
    server.next();
    let lease = server.status().lease.unwrap();
    store.set(Mood::Down);
    let closed = close(&mut server, |server| server.advance(TIMEOUT * 20));
    assert_eq!(closed.leased_until_ms(), Some(lease.until_ms));
    let text = closed.to_string();
    assert!(text.contains("stays leased until 2"), "{text}");
    assert!(text.contains("cannot reach the registry"), "{text}");
}

/// Guards that a lease that is over is not reported as one that stays.
#[test]
fn a_lease_that_is_over_does_not_stay() {
    let store = store();
    let mut server = Setup::new(&store).start();
    server.next();
    store.set(Mood::Down);
    // The program was stopped for long, and with it the driver.
    server.clock.advance(Duration::from_secs(7200));
    let closed = close(&mut server, |server| server.advance(TIMEOUT * 20));
    assert_eq!(closed, Closed::NotHeld);
}

/// Guards that a worker id that another server has by now is not reported as one that stays leased,
/// even if the registry fails after the row was read.
#[test]
fn a_worker_id_that_was_taken_does_not_stay() {
    let store = store();
    let mut server = Setup::new(&store).start();
    server.next();
    let lease = server.status().lease.unwrap();
    let row = blocking::block_on(store.lease(lease.worker))
        .unwrap()
        .unwrap();
    let taken = LeaseSwap {
        expected: Some(row.key()),
        record: LeaseRecord {
            epoch: row.epoch + 1,
            holder: "another".into(),
            ..row
        },
    };
    assert!(blocking::block_on(store.swap(&taken)).unwrap());
    store.set(Mood::OneRowOnly);
    let closed = close(&mut server, |server| server.advance(TIMEOUT * 20));
    assert_eq!(closed, Closed::NotHeld);
    assert_eq!(server.log.count("WorkerKept"), 0);
}

/// Guards that a registry that is slower than the interval of reads gets its worker id back.
#[test]
fn a_slow_registry_gets_its_worker_id_back() {
    let store = store();
    let mut server = Setup::new(&store).start();
    server.next();
    let worker = server.worker();
    store.set_clock(&server.clock);
    store.set(Mood::Slow(Duration::from_secs(3)));
    let registry = server.registry.clone();
    // One read and one change.
    let mut closing = pin!(registry.close(Duration::from_secs(7)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(closing.as_mut().poll(&mut context).is_pending());
    server.advance(Duration::from_millis(6500));
    assert_eq!(
        closing.poll(&mut context),
        Poll::Ready(Closed::Released { worker })
    );
}

/// Guards that `close` waits no longer than its time-out, and reports what it knows by then.
#[test]
fn a_driver_that_does_not_run_is_not_waited_for() {
    let mut server = Setup::new(&store()).start();
    server.next();
    let until_ms = server.status().lease.map(|lease| lease.until_ms);
    let closed = close(&mut server, |server| server.clock.advance(TIMEOUT));
    assert_eq!(closed.leased_until_ms(), until_ms);
    assert!(closed.to_string().contains("not given back in time"));
    server.drop_driver();
    let closed = blocking::block_on(server.registry.close(TIMEOUT));
    assert_eq!(closed.leased_until_ms(), until_ms);
    assert!(closed.to_string().contains("driver was dropped"));
}

/// Guards that nothing is reported as leased if there is nothing to give back.
#[test]
fn without_a_lease_there_is_nothing_to_give_back() {
    let store = store();
    store.set(Mood::Down);
    let mut server = Setup::new(&store).start();
    assert_eq!(close(&mut server, settle), Closed::NotHeld);
    let mut setup = Setup::new(&store);
    setup.store = None;
    setup.options.choice = WorkerChoice::Exactly(WorkerId::new(3));
    let mut by_hand = setup.start();
    by_hand.next();
    assert_eq!(close(&mut by_hand, settle), Closed::NotHeld);
}

/// Guards that ids do not stop if the program drops everything but the generator.
#[test]
fn a_generator_keeps_its_registry_alive() {
    let (registry, driver) = WorkerRegistry::builder()
        .store(MemoryLeaseStore::new())
        .build();
    let driver = blocking::spawn(driver).unwrap();
    let snowflake = registry.snowflake();
    drop(registry);
    for _ in 0..1000 {
        snowflake.next_blocking().unwrap();
    }
    drop(snowflake);
    driver.join().unwrap();
}
