//! Tags as things: listed, looked at, created, changed, raised and deleted, each change recorded.

use leafid::store::{StoreError, TagKind, TagPatch, TagRecord, TagSpec};
use leafid::{IssueError, Limit, Status, Tag};

use super::{AuditRecord, Caller, Service, ServiceError, audit};

/// A tag as the store has it, and as it stands in this process.
///
/// # Example
///
/// See [`Service::tag`].
#[derive(Debug, Clone, PartialEq)]
pub struct TagView {
    /// The row in the store.
    pub record: TagRecord,
    /// How it stands here; `None` if this process did not use it yet, or it has no segments.
    pub live: Option<Status>,
    /// What whoever made the tag should know, in words.
    pub warnings: Vec<String>,
}

/// One page of tags.
///
/// # Example
///
/// See [`Service::tags`].
#[derive(Debug, Clone, PartialEq)]
pub struct TagPage {
    /// The tags, in ascending byte order.
    pub tags: Vec<TagRecord>,
    /// Where the next page starts, after this tag; `None` on the last page.
    pub next: Option<Tag>,
}

impl Service {
    /// One page of up to `count` tags, from the first one after `after`.
    ///
    /// # Errors
    ///
    /// [`ServiceError::BadCount`], [`ServiceError::NotAllowed`], [`ServiceError::Store`].
    pub async fn tags(
        &self,
        caller: &Caller,
        after: Option<&Tag>,
        count: u32,
    ) -> Result<TagPage, ServiceError> {
        self.access.check_look(caller, None)?;
        let max = self.limits.page_len_max;
        if count == 0 || count > max {
            return Err(ServiceError::BadCount {
                field: "limit",
                count: count.into(),
                max: max.into(),
            });
        }
        let _place = self.gate.read().await;
        let mut tags = self.generators.list_tags(after, count + 1).await?;
        let page_len = usize::try_from(count).unwrap_or(usize::MAX);
        let more = tags.len() > page_len;
        tags.truncate(page_len);
        let next = tags.last().filter(|_| more).map(|last| last.tag.clone());
        tags.retain(|record| self.access.shows(caller, record.tag.as_str()));
        Ok(TagPage { tags, next })
    }

    /// A tag's row, and how it stands here.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::Store`].
    pub async fn tag(&self, caller: &Caller, tag: &Tag) -> Result<TagView, ServiceError> {
        self.access.check_look(caller, Some(tag.as_str()))?;
        let _place = self.gate.read().await;
        match self.generators.read_tag(tag).await? {
            Some(record) => Ok(self.view(record)),
            None => Err(ServiceError::UnknownTag { tag: tag.clone() }),
        }
    }

    /// Whether a tag is there of which a caller may take ids.
    pub(crate) async fn check_exists(
        &self,
        caller: &Caller,
        tag: &Tag,
    ) -> Result<(), ServiceError> {
        self.access.check(caller, Some(tag.as_str()), 0)?;
        match self.read_for_ids(tag).await? {
            Some(_) => Ok(()),
            None => Err(ServiceError::UnknownTag { tag: tag.clone() }),
        }
    }

    /// Creates a tag.
    ///
    /// # Errors
    ///
    /// [`ServiceError::TagExists`], [`ServiceError::Issue`] for a name that no new tag may have,
    /// [`ServiceError::Store`].
    pub async fn create_tag(
        &self,
        caller: &Caller,
        spec: &TagSpec,
    ) -> Result<TagView, ServiceError> {
        let action = "tag created";
        self.admit(caller, action, spec.tag.as_str())?;
        let checked = spec.tag.check_new();
        checked.map_err(|error| IssueError::Permanent(error.into()))?;
        spec.check()?;
        self.generators.check_snowflake_format(spec, self.layout)?;
        let _place = self.gate.admin().await;
        let attempt = self
            .audit
            .attempt(caller, action, spec.tag.as_str(), String::new());
        let created = self.generators.create_tag(spec).await;
        let created = created.map_err(|error| ServiceError::of_tag(error, &spec.tag));
        let record = attempt.settled(created, AuditRecord::of_tag)?;
        let view = self.view(record);
        for warning in &view.warnings {
            tracing::warn!(tag = spec.tag.as_str(), warning, "a tag was created");
        }
        Ok(view)
    }

    /// Changes a tag's settings.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::NoSegments`], [`ServiceError::Store`].
    pub async fn update_tag(
        &self,
        caller: &Caller,
        tag: &Tag,
        patch: &TagPatch,
    ) -> Result<TagView, ServiceError> {
        let action = "tag changed";
        self.admit(caller, action, tag.as_str())?;
        patch.check()?;
        let _place = self.gate.admin().await;
        let is_empty = *patch == TagPatch::default();
        let is_of_segments = patch.check_kind(TagKind::Snowflake).is_err();
        let before = match self.generators.read_tag(tag).await {
            Err(error) if is_empty || is_of_segments => return Err(error.into()),
            // For the record only.
            read => read.ok().flatten(),
        };
        let kind = before.as_ref().map(|record| record.settings.kind);
        if is_of_segments && let Some(kind) = kind.filter(|kind| *kind != TagKind::Segment) {
            let (tag, what) = (tag.clone(), "step, policy or limit");
            return Err(ServiceError::NoSegments { tag, kind, what });
        }
        if is_empty {
            // Only to be raised, which is another call.
            let tag = tag.clone();
            return before.map_or(Err(ServiceError::UnknownTag { tag }), |record| {
                Ok(self.view(record))
            });
        }
        let before = audit::of_tag(before.as_ref());
        let attempt = self
            .audit
            .attempt(caller, action, tag.as_str(), before.clone());
        let updated = self.generators.update_tag(tag, patch).await;
        let updated = updated.map_err(|error| ServiceError::of_tag(error, tag));
        let record = attempt.settled(updated, |record| {
            Some(AuditRecord::of_tag(record)).filter(|after| *after != before)
        })?;
        Ok(self.view(record))
    }

    /// Changes a tag's settings, and where its next segment starts. What can be refused is refused
    /// before anything is changed.
    ///
    /// # Errors
    ///
    /// As [`update_tag`](Self::update_tag) and [`raise_tag`](Self::raise_tag).
    pub(crate) async fn change_tag(
        &self,
        caller: &Caller,
        tag: &Tag,
        patch: &TagPatch,
        next: Option<u64>,
    ) -> Result<TagView, ServiceError> {
        let Some(next) = next else {
            return self.update_tag(caller, tag, patch).await;
        };
        self.admit(caller, "tag changed", tag.as_str())?;
        patch.check()?;
        TagPatch::check_next(next)?;
        // Without other changes, the tag may be that of a period which has not begun.
        if *patch != TagPatch::default() {
            self.check_next(tag, next, patch.limit).await?;
            self.update_tag(caller, tag, patch).await?;
        }
        self.raise_tag(caller, tag, next).await
    }

    /// Refuses to raise a tag of snowflakes, or beyond its limit, or one that has come that far
    /// already.
    async fn check_next(
        &self,
        tag: &Tag,
        next: u64,
        limit: Option<Limit>,
    ) -> Result<(), ServiceError> {
        let record = self.generators.read_tag(tag).await?;
        let record = record.ok_or(ServiceError::UnknownTag { tag: tag.clone() })?;
        let kind = record.settings.kind;
        if kind != TagKind::Segment {
            let (tag, what) = (tag.clone(), "next");
            return Err(ServiceError::NoSegments { tag, kind, what });
        }
        TagPatch::check_next_within(tag, next, limit.unwrap_or(record.settings.limit))?;
        if next <= record.max_id {
            let (tag, max_id) = (tag.clone(), record.max_id);
            return Err(ServiceError::NextBehind { tag, max_id });
        }
        Ok(())
    }

    /// Lets the next segment of a tag start at `next`, upwards only.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::NoSegments`], [`ServiceError::NextBehind`],
    /// [`ServiceError::Store`].
    pub async fn raise_tag(
        &self,
        caller: &Caller,
        tag: &Tag,
        next: u64,
    ) -> Result<TagView, ServiceError> {
        let action = "tag raised";
        self.admit(caller, action, tag.as_str())?;
        let _place = self.gate.admin().await;
        let before = self.before(tag).await;
        let attempt = self.audit.attempt(caller, action, tag.as_str(), before);
        let raised = self.generators.raise_tag(tag, next).await;
        let raised = match raised {
            // With words of ours, if it is one of these.
            Err(error @ StoreError::Unsupported { .. }) => {
                let checked = self.check_next(tag, next, None).await;
                checked.and(Err(ServiceError::of_tag(error, tag)))
            }
            raised => raised.map_err(|error| ServiceError::of_tag(error, tag)),
        };
        let record = attempt.settled(raised, AuditRecord::of_tag)?;
        Ok(self.view(record))
    }

    /// Deletes a tag.
    ///
    /// # Errors
    ///
    /// [`ServiceError::UnknownTag`], [`ServiceError::Store`].
    pub async fn delete_tag(&self, caller: &Caller, tag: &Tag) -> Result<(), ServiceError> {
        let action = "tag deleted";
        self.admit(caller, action, tag.as_str())?;
        let _place = self.gate.admin().await;
        let before = self.before(tag).await;
        let attempt = self.audit.attempt(caller, action, tag.as_str(), before);
        let deleted = self.generators.delete_tag(tag).await;
        let deleted = deleted.map_err(|error| ServiceError::of_tag(error, tag));
        attempt.settled(deleted, |()| String::new())
    }

    /// A tag's row for the record; a row that is bad may be changed all the same.
    async fn before(&self, tag: &Tag) -> String {
        let read = self.generators.read_tag(tag).await;
        audit::of_tag(read.ok().flatten().as_ref())
    }

    fn view(&self, record: TagRecord) -> TagView {
        let live = self.generators.status(record.tag.as_str());
        let live = live.filter(|_| record.settings.kind == TagKind::Segment);
        let warnings = self.generators.tag_warnings(&record, self.layout);
        TagView {
            record,
            live,
            warnings,
        }
    }
}
