//! Decodes ids: by a layout, by the format of a tag, or by what they look like.

use leafid::format::FormatError;
use leafid::{IssueError, Layout, Parts, Permanent, Tag, WorkerId};
use leafid_formats::{Mark, Recognised, recognise};

use super::{Caller, Service, ServiceError};
use crate::tag_id::TagId;

impl Service {
    /// Decodes an id of a tag, exactly: a text that the tag does not issue is refused. The marks
    /// say what is impossible about it: a time in the future, or a worker id without a row.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::NotOfTag`], and as for reading a tag.
    pub async fn decode_of(
        &self,
        caller: &Caller,
        tag: &str,
        text: &str,
    ) -> Result<(TagId, Vec<Mark>), ServiceError> {
        let tag = Tag::new(tag).map_err(|error| IssueError::from(Permanent::BadTag(error)))?;
        let record = self.tag(caller, &tag).await?.record;
        let decoded = TagId::decode(&self.generators, self.layout, &record, text);
        let decoded = decoded.map_err(|error| match error {
            FormatError::MissingKey(_) => {
                let tag = tag.to_string();
                ServiceError::Format { tag, error }
            }
            error => ServiceError::NotOfTag {
                tag,
                why: error.to_string(),
            },
        })?;
        let future = decoded
            .unix_ms()
            .and_then(|ms| Mark::of_time(ms, self.now_ms()));
        let worker = decoded.worker();
        let unknown = worker.and_then(|(worker, unix_ms)| self.unknown_worker(worker, unix_ms));
        Ok((decoded, future.into_iter().chain(unknown).collect()))
    }

    /// What is impossible about a snowflake id of a layout. Where callers need a token, worker ids
    /// are not checked: anyone may ask this.
    #[must_use]
    pub fn marks(&self, layout: Layout, parts: &Parts) -> Vec<Mark> {
        let future = Mark::of_time(parts.unix_ms, self.now_ms());
        let unknown = self.unknown_to_all(layout, parts);
        future.into_iter().chain(unknown).collect()
    }

    /// Whether a number can be a snowflake id of this server's layout.
    #[must_use]
    pub fn is_of_layout(&self, number: u64) -> bool {
        self.layout.try_decompose(number).is_ok()
    }

    /// Every family and layout that a text may be of, the most likely first.
    #[must_use]
    pub fn recognise(&self, text: &str) -> Vec<Recognised> {
        let mut readings = recognise(text, self.now_ms());
        let number = text.parse().unwrap_or_default();
        for reading in &mut readings {
            let unknown = reading
                .layout
                .and_then(|layout| self.unknown_to_all(layout, &layout.decompose(number)));
            if let Some(mark) = unknown {
                reading.add_mark(mark);
            }
        }
        readings.sort_by_key(|reading| std::cmp::Reverse(reading.score));
        readings
    }

    fn unknown_to_all(&self, layout: Layout, parts: &Parts) -> Option<Mark> {
        match self.needs_token() || layout != self.layout {
            true => None,
            false => self.unknown_worker(parts.worker, parts.unix_ms),
        }
    }

    /// Whether the registry had no row for the worker id. The registry is not asked: this server
    /// remembers what it last read.
    fn unknown_worker(&self, worker: WorkerId, unix_ms: i64) -> Option<Mark> {
        let registry = &self.snowflakes.as_ref()?.registry;
        let is_unknown = registry.had_row(worker, unix_ms) == Some(false);
        is_unknown.then_some(Mark::UnknownWorker)
    }

    fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.wall().as_millis()).unwrap_or(i64::MAX)
    }
}
