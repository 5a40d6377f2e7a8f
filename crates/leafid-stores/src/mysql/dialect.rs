//! The SQL dialect of MySQL and MariaDB, and the meaning of their errors.

use leafid::Tag;
use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, MySqlConnection};

use crate::schema::{OwnTable, Shape};
use crate::sql::{Dialect, InsertError, Value, bound};
use crate::sql_error::SqlError;

/// The name as bytes of UTF-8, whatever the column's character set.
const NAME_BYTES: &str = "CAST(CONVERT(a.biz_tag USING utf8mb4) AS BINARY)";

impl Dialect for MySqlConnection {
    type Row = MySqlRow;

    const OR_IGNORE: &'static str = "";
    const OR_REPLACE_OWN: &'static str = " ON DUPLICATE KEY UPDATE policy = VALUES(policy), \
        step_max = VALUES(step_max), cover_seconds = VALUES(cover_seconds), \
        id_limit = VALUES(id_limit), kind = VALUES(kind)";
    const GREATEST: &'static str = "GREATEST";
    const FOR_UPDATE: &'static str = " FOR UPDATE";
    const TOUCH_TAG: &'static str = "";
    const TOUCH_WORKER: &'static str = "";
    const IS_NAMED: &'static str =
        "biz_tag = ? AND CAST(CONVERT(biz_tag USING utf8mb4) AS BINARY) = ?";
    const LAYOUT: &'static str = "layout";
    const LEASE_COLUMNS: &'static str = "worker, epoch, holder, address, until_ms";

    async fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, SqlError> {
        let sql = AssertSqlSafe(sql.to_owned());
        let done = match values {
            [] => sqlx::raw_sql(sql).execute(self).await?,
            values => bound(sqlx::query(sql), values).execute(self).await?,
        };
        Ok(done.rows_affected())
    }

    async fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<MySqlRow>, SqlError> {
        let sql = AssertSqlSafe(sql.to_owned());
        Ok(match values {
            [] => sqlx::raw_sql(sql).fetch_all(self).await?,
            values => bound(sqlx::query(sql), values).fetch_all(self).await?,
        })
    }

    fn number(column: &str) -> String {
        format!("CAST({column} AS SIGNED)")
    }

    fn deleted(own: OwnTable, _: u64) -> String {
        let format = match own.has_format {
            true => "MAX(format)",
            false => "CAST(NULL AS CHAR)",
        };
        format!(
            "SELECT COUNT(*), CAST(MAX(deleted_max_id) AS SIGNED), MAX(kind), {format} \
            FROM leafid_tag WHERE tag = ?"
        )
    }

    fn select(shape: Shape) -> String {
        let segment_max = match shape.own.has_segment_max {
            true => "t.segment_max",
            false => "NULL",
        };
        let format = match shape.own.has_format {
            true => "t.format",
            false => "CAST(NULL AS CHAR)",
        };
        let own = match shape.own.exists {
            true => format!(
                "t.policy, CAST(t.step_max AS SIGNED), CAST(t.cover_seconds AS SIGNED), \
            CAST(t.id_limit AS SIGNED), t.kind, CAST(t.deleted_max_id AS SIGNED), \
            CAST({segment_max} AS SIGNED), {format} FROM leaf_alloc a LEFT JOIN leafid_tag t \
            ON t.tag = CONVERT(a.biz_tag USING utf8mb4) COLLATE utf8mb4_bin"
            ),
            false => "CAST(NULL AS CHAR), CAST(NULL AS SIGNED), CAST(NULL AS SIGNED), \
            CAST(NULL AS SIGNED), CAST(NULL AS CHAR), CAST(NULL AS SIGNED), \
            CAST(NULL AS SIGNED), CAST(NULL AS CHAR) FROM leaf_alloc a"
                .to_owned(),
        };
        format!(
            "SELECT CONVERT(a.biz_tag USING utf8mb4), CAST(a.max_id AS SIGNED), \
        CAST(a.step AS SIGNED), CONVERT({} USING utf8mb4), \
        CAST(UNIX_TIMESTAMP(a.update_time) * 1000 AS SIGNED), {own}",
            shape.description
        )
    }

    fn name(tag: &Tag) -> Vec<Value> {
        let name = tag.as_str();
        vec![name.into(), Value::Bytes(name.into())]
    }

    /// A binary collation sorts by bytes, so that the index can be used; otherwise the rows are
    /// sorted.
    fn sort_key(shape: Shape, after: &str) -> (&'static str, Value) {
        match shape.is_binary {
            true => ("a.biz_tag", after.into()),
            false => (NAME_BYTES, Value::Bytes(after.into())),
        }
    }

    fn insert_error(error: &SqlError) -> InsertError {
        match error.number() {
            Some(1062) => InsertError::Exists,
            // Incorrect string value; data too long; cannot convert.
            Some(1366 | 1406 | 3988) => InsertError::DoesNotFit,
            _ => InsertError::Other,
        }
    }

    /// Illegal mix of collations; cannot convert the string.
    fn is_unknown_name(error: &SqlError) -> bool {
        matches!(error.number(), Some(1267 | 1270 | 1271 | 3988 | 4025))
    }

    fn is_no_table(error: &SqlError) -> bool {
        error.number() == Some(1146)
    }

    fn is_denied(error: &SqlError) -> bool {
        matches!(error.number(), Some(1142 | 1143))
    }

    /// A deadlock, two Galera nodes that changed one row at once, or a lock held for too long.
    fn is_conflict(error: &SqlError) -> bool {
        matches!(error.number(), Some(1205 | 1213))
    }

    fn is_full(error: &SqlError) -> bool {
        matches!(error.number(), Some(1040 | 1203 | 1226))
    }

    fn is_misconfigured(error: &SqlError) -> bool {
        let codes = [
            1044, 1045, 1049, 1054, 1142, 1143, 1146, 1227, 1264, 1364, 1698,
        ];
        error.number().is_some_and(|number| codes.contains(&number))
    }

    fn remedy(error: &SqlError) -> Option<&'static str> {
        Some(match error.number()? {
            1040 | 1203 | 1226 => {
                "the server has too many connections: raise max_connections, or lower store-connections"
            }
            1044 => "the user has no privilege on this database",
            1045 | 1698 => "user or password is wrong",
            1049 => "the database does not exist: create it",
            1142 | 1143 | 1227 => {
                "the user lacks a privilege: grant SELECT, INSERT, UPDATE and DELETE on the tables (and CREATE and ALTER for leafid_stores::init)"
            }
            1047 => "the node is not part of a Galera cluster that has its majority",
            1146 => "a table is missing: call leafid_stores::init",
            1054 => {
                "a column is missing: the table is not Leaf's leaf_alloc, or leafid_tag is of an older version: call leafid_stores::init"
            }
            1264 => {
                "a column cannot hold the number: ALTER TABLE leaf_alloc MODIFY max_id BIGINT NOT NULL"
            }
            1364 => "a column of the table has no default value: give it one",
            1205 => "the row is locked by another transaction for too long",
            1213 => {
                "the server chose this transaction to end a deadlock or a conflict between nodes; nothing was changed"
            }
            1290 | 1792 | 1836 | 3100 => "the server has become read-only",
            1053 | 1077 | 1079 | 1927 => "the server is shutting down",
            _ => return None,
        })
    }
}
