//! Guards which connection a call gets, on a store of which nothing else is asked.

use std::future::pending;
use std::sync::atomic::AtomicUsize;

use leafid::Tag;
use leafid::store::{Reserve, Reserved, StoreReport, TagPatch, TagRecord, TagSpec};

use super::*;
use crate::InitReport;

/// Of a store of which nothing is asked but connections: so many are made, and then one that never
/// ends, or one that fails.
struct Connections {
    left: AtomicUsize,
    fails: bool,
}

impl System for Connections {
    type Connection = ();

    const CONNECTIONS_MAX: usize = usize::MAX;

    async fn connect(&self) -> Result<(), StoreError> {
        let less = |left: usize| left.checked_sub(1);
        if self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
            .is_ok()
        {
            return Ok(());
        }
        match self.fails {
            true => Err(StoreError::unavailable("no more", "a test")),
            false => pending().await,
        }
    }

    fn server((): &()) -> Option<&str> {
        None
    }

    async fn is_alive(&self, (): &mut ()) -> bool {
        true
    }

    fn refusal(&self) -> Option<String> {
        None
    }

    async fn judge(&self, (): &mut ()) -> Result<(), StoreError> {
        Ok(())
    }

    async fn reserve(&self, (): &mut (), _: &Reserve) -> Result<Reserved, Fault> {
        unreachable!()
    }

    async fn read(&self, (): &mut (), _: &[Tag]) -> Result<Vec<TagRecord>, Fault> {
        unreachable!()
    }

    async fn list(&self, (): &mut (), _: Option<&Tag>, _: u32) -> Result<Vec<TagRecord>, Fault> {
        unreachable!()
    }

    async fn create(&self, (): &mut (), _: &TagSpec) -> Result<TagRecord, Fault> {
        unreachable!()
    }

    async fn update(&self, (): &mut (), _: &Tag, _: &TagPatch) -> Result<TagRecord, Fault> {
        unreachable!()
    }

    async fn delete(&self, (): &mut (), _: &Tag) -> Result<(), Fault> {
        unreachable!()
    }

    async fn inspect(&self, (): &mut ()) -> Result<StoreReport, Fault> {
        unreachable!()
    }

    async fn init(&self, (): &mut ()) -> Result<InitReport, Fault> {
        unreachable!()
    }

    async fn probe(&self, (): &mut ()) -> Result<(), Fault> {
        unreachable!()
    }

    fn is_conflict(_: &sqlx::Error) -> bool {
        false
    }

    fn hint(_: &sqlx::Error) -> Option<&'static str> {
        None
    }
}

fn pool(left: usize, fails: bool) -> Arc<Pool<Connections>> {
    let left = AtomicUsize::new(left);
    let age_max = Duration::from_secs(120);
    Arc::new(Pool::new(Connections { left, fails }, 8, age_max))
}

/// Guards that a call waits for a connection that is being made only while there is no other: to
/// make one can take longer than ids last.
#[tokio::test]
async fn a_call_takes_what_another_gives_back() {
    let pool = pool(1, false);
    let used = pool.take().await.unwrap();
    let waits = tokio::spawn({
        let pool = Arc::clone(&pool);
        async move { pool.take().await.map(|loan| loan.settle(Ok(()))).is_ok() }
    });
    while pool.lock().waiting.is_empty() {
        tokio::task::yield_now().await;
    }
    used.settle(Ok(())).unwrap();
    assert!(waits.await.unwrap());
    // The one that is still being made will do for the next call.
    let used = pool.take().await.unwrap();
    let next = pool.pop(Urgency::Other).err().unwrap();
    assert_eq!(pool.lock().connecting, 1);
    used.settle(Ok(())).unwrap();
    assert!(next.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_failure_is_told_to_one_call_and_the_next_one_tries_again() {
    let pool = pool(0, true);
    for _ in 0..3 {
        assert!(pool.take().await.is_err());
        assert_eq!(pool.lock().connecting, 0);
    }
    pool.system.left.store(1, Ordering::SeqCst);
    assert!(pool.take().await.is_ok());
}

/// Guards calls of one runtime whose connection is made on another one, which ends.
#[test]
fn a_call_does_not_wait_for_a_runtime_that_ended() {
    let pool = pool(0, false);
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    };
    let other = runtime();
    let inside = other.enter();
    let waits = pool.pop(Urgency::Other).err().unwrap();
    drop(inside);
    drop(other);
    assert!(runtime().block_on(waits).unwrap().is_err());
    assert_eq!(pool.lock().connecting, 0);
}

/// Guards that a reservation finds a connection while the settings of tags are read.
#[tokio::test]
async fn a_spare_connection_rests_beside_the_only_one_in_use() {
    let pool = pool(8, false);
    let used = pool.take().await.unwrap();
    for _ in 0..3 {
        pool.keep_spare();
        while pool.lock().connecting > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(pool.lock().resting.len(), 1);
    }
    let other = pool.take().await.unwrap();
    pool.keep_spare();
    assert_eq!(pool.lock().connecting, 0, "two are enough");
    for loan in [used, other] {
        loan.settle(Ok(())).unwrap();
    }
    assert_eq!(pool.lock().resting.len(), 2);
}
