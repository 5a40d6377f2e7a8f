//! What a program learns from an error: its kind, whether to retry, and its causes.

use std::error::Error;
use std::time::Duration;

use leafid::{ErrorKind, IssueError, Permanent};

use crate::cluster;
use crate::world::{Mood, World, fixed};

fn causes(error: &dyn Error) -> Vec<String> {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.map(ToString::to_string).collect()
}

fn world() -> World {
    World::with_tag("order", 10, fixed())
}

/// Guards that an outage is distinguished from a wrong set-up, that a program does not wait for the
/// latter, and that ids are available once it was corrected.
#[test]
fn a_store_that_is_down_is_distinguished_from_one_that_refuses() {
    let mut world = world();
    world.store.set(Mood::Down, Duration::ZERO);
    let error = world.next("order").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreDown);
    assert!(error.is_retryable() && error.retry_after().is_some());
    assert_eq!(causes(&error).last().unwrap(), "it is down");

    world.store.set(Mood::NoAccess, Duration::ZERO);
    world.advance(Duration::from_secs(60));
    let error = world.next("order").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misconfigured);
    assert!(!error.is_retryable() && error.retry_after().is_none());
    let is_named = matches!(
        &error,
        IssueError::Permanent(Permanent::Misconfigured { .. })
    );
    assert!(is_named, "{error}");
    assert_eq!(causes(&error)[0], "user or password is wrong");

    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(Duration::from_secs(60));
    assert_eq!(world.next("order").unwrap(), 1);
}

/// Guards the kinds of mistakes.
#[test]
fn mistakes_have_kinds() {
    let mut world = world();
    let kind = |world: &mut World, tag: &str| world.next(tag).unwrap_err().kind();
    assert_eq!(kind(&mut world, "nobody"), ErrorKind::NotFound);
    assert_eq!(kind(&mut world, " order"), ErrorKind::InvalidRequest);
    world.generators.stop();
    world.advance(Duration::from_secs(1));
    assert_eq!(kind(&mut world, "order"), ErrorKind::Stopped);
}

/// Guards that a program without a worker id learns why.
#[test]
fn a_missing_worker_id_has_a_kind() {
    let store = cluster::store();
    store.set(cluster::Mood::Down);
    let mut server = cluster::Setup::new(&store).start();
    let error = server.try_next().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreDown);
    assert_eq!(causes(&error), ["cannot reach the registry", "down"]);
    store.set(cluster::Mood::Well);
    server.advance(Duration::from_secs(10));
    server.next();
    server.stop();
    assert_eq!(server.try_next().unwrap_err().kind(), ErrorKind::Stopped);
}

/// Guards that the end of what the journal allows is not called the end of the lease.
#[test]
fn a_journal_that_is_behind_is_not_a_lease_that_is_over() {
    let store = cluster::store();
    let mut server = cluster::Setup::new(&store).start();
    server.next();
    // The driver does not run, and with it nothing writes the journal.
    server.clock.advance(Duration::from_secs(10));
    let error = server.try_next().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    let text = error.to_string();
    assert!(text.contains("its journal does not allow"), "{text}");
    assert!(!text.contains("lease"), "{text}");
    server.advance(Duration::from_secs(1));
    server.next();
    store.set(cluster::Mood::Down);
    let left = Duration::from_millis(server.status().left_ms);
    server.advance(left.saturating_sub(Duration::from_secs(2)));
    server.clock.advance(Duration::from_secs(20));
    let error = server.try_next().unwrap_err();
    assert!(
        error.to_string().contains("its lease is exhausted"),
        "{error}"
    );
}

/// Guards that a refusal that only a change of settings ends does not advise to try again.
#[test]
fn a_layout_that_does_not_fit_is_not_worth_a_retry() {
    let store = cluster::store();
    cluster::Setup::new(&store).start().next();
    let mut setup = cluster::Setup::new(&store);
    let layout = leafid::Layout::WIDE;
    setup.options.snowflake = setup.options.snowflake.with_layout(layout);
    let server = setup.start();
    let error = server.try_next().unwrap_err();
    let text = error.to_string();
    assert!(!error.is_retryable(), "{text}");
    assert!(text.contains("use the same one"), "{text}");
    assert!(!text.contains("try again"), "{text}");
}
