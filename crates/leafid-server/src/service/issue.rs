//! Segment ids, and ids of tags of either kind. Each call comes in two forms: `try_…` takes from
//! memory at once, without a lock and without allocating; the other waits for a segment if memory
//! holds too few.

use leafid::format::IdFormat;
use leafid::store::TagKind;
use leafid::{Formatted, Generator, Id, OtherKind, Permanent, SnowflakeIds, Tag};

use super::forms::cannot_write;
use super::{Caller, Issued, IssuedId, Service, ServiceError};
use crate::service::health::Phase;

/// The tag that a caller requested last, already resolved: repeated requests for one tag need no
/// look-up.
#[derive(Debug, Default)]
pub(crate) struct LastTag(Option<Generator>);

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
    pub fn try_next(&self, caller: &Caller, tag: &str) -> Result<IssuedId, ServiceError> {
        match self.try_numbers(caller, tag)? {
            Formatted::Numbers { ids, format } => self.written(tag, ids, format.as_ref()),
            Formatted::Refused(error) => Err(cannot_write(tag, error)),
            Formatted::OtherKind(other) => self.try_other_kind(caller, tag, other),
        }
    }

    /// Takes an id of a tag from its segments in memory, if it has segments.
    #[inline]
    fn try_numbers(&self, caller: &Caller, tag: &str) -> Result<Formatted<Id>, ServiceError> {
        self.let_in(caller, tag, 1)?;
        match self
            .generators
            .try_next_formatted(tag, |format| self.check_format(format))
        {
            Ok(taken) => {
                if let Formatted::Numbers { .. } = taken {
                    self.charge(caller, tag, 1);
                }
                Ok(taken)
            }
            Err(error) => Err(self.no_id(caller, error)),
        }
    }

    /// The next id of a tag without segments, from memory.
    fn try_other_kind(
        &self,
        caller: &Caller,
        tag: &str,
        other: OtherKind,
    ) -> Result<IssuedId, ServiceError> {
        if other.kind != TagKind::Snowflake {
            return self.try_text(caller, tag, other);
        }
        let id = self.try_snowflake_next(caller, Some(tag))?;
        self.snowflake_of(tag, id, &other)
    }

    /// A snowflake id as the tag writes it, if the tag may have it.
    fn snowflake_of(&self, tag: &str, id: Id, other: &OtherKind) -> Result<IssuedId, ServiceError> {
        above_segments(tag, other.min_id, Some(id))?;
        self.written(tag, id, other.form.format())
    }

    /// Snowflake ids as the tag writes them, if the tag may have them.
    fn snowflakes_of(
        &self,
        tag: &str,
        ids: SnowflakeIds,
        other: &OtherKind,
    ) -> Result<Issued, ServiceError> {
        above_segments(tag, other.min_id, ids.first())?;
        self.all_written(tag, Issued::Snowflake(ids), other.form.format())
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
    ) -> Result<IssuedId, ServiceError> {
        if let Some(generator) = last.0.as_ref().filter(|last| last.tag().as_str() == tag) {
            self.let_in(caller, tag, 1)?;
            if let Ok(id) = generator.try_next() {
                self.charge(caller, tag, 1);
                return Ok(IssuedId::Number(id));
            }
        }
        match self.try_numbers(caller, tag)? {
            // Of plain numbers only: a generator knows no format.
            Formatted::Numbers { ids, format: None } => {
                last.0 = self.generators.generator(tag).ok();
                Ok(IssuedId::Number(ids))
            }
            Formatted::Numbers { ids, format } => self.written(tag, ids, format.as_ref()),
            Formatted::Refused(error) => Err(cannot_write(tag, error)),
            Formatted::OtherKind(other) => self.try_other_kind(caller, tag, other),
        }
    }

    /// The next id of a tag of either kind; waits for a segment if needed.
    ///
    /// # Errors
    ///
    /// As [`segment_next`](Self::segment_next), and for snowflake tags as
    /// [`snowflake_next`](Self::snowflake_next).
    pub async fn next(&self, caller: &Caller, tag: &str) -> Result<IssuedId, ServiceError> {
        match self.try_next(caller, tag) {
            // On the heap, so that the usual call stays small.
            Err(error) if error.is_worth_waiting() => Box::pin(self.wait_next(caller, tag)).await,
            done => done,
        }
    }

    async fn wait_next(&self, caller: &Caller, tag: &str) -> Result<IssuedId, ServiceError> {
        let _waiting = self.gate.wait()?;
        match self.wait_numbers(caller, tag).await? {
            Formatted::Numbers { ids, format } => self.written(tag, ids, format.as_ref()),
            Formatted::OtherKind(other) if other.kind == TagKind::Snowflake => {
                let id = self.take_snowflake(caller, Some(tag)).await?;
                self.snowflake_of(tag, id, &other)
            }
            Formatted::Refused(error) => Err(cannot_write(tag, error)),
            Formatted::OtherKind(other) => self.wait_text(caller, tag, other).await,
        }
    }

    /// Takes an id of a tag from its segments, if it has segments; waits for one if needed.
    async fn wait_numbers(
        &self,
        caller: &Caller,
        tag: &str,
    ) -> Result<Formatted<Id>, ServiceError> {
        self.admitted(caller, tag, 1).await?;
        let check = |format: &dyn IdFormat| self.check_format(format);
        let taking = || self.generators.next_formatted(tag, check);
        let taken = self.or_create(caller, taking).await?;
        if let Formatted::Numbers { .. } = taken {
            self.charge(caller, tag, 1);
        }
        Ok(taken)
    }

    /// The next id of a tag of any kind but snowflake, from memory. Never waits.
    ///
    /// # Errors
    ///
    /// As [`segment_next`](Self::segment_next).
    #[inline]
    pub fn try_segment_next(&self, caller: &Caller, tag: &str) -> Result<IssuedId, ServiceError> {
        match self.try_numbers(caller, tag)? {
            Formatted::Numbers { ids, format } => self.written(tag, ids, format.as_ref()),
            Formatted::Refused(error) => Err(cannot_write(tag, error)),
            Formatted::OtherKind(other) => self.try_text(caller, tag, other),
        }
    }

    /// The next id of a tag of any kind but snowflake; waits for a segment if needed.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SegmentOff`], [`ServiceError::NotStarted`], [`ServiceError::Overloaded`],
    /// [`ServiceError::OverQuota`], [`ServiceError::NoToken`], and [`ServiceError::Issue`], for
    /// example for a snowflake tag. If tags are created on first use,
    /// [`ServiceError::MayNotCreate`] and [`ServiceError::TooManyNewTags`].
    #[inline]
    pub async fn segment_next(&self, caller: &Caller, tag: &str) -> Result<IssuedId, ServiceError> {
        match self.try_segment_next(caller, tag) {
            Err(error) if error.is_worth_waiting() => {
                Box::pin(self.wait_segment_next(caller, tag)).await
            }
            done => done,
        }
    }

    async fn wait_segment_next(
        &self,
        caller: &Caller,
        tag: &str,
    ) -> Result<IssuedId, ServiceError> {
        let _waiting = self.gate.wait()?;
        match self.wait_numbers(caller, tag).await? {
            Formatted::Numbers { ids, format } => self.written(tag, ids, format.as_ref()),
            Formatted::Refused(error) => Err(cannot_write(tag, error)),
            Formatted::OtherKind(other) => self.wait_text(caller, tag, other).await,
        }
    }

    /// The next number of a segment tag; waits for a segment if needed. Only rows of gear_idgen give
    /// out numbers beside texts: elsewhere a number could be the text of another one, or show what an
    /// opaque format hides.
    ///
    /// # Errors
    ///
    /// [`ServiceError::TextTag`]; and as [`segment_next`](Self::segment_next).
    pub(crate) async fn next_number(&self, caller: &Caller, tag: &str) -> Result<Id, ServiceError> {
        self.let_in(caller, tag, 1)?;
        self.check_number(tag)?;
        let id = match self.generators.try_next(tag) {
            Ok(id) => id,
            Err(error) => {
                let error = self.no_id(caller, error);
                if !error.is_worth_waiting() {
                    return Err(error);
                }
                let _waiting = self.gate.wait()?;
                self.admitted(caller, tag, 1).await?;
                self.or_create(caller, || self.generators.next(tag)).await?
            }
        };
        // The tag may have been loaded only now. Then the number is lost.
        self.check_number(tag)?;
        self.charge(caller, tag, 1);
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
        let check = |format: &dyn IdFormat| self.check_format(format);
        let taken = self.generators.try_next_many_formatted(tag, count, check);
        match taken.map_err(|error| self.no_id(caller, error))? {
            Formatted::Numbers { ids, format } => {
                self.charge(caller, tag, count);
                self.all_written(tag, Issued::Segment(ids), format.as_ref())
            }
            Formatted::OtherKind(other) if other.kind == TagKind::Snowflake => {
                let ids = self.try_snowflake_next_many(caller, Some(tag), count)?;
                self.snowflakes_of(tag, ids, &other)
            }
            Formatted::Refused(error) => Err(cannot_write(tag, error)),
            Formatted::OtherKind(other) => self.try_texts(caller, tag, count, other),
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
        self.admitted(caller, tag, count).await?;
        self.check_unseen_share(caller, "count", tag, count).await?;
        let check = |format: &dyn IdFormat| self.check_format(format);
        let taking = || self.generators.next_many_formatted(tag, count, check);
        match self.or_create(caller, taking).await? {
            Formatted::Numbers { ids, format } => {
                self.charge(caller, tag, count);
                self.all_written(tag, Issued::Segment(ids), format.as_ref())
            }
            Formatted::OtherKind(other) if other.kind == TagKind::Snowflake => {
                let ids = self.take_snowflakes(caller, Some(tag), count).await?;
                self.snowflakes_of(tag, ids, &other)
            }
            Formatted::Refused(error) => Err(cannot_write(tag, error)),
            Formatted::OtherKind(other) => self.wait_texts(caller, tag, count, other).await,
        }
    }

    /// The last id of a tag that this server issued, as the tag writes it; `None` if there is
    /// none, if its text holds more than the number, such as a date, and for calendar counters and
    /// families. It issues nothing. Snowflake tags share one generator, and this is the last id of
    /// all of them.
    #[must_use]
    pub fn last(&self, tag: &str) -> Option<IssuedId> {
        let (id, format) = match self.generators.other_kind(tag) {
            Some(OtherKind {
                kind: TagKind::Snowflake,
                form,
                ..
            }) => (self.last_snowflake()?, form.format().cloned()),
            Some(_) => return None,
            None => (self.generators.last(tag)?, self.generators.format(tag)),
        };
        match format {
            Some(format) if !format.is_stable() => None,
            format => self.written(tag, id, format.as_ref()).ok(),
        }
    }

    /// Whether a caller may have that many segment ids here now. Its permissions are checked first.
    #[inline]
    pub(super) fn let_in(
        &self,
        caller: &Caller,
        tag: &str,
        count: u64,
    ) -> Result<(), ServiceError> {
        self.access.check(caller, Some(tag), count)?;
        if self.access.may_bind(caller) {
            self.check_counter(caller, tag, count)?;
        }
        self.switched_on()
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
    pub(super) async fn started(&self) -> Result<(), ServiceError> {
        if self.health.phase() != Phase::Starting {
            return Ok(());
        }
        let wait_max = self.generators.options().wait_max;
        let started = self.health.started(wait_max).await;
        started.map_err(|reason| ServiceError::NotStarted { reason })
    }
}
