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
