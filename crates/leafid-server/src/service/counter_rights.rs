//! Calls that name a period of a calendar counter, `NAME@LABEL`: what binds the counter binds them
//! too, its quota and the tokens that do not cover it. A call that names the counter is bound by it
//! alone.
//!
//! Whether `NAME` is a calendar counter is asked of the store only where that makes a difference,
//! and kept: a store that is down later opens nothing. What is not known is refused.

use std::sync::Arc;
use std::time::Duration;

use leafid::format::Form;
use leafid::store::{StoreError, TagKind, TagRecord};
use leafid::{ErrorKind, Generators, OtherKind, Permanent, Tag, TransientReason};

use super::counter_names::counter_name;
use super::create_on_first_use::transient;
use super::{Caller, Service, ServiceError};

/// How long a name that is no calendar counter is taken for none: one may be created.
const NO_COUNTER_FOR: Duration = Duration::from_secs(10);

impl Service {
    /// Waits until the store's settings were checked, and until it is known what binds the caller.
    pub(super) async fn admitted(
        &self,
        caller: &Caller,
        tag: &str,
        count: u64,
    ) -> Result<(), ServiceError> {
        self.started().await?;
        if self.access.may_bind(caller) {
            self.learn_counter(caller, tag).await?;
            self.check_counter(caller, tag, count)?;
        }
        Ok(())
    }

    /// Whether the calendar counter of which a tag is a period lets a caller have that many ids.
    #[cold]
    #[inline(never)]
    pub(super) fn check_counter(
        &self,
        caller: &Caller,
        tag: &str,
        count: u64,
    ) -> Result<(), ServiceError> {
        let Some(name) = self.binding_name(caller, tag) else {
            return Ok(());
        };
        match self.is_counter(name) {
            Some(true) => self.access.check_counter(caller, name, count),
            Some(false) => Ok(()),
            None => {
                let tag = Tag::new(name).map_err(Permanent::BadTag);
                let tag = tag.map_err(leafid::IssueError::from)?;
                Err(transient(tag, TransientReason::Loading).into())
            }
        }
    }

    /// Charges ids that a caller was issued, also to the calendar counter of which the tag is a
    /// period.
    #[inline]
    pub(super) fn charge(&self, caller: &Caller, tag: &str, count: u64) {
        self.access.charge(caller, Some(tag), count);
        if self.access.has_quotas() {
            self.charge_counter(caller, tag, count);
        }
    }

    #[cold]
    #[inline(never)]
    fn charge_counter(&self, caller: &Caller, tag: &str, count: u64) {
        let name = self.binding_name(caller, tag);
        if let Some(name) = name.filter(|name| self.is_counter(name) == Some(true)) {
            self.access.charge_counter(name, count);
        }
    }

    /// The name before a label, if it makes a difference whether it is that of a counter.
    fn binding_name<'t>(&self, caller: &Caller, tag: &'t str) -> Option<&'t str> {
        counter_name(tag).filter(|name| self.access.would_bind(caller, name))
    }

    /// Whether a name is that of a calendar counter; `None` if it has to be asked for.
    pub(super) fn is_counter(&self, name: &str) -> Option<bool> {
        if let Some(OtherKind { form, .. }) = self.generators.other_kind(name) {
            return Some(matches!(form, Form::Calendar(_)));
        }
        let answer = self.counter_names.of(name)?;
        let is_current = answer.until.is_none_or(|until| self.clock.now() < until);
        is_current.then_some(answer.is_calendar)
    }

    /// Learns whether the name of a period's tag is that of a counter, waiting up to `wait_max`.
    async fn learn_counter(&self, caller: &Caller, tag: &str) -> Result<(), ServiceError> {
        let Some(name) = self.binding_name(caller, tag) else {
            return Ok(());
        };
        if self.is_counter(name).is_some() {
            return Ok(());
        }
        let Ok(name) = Tag::new(name) else {
            return Ok(());
        };
        let read = self.counter_names.read(&name, || self.learn(&name));
        let wait_max = self.generators.options().wait_max;
        let end = match read {
            Some(read) => tokio::time::timeout(wait_max, read).await.ok().flatten(),
            None => None,
        };
        match end {
            Some(Ok(())) => Ok(()),
            // The last answer still holds while the store does not answer.
            _ if self.counter_names.keep(&name, self.no_counter_until()) => Ok(()),
            Some(Err(error)) => Err(unreadable(name, error)),
            None => Err(transient(name, TransientReason::Loading).into()),
        }
    }

    /// Reads a name's row, and keeps whether it is that of a counter.
    fn learn(
        &self,
        name: &Tag,
    ) -> impl Future<Output = Result<(), Arc<StoreError>>> + Send + use<> {
        let (names, generators) = (Arc::clone(&self.counter_names), self.generators.clone());
        let (name, place) = (name.clone(), self.gate.caller_call());
        let clock = Arc::clone(&self.clock);
        async move {
            let _place = place.await;
            let record = generators.read_tag(&name).await?;
            let until = Some(clock.now().saturating_add(NO_COUNTER_FOR));
            let (is_calendar, until) = match record.map(|record| calendar(&generators, &record)) {
                Some(Some(true)) => (true, None),
                // It binds until its format can be read.
                Some(None) => (true, until),
                _ => (false, until),
            };
            names.learn(name, is_calendar, until);
            Ok(())
        }
    }

    fn no_counter_until(&self) -> Duration {
        self.clock.now().saturating_add(NO_COUNTER_FOR)
    }
}

/// No id, because the row that says what binds the caller cannot be read.
fn unreadable(tag: Tag, error: Arc<StoreError>) -> ServiceError {
    let error = match (&*error, error.kind()) {
        (StoreError::BadRow { message }, _) => {
            let message = message.clone();
            Permanent::BadRow { tag, message }.into()
        }
        (_, ErrorKind::Misconfigured) => {
            let source = error;
            Permanent::Misconfigured { tag, source }.into()
        }
        _ => transient(tag, TransientReason::StoreFailed(error)),
    };
    ServiceError::Issue(error)
}

/// Whether a tag is a calendar counter; `None` if its format cannot be read.
fn calendar(generators: &Generators, record: &TagRecord) -> Option<bool> {
    if record.settings.kind != TagKind::Segment || record.format.is_none() {
        return Some(false);
    }
    let form = generators.form_of(record).ok()?;
    Some(matches!(form, Form::Calendar(_)))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use leafid::ManualClock;
    use leafid::store::{
        MemoryStore, Reserve, Reserved, SegmentStore, StoreReport, StoreResult, TagPatch, TagSpec,
    };

    use tokio::sync::Notify;

    use super::*;
    use crate::config::{
        Config, Limits, QuotaScope, SecretHash, TagPattern, TokenScope, TokenSpec,
    };

    const FORMAT: &str = "{date %Y}-{number width=9 restart=year}";

    /// A store that can be down for reads of names without a label, or not answer them.
    #[derive(Default)]
    struct Store {
        memory: MemoryStore,
        is_down: AtomicBool,
        hangs: AtomicBool,
        answers: Notify,
        reads: AtomicUsize,
    }

    impl SegmentStore for Store {
        fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
            self.memory.reserve(reserve)
        }

        fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
            if !tags.iter().any(|tag| !tag.as_str().contains('@')) {
                return self.memory.read(tags);
            }
            self.reads.fetch_add(1, Ordering::SeqCst);
            Box::pin(async {
                if self.hangs.load(Ordering::SeqCst) {
                    self.answers.notified().await;
                }
                match self.is_down.load(Ordering::SeqCst) {
                    true => Err(StoreError::unavailable("down", "no route")),
                    false => self.memory.read(tags).await,
                }
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

    struct Line {
        service: Service,
        store: Arc<Store>,
        clock: ManualClock,
    }

    /// A counter `invoice` and a plain tag `plain`, with a tag `@2026` each; both have a quota.
    async fn line(per_second: u64, tokens: Vec<TokenSpec>) -> Line {
        let quota = |name: &str| (QuotaScope::Tag(Tag::new(name).unwrap()), per_second);
        let config = Config {
            create_tags: Some(false),
            quotas: vec![quota("invoice"), quota("plain")],
            tokens,
            ..Config::default()
        };
        let (store, clock) = (Arc::new(Store::default()), ManualClock::new());
        let on = Arc::clone(&store) as Arc<dyn SegmentStore>;
        let at = Arc::new(clock.clone());
        let (service, driver) = Service::in_memory_on(at, on, &config, Limits::default());
        drop(tokio::spawn(driver));
        for name in ["invoice", "plain", "invoice@2026", "plain@2026"] {
            let mut spec = TagSpec::new(Tag::new(name).unwrap());
            spec.format = (name == "invoice").then(|| FORMAT.into());
            spec.settings.step = 1_000_000;
            service.generators.create_tag(&spec).await.unwrap();
        }
        // To make a period's tag, its counter was read.
        store.reads.store(0, Ordering::SeqCst);
        Line {
            service,
            store,
            clock,
        }
    }

    fn limited(tags: &[&str]) -> TokenSpec {
        TokenSpec {
            name: "limited".into(),
            secret: SecretHash::of("secret"),
            next_secret: None,
            is_admin: false,
            scope: TokenScope::All,
            tags: tags.iter().copied().map(TagPattern::new).collect(),
            ids_per_second: None,
        }
    }

    /// Guards that the quota of a counter holds for each call that names a period, the first one
    /// included, and that a tag which only looks like a period has its own.
    #[tokio::test]
    async fn a_quota_of_a_counter_binds_calls_that_name_a_period() {
        let line = line(0, Vec::new()).await;
        let (service, caller) = (&line.service, &Caller::anonymous());
        let over = |error: ServiceError| matches!(error, ServiceError::OverQuota { .. });
        let period = "invoice@2026";
        assert!(over(service.next(caller, period).await.unwrap_err()));
        assert!(over(
            service.segment_next(caller, period).await.unwrap_err()
        ));
        assert!(over(service.next_number(caller, period).await.unwrap_err()));
        assert!(over(
            service.next_many(caller, period, 5).await.unwrap_err()
        ));
        assert!(over(service.take(caller, period, 5).await.unwrap_err()));
        assert!(over(service.try_next(caller, period).unwrap_err()));
        assert!(service.access().has_quota(caller, period));
        assert!(service.next(caller, "plain@2026").await.is_ok());
        assert!(service.take(caller, "plain@2026", 5).await.is_ok());
    }

    /// Guards that ids of a period are charged to its counter.
    #[tokio::test]
    async fn ids_of_a_period_are_charged_to_its_counter() {
        let line = line(1000, Vec::new()).await;
        let (service, caller) = (&line.service, &Caller::anonymous());
        assert!(service.take(caller, "invoice@2026", 10_000).await.is_ok());
        for tag in ["invoice", "invoice@2026"] {
            let error = service.next(caller, tag).await.unwrap_err();
            assert!(matches!(error, ServiceError::OverQuota { .. }), "{error}");
        }
        assert!(service.take(caller, "plain@2026", 10_000).await.is_ok());
        assert!(service.next(caller, "plain@2026").await.is_ok());
    }

    /// Guards that a token which does not cover the counter takes no ids of its periods.
    #[tokio::test]
    async fn a_token_must_cover_the_counter_of_a_period() {
        for (tags, is_allowed) in [(&["*@2026"][..], false), (&["*@2026", "invoice"], true)] {
            let line = line(1000, vec![limited(tags)]).await;
            let caller = line.service.authenticate(None, "secret").unwrap();
            let taken = line.service.next(&caller, "invoice@2026").await;
            assert_eq!(taken.is_ok(), is_allowed, "{tags:?}: {taken:?}");
            assert!(line.service.next(&caller, "plain@2026").await.is_ok());
        }
    }

    /// Guards that a store which is down opens nothing: what is not known is refused, and what was
    /// known stays.
    #[tokio::test]
    async fn an_outage_opens_nothing() {
        let line = line(0, Vec::new()).await;
        let (service, caller) = (&line.service, &Caller::anonymous());
        line.store.is_down.store(true, Ordering::SeqCst);
        let unknown = service.next(caller, "invoice@2026").await.unwrap_err();
        assert!(unknown.is_worth_waiting(), "{unknown}");
        line.store.is_down.store(false, Ordering::SeqCst);
        assert!(service.next(caller, "invoice@2026").await.is_err());
        assert!(service.next(caller, "plain@2026").await.is_ok());
        line.store.is_down.store(true, Ordering::SeqCst);
        line.clock.advance(NO_COUNTER_FOR * 2);
        let refused = service.next(caller, "invoice@2026").await.unwrap_err();
        assert!(
            matches!(refused, ServiceError::OverQuota { .. }),
            "{refused}"
        );
        assert!(service.next(caller, "plain@2026").await.is_ok());
    }

    /// Guards that a call does not wait longer than `wait-max` for a store that hangs, that the
    /// read serves all calls and goes on without them, and that a known answer outlives it.
    #[tokio::test(start_paused = true)]
    async fn a_store_that_hangs_delays_no_call_for_long() {
        let line = line(0, Vec::new()).await;
        let (service, store, caller) = (&line.service, &line.store, &Caller::anonymous());
        assert!(service.next(caller, "plain@2026").await.is_ok());
        let before = store.reads.swap(0, Ordering::SeqCst);
        assert_eq!(before, 1);
        store.hangs.store(true, Ordering::SeqCst);
        let wait_max = service.generators.options().wait_max;
        let started = tokio::time::Instant::now();
        let calls = (0..50).map(|_| service.next(caller, "invoice@2026"));
        for end in futures_util::future::join_all(calls).await {
            assert!(end.unwrap_err().is_worth_waiting());
        }
        assert_eq!(started.elapsed(), wait_max);
        line.clock.advance(NO_COUNTER_FOR * 2);
        assert!(service.next(caller, "plain@2026").await.is_ok());
        assert!(started.elapsed() <= wait_max * 2);
        assert!(service.try_next(caller, "plain@2026").is_ok());
        assert_eq!(store.reads.load(Ordering::SeqCst), 2);
        store.hangs.store(false, Ordering::SeqCst);
        store.answers.notify_waiters();
        tokio::task::yield_now().await;
        tokio::time::sleep(wait_max).await;
        let refused = service.try_next(caller, "invoice@2026").unwrap_err();
        assert!(
            matches!(refused, ServiceError::OverQuota { .. }),
            "{refused}"
        );
    }
}
