//! `JavaLeaf`: takes segments with the very statements of Meituan's Leaf, to stand beside us on
//! one table.

use std::ops::Range;

use sqlx::mysql::MySqlConnectOptions;
use sqlx::{ConnectOptions, Connection, MySqlConnection, Row};

/// Leaf's table, as its own `leaf.sql` has it (Meituan-Dianping/Leaf, `scripts/leaf_alloc.sql`).
pub const LEAF_ALLOC: &str = "CREATE TABLE `leaf_alloc` (
  `biz_tag` varchar(128)  NOT NULL DEFAULT '',
  `max_id` bigint(20) NOT NULL DEFAULT '1',
  `step` int(11) NOT NULL,
  `description` varchar(256)  DEFAULT NULL,
  `update_time` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (`biz_tag`)
) ENGINE=InnoDB";

/// The variant seen in the field: a surrogate key, `desc` for `description`, a `create_time`.
pub const LEAF_ALLOC_SURROGATE: &str = "CREATE TABLE `leaf_alloc` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `biz_tag` varchar(128) NOT NULL DEFAULT '',
  `max_id` bigint(20) NOT NULL DEFAULT '1',
  `step` int(11) NOT NULL,
  `desc` varchar(256) DEFAULT NULL,
  `create_time` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  `update_time` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_biz_tag` (`biz_tag`)
) ENGINE=InnoDB";

/// A stand-in for a Java Leaf server: one connection, Leaf's own transactions.
#[derive(Debug)]
pub struct JavaLeaf {
    connection: MySqlConnection,
}

impl JavaLeaf {
    /// Connects to the database that has `leaf_alloc`.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub async fn connect(url: &str) -> Result<Self, sqlx::Error> {
        let options: MySqlConnectOptions = url.parse()?;
        let connection = options.disable_statement_logging().connect().await?;
        Ok(Self { connection })
    }

    /// Takes a segment of the tag's own step, as `updateMaxIdAndGetLeafAlloc` does.
    ///
    /// # Errors
    ///
    /// What the driver says; [`sqlx::Error::RowNotFound`] for an unknown tag.
    pub async fn take(&mut self, tag: &str) -> Result<Range<u64>, sqlx::Error> {
        self.take_by(tag, None).await
    }

    /// Takes a segment of `step` ids, as `updateMaxIdByCustomStepAndGetLeafAlloc` does.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    pub async fn take_step(&mut self, tag: &str, step: u32) -> Result<Range<u64>, sqlx::Error> {
        self.take_by(tag, Some(step)).await
    }

    async fn take_by(&mut self, tag: &str, step: Option<u32>) -> Result<Range<u64>, sqlx::Error> {
        let mut transaction = self.connection.begin().await?;
        let update = match step {
            None => sqlx::query("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = ?"),
            Some(step) => {
                sqlx::query("UPDATE leaf_alloc SET max_id = max_id + ? WHERE biz_tag = ?")
                    .bind(step)
            }
        };
        update.bind(tag).execute(&mut *transaction).await?;
        let select = "SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = ?";
        let row = sqlx::query(select)
            .bind(tag)
            .fetch_one(&mut *transaction)
            .await?;
        transaction.commit().await?;
        let max_id: i64 = row.try_get("max_id")?;
        let own_step: i32 = row.try_get("step")?;
        let len = step.map_or_else(|| i64::from(own_step), i64::from);
        let bound = |number: i64| {
            u64::try_from(number).map_err(|error| sqlx::Error::Decode(Box::new(error)))
        };
        Ok(bound(max_id - len)?..bound(max_id)?)
    }
}
