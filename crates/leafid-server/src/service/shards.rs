//! Snowflake ids of a shard that the caller names.

use leafid::store::TagKind;
use leafid::{Id, IssueError, LayoutError, Permanent, SnowflakeIds, Stage, Tag};

use super::{Caller, Service, ServiceError};

/// The shard that a request names.
///
/// # Example
///
/// ```
/// use leafid_server::ShardChoice;
///
/// assert_eq!(ShardChoice::of(Some(3), None), Ok(Some(ShardChoice::Number(3))));
/// assert_eq!(ShardChoice::of(None, None), Ok(None));
/// assert!(ShardChoice::of(Some(3), Some("customer 4711".into())).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShardChoice {
    /// This one, from 0.
    Number(u32),
    /// That of a key: its CRC-32 modulo the number of shards.
    Key(String),
}

/// A request that names a shard and a key too.
///
/// # Example
///
/// See [`ShardChoice`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a shard and a shard key exclude each other: leave one out")]
pub struct TwoShards;

impl ShardChoice {
    /// The shard of a request that may name it by number or by key.
    ///
    /// # Errors
    ///
    /// [`TwoShards`].
    pub fn of(number: Option<u32>, key: Option<String>) -> Result<Option<Self>, TwoShards> {
        match (number, key) {
            (Some(_), Some(_)) => Err(TwoShards),
            (Some(number), None) => Ok(Some(Self::Number(number))),
            (None, key) => Ok(key.map(Self::Key)),
        }
    }
}

impl Service {
    /// The caller for snowflake ids of a tag in a shard. The tag must be one of snowflake ids: no
    /// other ids say a shard.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Shard`], [`ServiceError::NoShards`], and as for reading a tag.
    pub async fn in_shard(
        &self,
        caller: &Caller,
        tag: &str,
        shard: &ShardChoice,
    ) -> Result<Caller, ServiceError> {
        self.access.check(caller, Some(tag), 0)?;
        self.check_shards()?;
        let shard = match shard {
            ShardChoice::Number(number) => {
                self.layout.check_shard(*number)?;
                *number
            }
            ShardChoice::Key(key) => self.layout.shard_of_key(key.as_bytes())?,
        };
        if !self.is_snowflake(tag).await? {
            let tag = tag.to_owned();
            return Err(ServiceError::NoShards { tag });
        }
        Ok(caller.clone().with_shard(shard))
    }

    /// Refuses a server whose layout has no shards.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Shard`].
    pub(crate) const fn check_shards(&self) -> Result<(), ServiceError> {
        let layout = self.layout;
        match layout.shard_bits() {
            0 => Err(ServiceError::Shard(LayoutError::NoShards { layout })),
            _ => Ok(()),
        }
    }

    /// Whether a tag has snowflake ids: from memory, or from its row if it was not used here.
    async fn is_snowflake(&self, tag: &str) -> Result<bool, ServiceError> {
        let status = self.generators.status(tag);
        if status.is_some_and(|status| status.stage == Stage::OtherKind) {
            // Of a family, it is refused when it comes to issuing.
            return Ok(true);
        }
        let tag = Tag::new(tag).map_err(|error| IssueError::from(Permanent::BadTag(error)))?;
        match self.read_for_ids(&tag).await? {
            Some(record) => Ok(record.settings.kind == TagKind::Snowflake),
            None => Err(ServiceError::UnknownTag { tag }),
        }
    }

    /// Refuses texts that cannot say the shard that a caller named.
    pub(super) fn check_no_shard(&self, caller: &Caller, tag: &str) -> Result<(), ServiceError> {
        match caller.shard() {
            None => Ok(()),
            Some(_) => Err(ServiceError::NoShards {
                tag: tag.to_owned(),
            }),
        }
    }

    /// An id that was drawn for a caller, in the caller's shard.
    #[inline]
    pub(super) fn sharded(&self, caller: &Caller, id: Id) -> Result<Id, ServiceError> {
        match caller.shard() {
            None => Ok(id),
            Some(shard) => Ok(self.layout.with_shard(id, shard)?),
        }
    }

    /// As [`sharded`](Self::sharded), for many.
    pub(super) fn all_sharded(
        &self,
        caller: &Caller,
        ids: SnowflakeIds,
    ) -> Result<SnowflakeIds, ServiceError> {
        match caller.shard() {
            None => Ok(ids),
            Some(shard) => Ok(ids.in_shard(shard)?),
        }
    }
}
