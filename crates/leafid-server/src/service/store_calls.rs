//! The store calls that requests for ids cause outside the driver: a few at a time, and in the
//! background, so that a caller waits up to `wait_max` and leaves nothing half done.

use std::sync::Arc;

use leafid::store::TagRecord;
use leafid::{IssueError, Tag, TransientReason};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::create_on_first_use::transient;
use super::{Service, ServiceError};

impl Service {
    /// Makes a store call for a request for ids once there is a place for it. Waits up to
    /// `wait_max`; the call goes on without the caller.
    pub(super) async fn call_for_ids<C>(
        &self,
        tag: &Tag,
        place: impl Future<Output = Option<OwnedSemaphorePermit>>,
        call: C,
    ) -> Result<C::Output, IssueError>
    where
        C: Future<Output: Send> + Send + 'static,
    {
        let calling = async {
            let place = place.await;
            let task = tokio::spawn(async move {
                let _place = place;
                call.await
            });
            // An error: the runtime is shutting down.
            task.await.ok()
        };
        let wait_max = self.generators.options().wait_max;
        let called = tokio::time::timeout(wait_max, calling).await;
        let answer = called.ok().flatten();
        answer.ok_or_else(|| transient(tag.clone(), TransientReason::Loading))
    }

    /// Reads the row of a tag for a request for ids. Waits up to `wait_max`; a row that comes later
    /// is kept for the next try.
    pub(super) async fn read_for_ids(&self, tag: &Tag) -> Result<Option<TagRecord>, ServiceError> {
        if let Some(row) = self.late_rows.take(tag, self.clock.now()) {
            return Ok(row);
        }
        let (generators, name) = (self.generators.clone(), tag.clone());
        let (late, clock) = (Arc::clone(&self.late_rows), Arc::clone(&self.clock));
        let (answer, mut answered) = oneshot::channel();
        let reading = async move {
            let row = generators.read_tag(&name).await;
            if let Err(Ok(row)) = answer.send(row) {
                late.keep(name, row, clock.now());
            }
        };
        let place = self.gate.caller_call();
        self.call_for_ids(tag, place, reading).await?;
        let loading = |_| transient(tag.clone(), TransientReason::Loading);
        Ok(answered.try_recv().map_err(loading)??)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::future::join_all;
    use leafid::ManualClock;
    use leafid::store::{
        MemoryStore, Reserve, Reserved, SegmentStore, StoreReport, StoreResult, TagPatch, TagSpec,
    };
    use tokio::sync::Notify;
    use tokio::time::Instant;

    use super::*;
    use crate::config::{Config, Limits, QuotaScope, SecretHash, TokenScope, TokenSpec};
    use crate::service::Caller;
    use crate::service::late_rows::LateRows;

    const YEAR: Duration = Duration::from_secs(366 * 86_400);

    /// A store that can hang in reads of tags that are no periods.
    #[derive(Default)]
    struct Store {
        memory: MemoryStore,
        is_hanging: AtomicBool,
        /// Reads of these two go on.
        is_hanging_for_others: AtomicBool,
        hung: AtomicUsize,
        goes_on: Notify,
    }

    impl Store {
        fn hang(&self) {
            self.is_hanging.store(true, Ordering::SeqCst);
        }

        fn hung(&self) -> usize {
            self.hung.load(Ordering::SeqCst)
        }
    }

    impl SegmentStore for Store {
        fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
            self.memory.reserve(reserve)
        }

        fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
            Box::pin(async move {
                let is_period = |tag: &Tag| tag.as_str().contains('@');
                let is_known = |tag: &Tag| ["invoice", "plain"].contains(&tag.as_str());
                let for_others = self.is_hanging_for_others.load(Ordering::SeqCst);
                let hangs = self.is_hanging.load(Ordering::SeqCst)
                    || for_others && !tags.iter().all(is_known);
                if hangs && !tags.iter().all(is_period) {
                    self.hung.fetch_add(1, Ordering::SeqCst);
                    self.goes_on.notified().await;
                }
                self.memory.read(tags).await
            })
        }

        fn list<'a>(&'a self, _: Option<&'a Tag>, _: u32) -> StoreResult<'a, Vec<TagRecord>> {
            self.memory.list(None, 10)
        }

        fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
            self.memory.create(spec)
        }

        fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
            self.memory.update(tag, patch)
        }

        fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
            self.memory.delete(tag)
        }

        fn inspect(&self) -> StoreResult<'_, StoreReport> {
            self.memory.inspect()
        }

        fn probe(&self) -> StoreResult<'_, String> {
            self.memory.probe()
        }
    }

    /// A counter `invoice` and a plain tag `plain`, with a tag `@2026` each; with quotas, or tokens.
    async fn line(per_second: u64) -> (Service, Arc<Store>, ManualClock) {
        let quota = |name: &str| (QuotaScope::Tag(Tag::new(name).unwrap()), per_second);
        let token = TokenSpec {
            name: "periods".into(),
            secret: SecretHash::of("secret"),
            next_secret: None,
            is_admin: false,
            scope: TokenScope::All,
            tags: vec![crate::config::TagPattern::new("*@2026")],
            ids_per_second: None,
        };
        let config = Config {
            create_tags: Some(false),
            quotas: match per_second {
                0 => Vec::new(),
                _ => vec![quota("invoice"), quota("plain")],
            },
            tokens: match per_second {
                0 => vec![token, TokenSpec::new("shop", "secret of the shop")],
                _ => Vec::new(),
            },
            ..Config::default()
        };
        let (store, clock) = (Arc::new(Store::default()), ManualClock::new());
        let on = Arc::clone(&store) as Arc<dyn SegmentStore>;
        let at = Arc::new(clock.clone());
        let (service, driver) = Service::in_memory_on(at, on, &config, Limits::default());
        drop(tokio::spawn(driver));
        for name in ["invoice", "plain", "invoice@2026", "plain@2026"] {
            let mut spec = TagSpec::new(Tag::new(name).unwrap());
            let format = "{date %Y}-{number width=9 restart=year}";
            spec.format = (name == "invoice").then(|| format.into());
            service.generators.create_tag(&spec).await.unwrap();
        }
        (service, store, clock)
    }

    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    fn is_not_yet<T>(answer: &Result<T, ServiceError>) -> bool {
        let error = answer.as_ref().err();
        error.is_some_and(|error| error.code() == crate::Code::NotYet && error.is_worth_waiting())
    }

    /// Guards that many names have a few reads at once, and that nothing unknown is let through.
    #[tokio::test(start_paused = true)]
    async fn many_names_have_few_reads_at_once() {
        let (service, store, _clock) = line(0).await;
        let caller = service.authenticate(None, "secret").unwrap();
        store.hang();
        let names: Vec<_> = (0..50).map(|number| format!("a{number}@2026")).collect();
        let answers = join_all(names.iter().map(|name| service.next(&caller, name))).await;
        assert!(answers.iter().all(is_not_yet), "{answers:?}");
        assert_eq!(store.hung(), service.limits().caller_calls_max);
    }

    /// Guards that callers wait no longer for a period to begin, which it does without them.
    #[tokio::test(start_paused = true)]
    async fn a_period_begins_without_its_callers() {
        let (service, store, clock) = line(1_000_000).await;
        let caller = Caller::anonymous();
        assert!(service.next(&caller, "invoice").await.is_ok());
        store.hang();
        clock.set_wall(YEAR * 5);
        let (started, wait_max) = (Instant::now(), service.generators.options().wait_max);
        let calls = (0..50).map(|_| service.next(&caller, "invoice"));
        let answers = join_all(calls).await;
        assert!(answers.iter().all(is_not_yet), "{answers:?}");
        assert!(started.elapsed() <= wait_max * 2, "{:?}", started.elapsed());
        assert!(store.hung() <= service.limits().caller_calls_max);
        store.is_hanging.store(false, Ordering::SeqCst);
        store.goes_on.notify_waiters();
        settle().await;
        let period = Tag::new("invoice@1975").unwrap();
        let begun = service.generators.read_tag(&period).await.unwrap();
        assert!(begun.is_some(), "without its callers");
        let first = service.next(&caller, "invoice").await.unwrap();
        assert_eq!(first.to_string(), "1975-000000001");
    }

    /// Guards that calls for names that callers invent do not keep a period from beginning.
    #[tokio::test(start_paused = true)]
    async fn a_period_begins_beside_calls_for_unknown_names() {
        let (service, store, clock) = line(0).await;
        let caller = service.authenticate(None, "secret").unwrap();
        let shop = service.authenticate(None, "secret of the shop").unwrap();
        service.next(&shop, "invoice").await.unwrap();
        store.is_hanging_for_others.store(true, Ordering::SeqCst);
        let names: Vec<_> = (0..50).map(|number| format!("a{number}@2026")).collect();
        let flood = join_all(names.iter().map(|name| service.next(&caller, name)));
        clock.set_wall(YEAR * 5);
        let (answers, first) = futures_util::join!(flood, service.next(&shop, "invoice"));
        assert!(answers.iter().all(is_not_yet), "{answers:?}");
        assert_eq!(store.hung(), service.limits().caller_calls_max);
        assert_eq!(first.unwrap().to_string(), "1975-000000001");
    }

    /// Guards that other calls for ids that read a row wait no longer, and that a row which comes
    /// later helps the next one.
    #[tokio::test(start_paused = true)]
    async fn a_row_that_is_read_for_ids_is_not_waited_for() {
        let (service, store, clock) = line(1).await;
        store.hang();
        let (caller, plain) = (Caller::anonymous(), Tag::new("plain").unwrap());
        assert!(is_not_yet(&service.check_exists(&caller, &plain).await));
        store.goes_on.notify_waiters();
        settle().await;
        assert!(service.check_exists(&caller, &plain).await.is_ok());
        assert!(is_not_yet(&service.check_exists(&caller, &plain).await));
        store.goes_on.notify_waiters();
        settle().await;
        clock.advance(LateRows::KEPT_FOR);
        assert!(is_not_yet(&service.check_exists(&caller, &plain).await));
    }
}
