//! Reserving: one transaction in one round trip, which also reads back what the row then holds.

use leafid::store::{Reserve, Reserved, StoreError};
use sqlx::{AssertSqlSafe, MySqlConnection, Row};

use super::known_charset;
use crate::row::{Bounds, check_kept, refusal};
use crate::store::Fault;

/// `LAST_INSERT_ID(x)` is x, and remembers it: the max id before the change. The transaction holds
/// the row until its end, so that what the second statement reads is what the first one left.
pub(super) async fn reserve(
    connection: &mut MySqlConnection,
    reserve: &Reserve,
) -> Result<Reserved, Fault> {
    let row = row_of(reserve);
    let select = format!(
        "SELECT ROW_COUNT(), LAST_INSERT_ID(), CAST(a.max_id AS SIGNED) FROM leaf_alloc a WHERE {row}"
    );
    let Some(Bounds {
        floor,
        jump,
        count,
        start_max,
    }) = Bounds::of(reserve)
    else {
        let (_, _, max_id) = last_row(connection, select).await?;
        return Err(refusal(reserve, max_id));
    };
    let statements = format!(
        "START TRANSACTION; UPDATE leaf_alloc a \
        SET a.max_id = IF(LAST_INSERT_ID(a.max_id) < {floor}, {jump}, a.max_id) + {count} \
        WHERE {row} AND a.max_id >= 0 AND IF(a.max_id < {floor}, {jump}, a.max_id) <= {start_max}; \
        {select}; COMMIT"
    );
    let (changed, previous, max_id) = last_row(connection, statements).await?;
    if changed != 1 {
        return Err(refusal(reserve, max_id));
    }
    let reserved = reserve.reserved(previous)?;
    check_kept(reserve, &reserved, max_id)?;
    Ok(reserved)
}

/// The tag's row: found through the index, and told by its bytes. The name is written as
/// hexadecimal digits, so that no letter of it is SQL.
fn row_of(reserve: &Reserve) -> String {
    let bytes = reserve.tag.as_str().bytes();
    let name: String = bytes.map(|byte| format!("{byte:02x}")).collect();
    format!(
        "a.biz_tag = _utf8mb4 x'{name}' \
        AND CAST(CONVERT(a.biz_tag USING utf8mb4) AS BINARY) = x'{name}'"
    )
}

/// Runs the statements, whose only row this is, to the end: the last one commits.
async fn last_row(
    connection: &mut MySqlConnection,
    statements: String,
) -> Result<(i64, u64, i64), Fault> {
    let rows = sqlx::raw_sql(AssertSqlSafe(statements));
    let rows = known_charset(rows.fetch_all(connection).await)?;
    let row = rows.last().ok_or(StoreError::UnknownTag)?;
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
}
