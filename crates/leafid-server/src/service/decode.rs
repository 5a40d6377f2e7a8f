//! Decodes ids: by a layout, by the format of a tag, or by what they look like.

use leafid::format::FormatError;
use leafid::{IssueError, Layout, Parts, Permanent, Tag, WorkerId};
use leafid_formats::{Mark, Recognised, decimal, recognise_with};

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
        let mut marks = decoded.time_marks(self.now_ms());
        let worker = decoded.worker(self.layout);
        marks.extend(worker.and_then(|(worker, unix_ms)| self.unknown_worker(worker, unix_ms)));
        Ok((decoded, marks))
    }

    /// What is impossible about a snowflake id of a layout. Where callers need a token, worker ids
    /// are not checked: anyone may ask this.
    #[must_use]
    pub fn marks(&self, layout: Layout, parts: &Parts) -> Vec<Mark> {
        let mut marks = Mark::of_layout(layout, parts.unix_ms, self.now_ms());
        marks.extend(self.unknown_to_all(layout, parts));
        marks
    }

    /// The number that a text is, if it can be a snowflake id of this server's layout.
    #[must_use]
    pub fn number_of_layout(&self, text: &str) -> Option<u64> {
        decimal(text).filter(|number| self.layout.try_decompose(*number).is_ok())
    }

    /// Every family and layout that a text may be of, this server's layout among them, the most
    /// likely first.
    #[must_use]
    pub fn recognise(&self, text: &str) -> Vec<Recognised> {
        let mut readings = recognise_with(text, self.now_ms(), self.layout);
        let number = self.number_of_layout(text);
        let unknown = number
            .and_then(|number| self.unknown_to_all(self.layout, &self.layout.decompose(number)));
        for reading in &mut readings {
            if let Some(mark) = unknown.filter(|_| reading.layout == Some(self.layout)) {
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
        // None is leased beyond the layout's, at any time.
        let is_unknown = worker.get() > self.layout.worker_max()
            || registry.had_row(worker, unix_ms) == Some(false);
        is_unknown.then_some(Mark::UnknownWorker)
    }

    fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.wall().as_millis()).unwrap_or(i64::MAX)
    }
}
