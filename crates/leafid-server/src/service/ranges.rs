//! Ranges of adjacent ids, which callers issue themselves.

use leafid::Segment;

use super::{Caller, Service, ServiceError};

impl Service {
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
        self.check_plain(tag)?;
        let taken = self.generators.try_take(tag, length);
        let range = taken.map_err(|error| self.no_id(caller, error).of_range())?;
        self.charge(caller, tag, length);
        self.check_plain(tag).map(|()| range)
    }

    /// A range of `length` adjacent ids of a tag, for issuing by the caller.
    ///
    /// # Errors
    ///
    /// As [`segment_next`](Self::segment_next), and [`ServiceError::BadCount`],
    /// [`ServiceError::NoSegments`], [`ServiceError::TextTag`].
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
        self.admitted(caller, tag, length).await?;
        self.check_unseen_share(caller, "length", tag, length)
            .await?;
        let taking = || self.generators.take(tag, length);
        let range = self.or_create(caller, taking).await;
        let range = range.map_err(ServiceError::of_range)?;
        self.charge(caller, tag, length);
        self.check_plain(tag).map(|()| range)
    }
}
