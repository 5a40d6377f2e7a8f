//! The SQL dialect of PostgreSQL, and the meaning of its errors.

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::schema::{OwnTable, Shape};
use crate::sql::{Dialect, Value, bound};
use crate::sql_error::SqlError;

impl Dialect for PgConnection {
    type Row = PgRow;

    const OR_IGNORE: &'static str = " ON CONFLICT DO NOTHING";
    const OR_REPLACE_OWN: &'static str = " ON CONFLICT (tag) DO UPDATE SET \
        policy = excluded.policy, step_max = excluded.step_max, \
        cover_seconds = excluded.cover_seconds, id_limit = excluded.id_limit, \
        kind = excluded.kind";
    const GREATEST: &'static str = "GREATEST";
    const FOR_UPDATE: &'static str = " FOR UPDATE";
    const TOUCH_TAG: &'static str = ", update_time = now()";
    const TOUCH_WORKER: &'static str = ", updated = now()";
    const IS_NAMED: &'static str = "biz_tag = ?";
    const LAYOUT: &'static str = "layout::text";
    const LEASE_COLUMNS: &'static str = "worker::bigint, epoch::bigint, holder::text, \
        address::text, until_ms::bigint";

    async fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, SqlError> {
        let sql = AssertSqlSafe(numbered(sql));
        let done = match values {
            [] => sqlx::raw_sql(sql).execute(self).await?,
            values => unnamed(sql, values).execute(self).await?,
        };
        Ok(done.rows_affected())
    }

    async fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<PgRow>, SqlError> {
        let sql = AssertSqlSafe(numbered(sql));
        Ok(match values {
            [] => sqlx::raw_sql(sql).fetch_all(self).await?,
            values => unnamed(sql, values).fetch_all(self).await?,
        })
    }

    fn number(column: &str) -> String {
        format!("{column}::bigint")
    }

    fn deleted(own: OwnTable, _: u64) -> String {
        let format = match own.has_format {
            true => "max(format)",
            false => "NULL",
        };
        format!(
            "SELECT count(*), max(deleted_max_id)::bigint, max(kind)::text, {format}::text \
            FROM leafid_tag WHERE tag = ?"
        )
    }

    fn select(Shape { own: own_table, .. }: Shape) -> String {
        let segment_max = match own_table.has_segment_max {
            true => "t.segment_max",
            false => "NULL",
        };
        let format = match own_table.has_format {
            true => "t.format",
            false => "NULL",
        };
        let own = match own_table.exists {
            true => format!(
                "t.policy::text, t.step_max::bigint, t.cover_seconds::bigint, t.id_limit::bigint, \
            t.kind::text, t.deleted_max_id::bigint, {segment_max}::bigint, {format}::text \
            FROM leaf_alloc a LEFT JOIN leafid_tag t ON t.tag = a.biz_tag COLLATE \"C\""
            ),
            false => {
                "NULL::text, NULL::bigint, NULL::bigint, NULL::bigint, NULL::text, NULL::bigint, \
            NULL::bigint, NULL::text FROM leaf_alloc a"
                    .to_owned()
            }
        };
        format!(
            "SELECT a.biz_tag::text, a.max_id::bigint, a.step::bigint, a.description::text, \
        (EXTRACT(EPOCH FROM a.update_time) * 1000)::bigint, {own}"
        )
    }

    fn sort_key(_: Shape, after: &str) -> (&'static str, Value) {
        ("a.biz_tag COLLATE \"C\"", after.into())
    }

    fn is_no_table(error: &SqlError) -> bool {
        error.code() == Some("42P01")
    }

    fn is_denied(error: &SqlError) -> bool {
        error.code() == Some("42501")
    }

    /// A deadlock, two transactions that cannot be serialized, or a lock held for too long.
    fn is_conflict(error: &SqlError) -> bool {
        matches!(error.code(), Some("40001" | "40P01" | "55P03"))
    }

    fn is_full(error: &SqlError) -> bool {
        error.code() == Some("53300")
    }

    fn is_misconfigured(error: &SqlError) -> bool {
        let codes = ["28000", "28P01", "3D000", "42501", "42703", "42P01"];
        error.code().is_some_and(|code| codes.contains(&code))
    }

    fn remedy(error: &SqlError) -> Option<&'static str> {
        Some(match error.code()? {
            "53300" => {
                "the server has too many connections: raise max_connections, or lower store-connections"
            }
            "28P01" | "28000" => "user or password is wrong",
            "3D000" => "the database does not exist: create it",
            "42501" => {
                "the user lacks a privilege: grant SELECT, INSERT, UPDATE and DELETE on the tables (and CREATE on the schema for leafid_stores::init, which adds columns as the owner of the table)"
            }
            "42P01" => "a table is missing: call leafid_stores::init",
            "42703" => {
                "a column is missing: the table is not Leaf's leaf_alloc, or leafid_tag is of an older version: call leafid_stores::init"
            }
            "55P03" | "57014" => {
                "the server did not finish in time: the row is locked, or the server is slow"
            }
            "40001" | "40P01" => {
                "the server chose this transaction to end a conflict; nothing was changed"
            }
            "25006" => "the server has become read-only",
            "57P01" | "57P02" | "57P03" => "the server is starting or shutting down",
            "53100" => "the server's disk is full",
            "22001" => "a text is too long for its column",
            _ => return None,
        })
    }
}

/// An unnamed statement, which the server forgets at once: behind a pooler, the next transaction
/// may use another connection, where another program used the same name for another statement.
fn unnamed<'q>(
    sql: AssertSqlSafe<String>,
    values: &'q [Value],
) -> sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments> {
    bound(sqlx::query(sql).persistent(false), values)
}

/// Writes `$1`, `$2` and so on for each `?`.
fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        text.push_str(&format!("${}{part}", index + 1));
    }
    text
}
