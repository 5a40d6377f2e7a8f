//! Guards which connection a call gets, on a store without any other function.

use std::sync::atomic::AtomicUsize;

use leafid::store::{Reserve, Reserved, StoreReport};
use tokio::sync::SemaphorePermit;

use super::*;
use crate::InitReport;
use crate::sql::Work;
use crate::sql_error::{CallError, SqlErrorKind};

/// A store that only makes connections: a number of them, and then one that hangs, or one that
/// fails.
struct Connections {
    left: AtomicUsize,
    /// How many were begun.
    begun: AtomicUsize,
    /// How many that hang may be completed.
    completed: Semaphore,
    fails: bool,
}

impl Backend for Connections {
    type Connection = ();
    /// Its number 1040 says that there are too many connections.
    type Dialect = sqlx::MySqlConnection;

    const CONNECTIONS_MAX: usize = usize::MAX;

    async fn connect(&self, _: Patience) -> Result<(), StoreError> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let less = |left: usize| left.checked_sub(1);
        if self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
            .is_ok()
        {
            return Ok(());
        }
        match self.fails {
            true => Err(StoreError::unavailable(
                "no more",
                SqlError::new(SqlErrorKind::Database, "full").with_code(Some("1040".into())),
            )),
            false => {
                let completed = self.completed.acquire().await;
                completed
                    .map(SemaphorePermit::forget)
                    .map_err(|error| StoreError::unavailable("closed", error))
            }
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

    async fn recheck(&self, (): &mut ()) -> Result<(), StoreError> {
        Ok(())
    }

    async fn run<W: Work>(&self, (): &mut (), _: W) -> Result<W::Answer, CallError> {
        unreachable!()
    }

    async fn transact<W: Work>(&self, (): &mut (), _: W) -> Result<W::Answer, CallError> {
        unreachable!()
    }

    async fn reserve(&self, (): &mut (), _: &Reserve) -> Result<Reserved, CallError> {
        unreachable!()
    }

    async fn inspect(&self, (): &mut ()) -> Result<StoreReport, CallError> {
        unreachable!()
    }

    async fn init(&self, (): &mut ()) -> Result<InitReport, CallError> {
        unreachable!()
    }

    async fn probe(&self, (): &mut ()) -> Result<(), CallError> {
        unreachable!()
    }

    fn known_identity(&self) -> Option<String> {
        None
    }

    fn check_identity(&self, (): &(), _: &str) -> Result<(), CallError> {
        Ok(())
    }

    async fn prepare(&self, (): &mut ()) -> Result<(), CallError> {
        unreachable!()
    }

    async fn clock_ms(&self, (): &mut ()) -> Result<Option<i64>, CallError> {
        unreachable!()
    }
}

fn pool(left: usize, fails: bool) -> Arc<Pool<Connections>> {
    aging_pool(left, fails, Duration::from_secs(120))
}

fn aging_pool(left: usize, fails: bool, age_max: Duration) -> Arc<Pool<Connections>> {
    let connections = Connections {
        left: AtomicUsize::new(left),
        begun: AtomicUsize::new(0),
        completed: Semaphore::new(0),
        fails,
    };
    Arc::new(Pool::new(
        Arc::new(connections),
        8,
        age_max,
        Patience::Usual,
    ))
}

/// Lets all runnable tasks run.
async fn run_ready_tasks() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// Guards that a call waits for a connection that is being made only if there is no other: making
/// one can take longer than ids last. Reservations come first.
#[tokio::test]
async fn a_call_takes_what_another_gives_back() {
    let pool = pool(1, false);
    let used = pool.take().await.unwrap();
    let waits = |urgency| {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move { pool.take_with(urgency).await.map(drop).is_ok() })
    };
    let [other, reserves] = [Urgency::Other, Urgency::Reserving].map(waits);
    run_ready_tasks().await;
    assert_eq!(pool.lock().waiting.len(), 2);
    used.give_back(Ok(())).unwrap();
    assert!(reserves.await.unwrap());
    assert!(!other.is_finished());
    other.abort();
}

/// Guards that no call waits long for what another has begun: it may hang, or have failed long ago.
#[tokio::test]
async fn an_attempt_of_a_call_that_was_given_up_holds_up_no_other() {
    let pool = pool(0, false);
    let given_up = tokio::spawn({
        let pool = Arc::clone(&pool);
        async move { pool.take().await.map(drop).is_ok() }
    });
    run_ready_tasks().await;
    given_up.abort();
    run_ready_tasks().await;
    pool.backend.left.store(1, Ordering::SeqCst);
    assert!(pool.take().await.is_ok());
}

/// Guards a slow server against one new connection after the other, each given up for one that
/// another call gave back.
#[tokio::test]
async fn an_attempt_goes_on_for_later_calls() {
    let pool = pool(1, false);
    let begun = || pool.backend.begun.load(Ordering::SeqCst);
    let take = || {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move {
            let pooled = pool.take().await.unwrap();
            let answer = tokio::time::sleep(Duration::from_secs(3600));
            answer.await;
            drop(pooled);
        })
    };
    let used = pool.take().await.unwrap();
    let first = take();
    run_ready_tasks().await;
    assert_eq!(begun(), 2);
    used.give_back(Ok(())).unwrap();
    run_ready_tasks().await;
    let second = take();
    run_ready_tasks().await;
    assert_eq!(
        begun(),
        2,
        "the one that is being made is for the second call"
    );
    pool.backend.completed.add_permits(1);
    run_ready_tasks().await;
    assert_eq!(pool.in_use_len.load(Ordering::SeqCst), 2);
    assert_eq!(pool.attempts_len.load(Ordering::SeqCst), 0);
    for call in [first, second] {
        call.abort();
    }
}

/// Guards a server against callers that give up sooner than it makes a connection.
#[tokio::test]
async fn calls_that_are_given_up_share_an_attempt() {
    let pool = pool(0, false);
    for _ in 0..20 {
        let given_up = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move { pool.take().await.map(drop).is_ok() }
        });
        run_ready_tasks().await;
        given_up.abort();
        run_ready_tasks().await;
    }
    assert_eq!(pool.backend.begun.load(Ordering::SeqCst), 1);
    pool.backend.completed.add_permits(1);
    run_ready_tasks().await;
    assert_eq!(pool.lock().idle.len(), 1);
}

/// Guards that nobody waits long for an attempt that hangs, and a reservation not at all.
#[tokio::test]
async fn an_attempt_that_hangs_holds_up_no_later_call() {
    let pool = pool(1, false);
    let used = pool.take().await.unwrap();
    let waits = tokio::spawn({
        let pool = Arc::clone(&pool);
        async move { pool.take().await.map(drop) }
    });
    run_ready_tasks().await;
    used.give_back(Ok(())).unwrap();
    waits.await.unwrap().unwrap();
    assert_eq!(pool.attempts_len.load(Ordering::SeqCst), 1);
    for (urgency, wait_min) in [
        (Urgency::Reserving, Duration::ZERO),
        (Urgency::Other, ATTEMPT_PAUSE),
    ] {
        pool.backend.left.store(1, Ordering::SeqCst);
        let began = pool.clock.now();
        assert!(pool.take_with(urgency).await.is_ok());
        let waited = pool.clock.now().saturating_sub(began);
        assert!(waited >= wait_min, "{urgency:?}: {waited:?}");
    }
}

#[tokio::test]
async fn a_failure_is_told_and_the_next_call_tries_again() {
    let pool = pool(0, true);
    for _ in 0..3 {
        assert!(pool.take().await.is_err());
    }
    pool.backend.left.store(1, Ordering::SeqCst);
    assert!(pool.take().await.is_ok());
}

/// Guards that a reservation finds a connection while the settings of tags are read.
#[tokio::test]
async fn a_spare_connection_is_idle_beside_the_only_one_in_use() {
    let pool = pool(8, false);
    pool.is_slow.store(true, Ordering::Relaxed);
    let used = pool.take().await.unwrap();
    for _ in 0..3 {
        pool.keep_spare();
        while pool.is_renewing.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        assert_eq!(pool.lock().idle.len(), 1);
    }
    let other = pool.take().await.unwrap();
    pool.keep_spare();
    assert!(!pool.is_renewing.load(Ordering::Relaxed), "two are enough");
    for pooled in [used, other] {
        pooled.give_back(Ok(())).unwrap();
    }
    assert_eq!(pool.lock().idle.len(), 2);
}

/// Guards that an old connection is replaced even if no call takes it: its server may no longer be
/// the one in use.
#[tokio::test]
async fn old_connections_are_replaced_one_by_one() {
    let pool = aging_pool(8, false, Duration::ZERO);
    let loans = [pool.take().await.unwrap(), pool.take().await.unwrap()];
    for pooled in loans {
        pooled.give_back(Ok(())).unwrap();
    }
    for replaced in 1..=2 {
        let pooled = pool.take().await.unwrap();
        pooled.give_back(Ok(())).unwrap();
        while pool.is_renewing.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        let mut state = pool.lock();
        assert_eq!(state.idle.len(), 2);
        // It stays young from now on.
        state.idle[1].age.born = Duration::MAX;
        let is_young = |idle: &&Idle<()>| idle.age.born == Duration::MAX;
        assert_eq!(state.idle.iter().filter(is_young).count(), replaced);
    }
    let left = pool.backend.left.load(Ordering::SeqCst);
    drop(pool.take().await.unwrap());
    assert_eq!(
        pool.backend.left.load(Ordering::SeqCst),
        left,
        "both are new"
    );
}

/// Guards a database that allows this process one connection: calls wait for it.
#[tokio::test]
async fn calls_wait_for_the_only_connection_that_there_is() {
    let pool = pool(1, true);
    let used = pool.take().await.unwrap();
    let waits = tokio::spawn({
        let pool = Arc::clone(&pool);
        async move { pool.take().await.map(drop) }
    });
    run_ready_tasks().await;
    assert!(!waits.is_finished());
    used.give_back(Ok(())).unwrap();
    waits.await.unwrap().unwrap();
}
