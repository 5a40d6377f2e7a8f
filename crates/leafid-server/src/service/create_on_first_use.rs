//! Creation on first use: taking ids of a tag that does not exist creates it first, if that is
//! allowed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leafid::store::{StoreError, TagSettings, TagSpec};
use leafid::{IssueError, Permanent, Stage, Tag, Transient, TransientReason};

use super::first_use::FirstUse;
use super::{Caller, Service, ServiceError};

/// When to try again for a tag that is being created, or whose creation failed.
const CREATION_RETRY: Duration = Duration::from_millis(250);
/// Tags created on first use may not fill this part of `tags-max`.
const OPERATORS_SHARE: usize = 10;

impl Service {
    /// How many tags were created on first use, and how many were refused because there were too
    /// many.
    pub(crate) fn created_on_first_use(&self) -> (u64, u64) {
        let FirstUse {
            created, refused, ..
        } = &*self.first_use;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(created), count(refused))
    }

    /// Why memory issued no id. A tag that waiting would create is reported as missing.
    #[cold]
    pub(super) fn no_id(&self, caller: &Caller, error: IssueError) -> ServiceError {
        let tag = match error {
            IssueError::Permanent(Permanent::UnknownTag { tag })
                if self.first_use.settings.is_some() =>
            {
                tag
            }
            error => return self.refusal(error),
        };
        match self.check_first_use(caller, &tag) {
            Ok(()) => transient(tag, TransientReason::Loading).into(),
            Err(error) => error,
        }
    }

    /// Takes ids; if their tag does not exist, once more after it was created.
    pub(super) async fn or_create<T, F>(
        &self,
        caller: &Caller,
        take: impl Fn() -> F,
    ) -> Result<T, ServiceError>
    where
        F: Future<Output = Result<T, IssueError>>,
    {
        let (tag, settings) = match (take().await, self.first_use.settings) {
            (Err(IssueError::Permanent(Permanent::UnknownTag { tag })), Some(settings)) => {
                (tag, settings)
            }
            (taken, _) => return taken.map_err(|error| self.refusal(error)),
        };
        self.create_first(caller, &tag, settings).await?;
        take().await.map_err(|error| self.no_id(caller, error))
    }

    /// Whether this caller may have this tag created now.
    fn check_first_use(&self, caller: &Caller, tag: &Tag) -> Result<(), ServiceError> {
        self.access
            .check_admin(caller)
            .map_err(|error| match error {
                ServiceError::NotAdmin { token } => {
                    let tag = tag.clone();
                    ServiceError::MayNotCreate { token, tag }
                }
                error => error,
            })?;
        let status = self.generators.status(tag.as_str());
        let is_dropped = status.is_some_and(|status| status.is_dropped);
        if is_dropped || tag.check_new().is_err() {
            // It was just deleted, which its callers must learn first. Or its name is not allowed
            // for a new tag.
            let tag = tag.clone();
            return Err(IssueError::Permanent(Permanent::UnknownTag { tag }).into());
        }
        self.check_room(tag)?;
        self.first_use.check_rate(tag)
    }

    /// The last of the room for tags is kept for tags that an operator creates.
    fn check_room(&self, tag: &Tag) -> Result<(), ServiceError> {
        let tags_max = self.generators.options().tags_max;
        let created_max = tags_max - tags_max / OPERATORS_SHARE;
        if self.generators.used_len() < created_max {
            return Ok(());
        }
        Err(transient(tag.clone(), TransientReason::TooManyTags(tags_max)).into())
    }

    /// Creates a tag, waiting up to `wait_max`.
    async fn create_first(
        &self,
        caller: &Caller,
        tag: &Tag,
        settings: TagSettings,
    ) -> Result<(), ServiceError> {
        self.check_first_use(caller, tag)?;
        let creating = async {
            let place = self.gate.caller_call().await;
            let status = self.generators.status(tag.as_str());
            if status.is_some_and(|status| status.stage != Stage::Unknown) {
                // Another caller was faster.
                return Ok(());
            }
            // Others may have used up the rate.
            self.first_use.check_rate(tag)?;
            let (generators, first_use) = (self.generators.clone(), Arc::clone(&self.first_use));
            let spec = TagSpec {
                settings,
                ..TagSpec::new(tag.clone())
            };
            // If the caller disconnects, nothing is left half done.
            let task = tokio::spawn(async move {
                let _place = place;
                let created = generators.create_tag(&spec).await;
                created.map(|_| first_use.note_created(&spec.tag))
            });
            match task.await {
                Ok(Ok(()) | Err(StoreError::TagExists)) => Ok(()),
                Ok(Err(error)) => Err(failed(tag, error)),
                // The runtime is shutting down.
                Err(_) => Err(transient(tag.clone(), TransientReason::Loading).into()),
            }
        };
        let wait_max = self.generators.options().wait_max;
        match tokio::time::timeout(wait_max, creating).await {
            Ok(created) => created,
            Err(_) => Err(transient(tag.clone(), TransientReason::Loading).into()),
        }
    }
}

pub(super) fn transient(tag: Tag, reason: TransientReason) -> IssueError {
    IssueError::Transient(Box::new(Transient::new(tag, CREATION_RETRY, reason)))
}

pub(super) fn failed(tag: &Tag, error: StoreError) -> ServiceError {
    match error {
        error @ (StoreError::Unavailable { .. } | StoreError::Conflict { .. }) => {
            transient(tag.clone(), TransientReason::StoreFailed(Arc::new(error))).into()
        }
        error => ServiceError::of_tag(error, tag),
    }
}
