//! Segment ids, and ids of tags of either kind. Each call comes in two forms: `try_…` takes from
//! memory at once, without a lock and without allocating; the other waits for a segment if memory
//! holds too few.

use leafid::{Generator, Id, Limit, Permanent, Segment, Tag};

use super::{Caller, Issued, Service, ServiceError};
use crate::service::health::Phase;

/// The tag that a caller requested last, already resolved: repeated requests for one tag need no
/// look-up.
#[derive(Debug, Default)]
pub(crate) struct LastTag(Option<Generator>);

/// One call may take this part of the ids that are left below a tag's limit, so that a caller
/// cannot exhaust a tag before an operator notices.
const SHARE: u64 = 1000;
/// One call may always take this many.
const SHARE_MIN: u64 = 1000;

fn fits(
    field: &'static str,
    count: u64,
    limit: Limit,
    max_id: Option<u64>,
) -> Result<(), ServiceError> {
    let headroom = limit.headroom(max_id.unwrap_or(0));
    ServiceError::check_max(field, count, (headroom / SHARE).max(SHARE_MIN))
}

/// Refuses snowflake ids of a tag that reach down to where the segments of a former tag of this
/// name ended: those may have been issued.
fn above_segments(tag: &str, min_id: u64, first: Option<Id>) -> Result<(), ServiceError> {
    if first.is_none_or(|first| first.get() >= min_id) {
        return Ok(());
    }
    let tag = Tag::new(tag).map_err(Permanent::BadTag);
    let message = format!(
        "a deleted tag of this name had segment ids up to {min_id}, which its snowflake ids have \
        not reached; create a snowflake tag of another name"
    );
    let error = tag.map_or_else(|error| error, |tag| Permanent::BadRow { tag, message });
    Err(ServiceError::Issue(error.into()))
}

impl Service {
    /// The next id of a tag of either kind, from memory. Never waits.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next); if [`ServiceError::is_worth_waiting`], that call may succeed.
    #[inline]
    pub fn try_next(&self, caller: &Caller, tag: &str) -> Result<Id, ServiceError> {
        self.try_segment_next(caller, tag)
            .or_else(|error| self.try_snowflake_of(caller, tag, error))
    }

    /// The next id of a tag whose segments were asked in vain, if it is a snowflake tag.
    fn try_snowflake_of(
        &self,
        caller: &Caller,
        tag: &str,
        error: ServiceError,
    ) -> Result<Id, ServiceError> {
        let min_id = error.snowflakes_from().ok_or(error)?;
        let id = self.try_snowflake_next(caller, Some(tag))?;
        above_segments(tag, min_id, Some(id)).map(|()| id)
    }

    /// As [`try_next`](Self::try_next), for repeated requests of one caller.
    ///
    /// # Errors
    ///
    /// As [`try_next`](Self::try_next).
    pub(crate) fn try_next_again(
        &self,
        caller: &Caller,
        tag: &str,
        last: &mut LastTag,
    ) -> Result<Id, ServiceError> {
        if let Some(generator) = last.0.as_ref().filter(|last| last.tag().as_str() == tag) {
            self.let_in(caller, tag, 1)?;
            if let Ok(id) = generator.try_next() {
                self.access.charge(caller, Some(tag), 1);
                return Ok(id);
            }
        }
        match self.try_segment_next(caller, tag) {
            Ok(id) => {
                last.0 = self.generators.generator(tag).ok();
                Ok(id)
            }
            Err(error) => self.try_snowflake_of(caller, tag, error),
        }
    }

    /// The next id of a tag of either kind; waits for a segment if needed.
    ///
    /// # Errors
    ///
    /// As [`segment_next`](Self::segment_next), and for snowflake tags as
    /// [`snowflake_next`](Self::snowflake_next).
    pub async fn next(&self, caller: &Caller, tag: &str) -> Result<Id, ServiceError> {
        let error = match self.segment_next(caller, tag).await {
            Err(error) => error,
            done => return done,
        };
        let min_id = error.snowflakes_from().ok_or(error)?;
        let id = self.snowflake_next(caller, Some(tag)).await?;
        above_segments(tag, min_id, Some(id)).map(|()| id)
    }

    /// The next id of a segment tag, from memory. Never waits.
    ///
    /// # Errors
    ///
    /// As [`segment_next`](Self::segment_next).
    #[inline]
    pub fn try_segment_next(&self, caller: &Caller, tag: &str) -> Result<Id, ServiceError> {
        self.let_in(caller, tag, 1)?;
        let taken = self.generators.try_next(tag);
        let id = taken.map_err(|error| self.no_id(caller, error))?;
        self.access.charge(caller, Some(tag), 1);
        Ok(id)
    }

    /// The next id of a segment tag; waits for a segment if needed.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SegmentOff`], [`ServiceError::NotStarted`], [`ServiceError::Overloaded`],
    /// [`ServiceError::OverQuota`], [`ServiceError::NoToken`], and [`ServiceError::Issue`], for
    /// example for a snowflake tag. If tags are created on first use,
    /// [`ServiceError::MayNotCreate`] and [`ServiceError::TooManyNewTags`].
    #[inline]
    pub async fn segment_next(&self, caller: &Caller, tag: &str) -> Result<Id, ServiceError> {
        match self.try_segment_next(caller, tag) {
            // On the heap, so that the usual call stays small.
            Err(error) if error.is_worth_waiting() => Box::pin(self.wait_next(caller, tag)).await,
            done => done,
        }
    }

    async fn wait_next(&self, caller: &Caller, tag: &str) -> Result<Id, ServiceError> {
        let _waiting = self.gate.wait()?;
        self.started().await?;
        let id = self.or_create(caller, || self.generators.next(tag)).await?;
        self.access.charge(caller, Some(tag), 1);
        Ok(id)
    }

    /// The next `count` ids of a tag of either kind, from memory. Never waits.
    ///
    /// # Errors
    ///
    /// As [`next_many`](Self::next_many).
    pub fn try_next_many(
        &self,
        caller: &Caller,
        tag: &str,
        count: u64,
    ) -> Result<Issued, ServiceError> {
        self.access.check_token(caller)?;
        self.switched_on()?;
        ServiceError::check_count("count", count, self.limits.count_max)?;
        self.let_in(caller, tag, count)?;
        self.check_share(caller, "count", tag, count)?;
        match self.generators.try_next_many(tag, count) {
            Ok(taken) => {
                self.access.charge(caller, Some(tag), count);
                Ok(Issued::Segment(taken))
            }
            Err(error) => {
                let error = self.no_id(caller, error);
                let min_id = error.snowflakes_from().ok_or(error)?;
                let ids = self.try_snowflake_next_many(caller, Some(tag), count)?;
                above_segments(tag, min_id, ids.first())?;
                Ok(Issued::Snowflake(ids))
            }
        }
    }

    /// The next `count` ids of a tag of either kind: ascending, not always adjacent.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next), and [`ServiceError::BadCount`].
    pub async fn next_many(
        &self,
        caller: &Caller,
        tag: &str,
        count: u64,
    ) -> Result<Issued, ServiceError> {
        match self.try_next_many(caller, tag, count) {
            Err(error) if error.is_worth_waiting() => {
                Box::pin(self.wait_next_many(caller, tag, count)).await
            }
            done => done,
        }
    }

    async fn wait_next_many(
        &self,
        caller: &Caller,
        tag: &str,
        count: u64,
    ) -> Result<Issued, ServiceError> {
        let _waiting = self.gate.wait()?;
        self.started().await?;
        self.check_unseen_share(caller, "count", tag, count).await?;
        let taking = || self.generators.next_many(tag, count);
        match self.or_create(caller, taking).await {
            Ok(taken) => {
                self.access.charge(caller, Some(tag), count);
                Ok(Issued::Segment(taken))
            }
            Err(error) => {
                let min_id = error.snowflakes_from().ok_or(error)?;
                let ids = self.take_snowflakes(caller, Some(tag), count).await?;
                above_segments(tag, min_id, ids.first())?;
                Ok(Issued::Snowflake(ids))
            }
        }
    }

    /// A range of `length` adjacent ids of a tag, from memory. Never waits.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    pub fn try_take(
        &self,
        caller: &Caller,
        tag: &str,
        length: u64,
    ) -> Result<Segment, ServiceError> {
        self.access.check_token(caller)?;
        self.switched_on()?;
        ServiceError::check_count("length", length, self.limits.range_len_max)?;
        self.let_in(caller, tag, length)?;
        self.check_share(caller, "length", tag, length)?;
        let taken = self.generators.try_take(tag, length);
        let range = taken.map_err(|error| self.no_id(caller, error).of_range())?;
        self.access.charge(caller, Some(tag), length);
        Ok(range)
    }

    /// A range of `length` adjacent ids of a tag, for issuing by the caller.
    ///
    /// # Errors
    ///
    /// As [`segment_next`](Self::segment_next), and [`ServiceError::BadCount`],
    /// [`ServiceError::SnowflakeTag`].
    pub async fn take(
        &self,
        caller: &Caller,
        tag: &str,
        length: u64,
    ) -> Result<Segment, ServiceError> {
        match self.try_take(caller, tag, length) {
            Err(error) if error.is_worth_waiting() => {
                Box::pin(self.wait_take(caller, tag, length)).await
            }
            done => done,
        }
    }

    async fn wait_take(
        &self,
        caller: &Caller,
        tag: &str,
        length: u64,
    ) -> Result<Segment, ServiceError> {
        let _waiting = self.gate.wait()?;
        self.started().await?;
        self.check_unseen_share(caller, "length", tag, length)
            .await?;
        let taking = || self.generators.take(tag, length);
        let range = self.or_create(caller, taking).await;
        let range = range.map_err(ServiceError::of_range)?;
        self.access.charge(caller, Some(tag), length);
        Ok(range)
    }

    /// The last id of a tag that this server issued; `None` if there is none. It issues nothing.
    /// Snowflake tags share one generator, and this is the last id of all of them.
    #[must_use]
    pub fn last(&self, tag: &str) -> Option<Id> {
        let is_snowflake = || {
            let status = self.generators.status(tag)?;
            (status.stage == leafid::Stage::OtherKind).then_some(())
        };
        let last = self.generators.last(tag);
        last.or_else(|| is_snowflake().and_then(|()| self.last_snowflake()))
    }

    /// Whether a caller may have that many segment ids here now. Its permissions are checked first.
    #[inline]
    fn let_in(&self, caller: &Caller, tag: &str, count: u64) -> Result<(), ServiceError> {
        self.access.check(caller, Some(tag), count)?;
        self.switched_on()
    }

    /// Whether a call takes no more than its share of what is left of a tag that is in use here.
    /// Single ids are not limited: exhausting a tag with them takes its time.
    fn check_share(
        &self,
        caller: &Caller,
        field: &'static str,
        tag: &str,
        count: u64,
    ) -> Result<(), ServiceError> {
        if count <= SHARE_MIN || !self.access.is_shared_out(caller) {
            return Ok(());
        }
        match self.generators.status(tag) {
            Some(status) => fits(field, count, status.limit, status.max_id),
            None => Ok(()),
        }
    }

    /// The same for a tag of which this server may know nothing yet.
    async fn check_unseen_share(
        &self,
        caller: &Caller,
        field: &'static str,
        tag: &str,
        count: u64,
    ) -> Result<(), ServiceError> {
        if count <= SHARE_MIN || !self.access.is_shared_out(caller) {
            return Ok(());
        }
        let known = self.generators.status(tag);
        if known.is_some_and(|status| status.max_id.is_some()) {
            return self.check_share(caller, field, tag, count);
        }
        // An invalid or missing tag gets its error from the code that takes the ids.
        let Ok(tag) = Tag::new(tag) else {
            return Ok(());
        };
        let _place = self.gate.caller_call().await;
        match self.generators.read_tag(&tag).await? {
            Some(record) => fits(field, count, record.settings.limit, Some(record.max_id)),
            None => Ok(()),
        }
    }

    /// Whether segment ids are served here.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SegmentOff`].
    pub fn switched_on(&self) -> Result<(), ServiceError> {
        if self.segment {
            Ok(())
        } else {
            Err(ServiceError::SegmentOff)
        }
    }

    /// Nothing is reserved before the store's settings were checked.
    async fn started(&self) -> Result<(), ServiceError> {
        if self.health.phase() != Phase::Starting {
            return Ok(());
        }
        let wait_max = self.generators.options().wait_max;
        let started = self.health.started(wait_max).await;
        started.map_err(|reason| ServiceError::NotStarted { reason })
    }
}
