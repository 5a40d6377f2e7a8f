//! Reserving: one transaction in one round trip, also through a pooler.

use leafid::store::{Reserve, Reserved, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::row::{Bounds, check_kept, refusal};
use crate::store::Fault;

/// The row is locked first and then read, so that `old` is the value that the update changes,
/// however many others wait for the row.
pub(super) async fn reserve(
    connection: &mut PgConnection,
    begin: &str,
    reserve: &Reserve,
) -> Result<Reserved, Fault> {
    let name = name_of(reserve);
    if let Some(Bounds {
        floor,
        jump,
        count,
        start_max,
    }) = Bounds::of(reserve)
    {
        let statements = format!(
            "{begin}; WITH old AS MATERIALIZED \
            (SELECT biz_tag, max_id FROM leaf_alloc WHERE biz_tag = {name} FOR UPDATE) \
            UPDATE leaf_alloc a SET update_time = now(), \
            max_id = CASE WHEN old.max_id < {floor} THEN {jump} ELSE old.max_id END + {count} \
            FROM old WHERE a.biz_tag = old.biz_tag AND old.max_id >= 0 \
            AND CASE WHEN old.max_id < {floor} THEN {jump} ELSE old.max_id END <= {start_max} \
            RETURNING old.max_id::bigint, a.max_id::bigint; COMMIT"
        );
        if let Some(row) = only_row(connection, statements).await? {
            let (previous, max_id): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            // The statement changes no row that holds less.
            let reserved = reserve.reserved(u64::try_from(previous).unwrap_or(0))?;
            check_kept(reserve, &reserved, max_id)?;
            return Ok(reserved);
        }
    }
    let select = format!("SELECT max_id::bigint FROM leaf_alloc WHERE biz_tag = {name}");
    let row = only_row(connection, select).await?;
    Err(refusal(
        reserve,
        row.ok_or(StoreError::UnknownTag)?.try_get(0)?,
    ))
}

/// The name as hexadecimal digits, so that no letter of it is SQL.
fn name_of(reserve: &Reserve) -> String {
    let bytes = reserve.tag.as_str().bytes();
    let digits: String = bytes.map(|byte| format!("{byte:02x}")).collect();
    format!("convert_from(decode('{digits}', 'hex'), 'UTF8')")
}

/// Runs the statements to the end: the last one commits.
async fn only_row(
    connection: &mut PgConnection,
    statements: String,
) -> Result<Option<PgRow>, sqlx::Error> {
    let rows = sqlx::raw_sql(AssertSqlSafe(statements));
    Ok(rows.fetch_all(connection).await?.pop())
}
