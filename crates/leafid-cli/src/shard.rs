//! `ShardFlags`: the shard of snowflake ids, by number or by key.

use leafid_server::api::{IdsRequest, SHARD_MAX};

/// The shard of snowflake ids; the server's own if none is named.
#[derive(clap::Args, Default)]
pub(crate) struct ShardFlags {
    /// The shard of the ids, from 0, of a snowflake tag.
    #[arg(long, value_name = "SHARD", conflicts_with = "shard_key")]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=SHARD_MAX))]
    shard: Option<u64>,
    /// A key in place of the shard: the CRC-32 of its bytes modulo the number of shards.
    #[arg(long, value_name = "KEY")]
    shard_key: Option<String>,
}

impl ShardFlags {
    /// Whether the command line names a shard.
    pub(crate) fn is_named(&self) -> bool {
        self.shard.is_some() || self.shard_key.is_some()
    }

    /// A request for that many ids.
    pub(crate) fn request(&self, count: u64) -> IdsRequest {
        IdsRequest {
            count: Some(count.into()),
            shard: self.shard.map(Into::into),
            shard_key: self.shard_key.clone(),
        }
    }
}
