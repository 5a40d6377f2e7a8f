//! Reserves a segment: one statement that commits by itself, in one round trip with a read of the
//! row after it.
//!
//! Not a transaction of several statements: a Galera node may roll one back between two of them,
//! when another node's change of the row arrives, and execute the rest, its COMMIT included,
//! without an error. The row then holds what the other node reserved, which looks like ours.

use leafid::store::{Reserve, Reserved, StoreError};
use sqlx::{AssertSqlSafe, MySqlConnection, Row as _};

use super::HAS_OWN_TABLE;
use crate::row::{Bounds, ReserveOutcome, SideTables, check_kept_or_above, former_life, refusal};
use crate::servers::identity_sql;
use crate::sql_error::CallError;
use crate::tags::unknown_name;

/// What the row held before and after.
struct Row {
    is_changed: bool,
    previous: u64,
    max_id: i64,
    /// How far a former tag of this name went.
    former: u64,
    is_segment_tag: bool,
    has_own_table: bool,
    identity: Option<String>,
}

/// The read comes after the change was committed. So it sees every former tag of this name, because
/// deleting a tag locks the row until how far it went is recorded. If the segment is below that,
/// because the row was created again by hand, it is skipped, and another one is reserved above. If
/// the row is that of a snowflake tag by now, the segment is lost, and none of its ids is issued.
pub(super) async fn reserve(
    connection: &mut MySqlConnection,
    side_tables: SideTables,
    reserve: &Reserve,
) -> Result<ReserveOutcome, CallError> {
    let (reserved, row) = attempt(connection, side_tables, reserve, 0).await?;
    let came_since = row.has_own_table && !side_tables.own.exists;
    let previous = reserved.previous.max(row.former);
    let reserved = match reserved.segment.start() >= reserve.start(previous) {
        true => Reserved {
            previous,
            ..reserved
        },
        false => {
            attempt(connection, side_tables, reserve, row.former)
                .await?
                .0
        }
    };
    Ok(ReserveOutcome {
        reserved,
        came_since,
        identity: row.identity,
    })
}

/// Reserves above a former tag of this name.
async fn attempt(
    connection: &mut MySqlConnection,
    side_tables: SideTables,
    reserve: &Reserve,
    former: u64,
) -> Result<(Reserved, Row), CallError> {
    let row = only_row(connection, statements(side_tables, reserve, former)).await?;
    if !row.is_segment_tag {
        return Err(StoreError::UnknownTag.into());
    }
    if !row.is_changed {
        return Err(refusal(reserve, row.max_id, row.former.max(former)));
    }
    let reserved = reserve.reserved(row.previous.max(former))?;
    check_kept_or_above(reserve, &reserved, row.max_id)?;
    Ok((reserved, row))
}

/// `LAST_INSERT_ID(x)` is x, and remembers it: the max id before the change.
fn statements(
    SideTables { own, has_identity }: SideTables,
    reserve: &Reserve,
    former: u64,
) -> String {
    let name = name_of(reserve);
    let row = format!(
        "a.biz_tag = _utf8mb4 {name} \
        AND CAST(CONVERT(a.biz_tag USING utf8mb4) AS BINARY) = {name}"
    );
    let of_own = |column: &str| {
        format!("(SELECT MAX({column}) FROM leafid_tag WHERE tag = _utf8mb4 {name})")
    };
    let (deleted, kind, has_own_table) = match own.exists {
        true => (of_own("deleted_max_id"), of_own("kind"), "1".into()),
        false => ("NULL".into(), "NULL".into(), format!("({HAS_OWN_TABLE})")),
    };
    let identity = match has_identity {
        true => format!("({})", identity_sql::<MySqlConnection>()),
        false => "NULL".into(),
    };
    let select = format!(
        "CAST(a.max_id AS SIGNED), CAST({deleted} AS SIGNED), \
        CAST(COALESCE({kind}, 'segment') IN ('segment', 'segment+text') AS SIGNED), \
        CAST({has_own_table} AS SIGNED), CAST({identity} AS CHAR) \
        FROM leaf_alloc a WHERE {row}"
    );
    let Some(Bounds {
        floor,
        jump,
        count,
        start_max,
    }) = Bounds::of(reserve, former)
    else {
        return format!("SELECT 0, CAST(0 AS UNSIGNED), {select}");
    };
    // Recorded before the segment is used.
    let keep = match reserve.is_longest && own.has_segment_max {
        true => format!(
            "INSERT INTO leafid_tag (tag, segment_max) SELECT _utf8mb4 {name}, {count} \
            FROM leaf_alloc a WHERE {row} ON DUPLICATE KEY UPDATE \
            segment_max = GREATEST(COALESCE(leafid_tag.segment_max, 0), {count}); "
        ),
        false => String::new(),
    };
    format!(
        "{keep}UPDATE leaf_alloc a \
        SET a.max_id = IF(LAST_INSERT_ID(a.max_id) < {floor}, {jump}, a.max_id) + {count} \
        WHERE {row} AND a.max_id >= 0 AND IF(a.max_id < {floor}, {jump}, a.max_id) <= {start_max}; \
        SELECT ROW_COUNT(), LAST_INSERT_ID(), {select}"
    )
}

/// The tag's name as hexadecimal digits, so that none of it can be SQL. The row is found through
/// the index, and checked by its bytes.
fn name_of(reserve: &Reserve) -> String {
    let bytes = reserve.tag.as_str().bytes();
    let digits: String = bytes.map(|byte| format!("{byte:02x}")).collect();
    format!("x'{digits}'")
}

/// Runs the statements, of which the last one returns a row.
async fn only_row(connection: &mut MySqlConnection, statements: String) -> Result<Row, CallError> {
    let rows = sqlx::raw_sql(AssertSqlSafe(statements));
    let rows = rows.fetch_all(connection).await;
    let rows = rows.map_err(|error| unknown_name::<MySqlConnection>(error.into()))?;
    let row = rows.last().ok_or(StoreError::UnknownTag)?;
    let changed: i64 = row.try_get(0)?;
    Ok(Row {
        is_changed: changed == 1,
        previous: row.try_get(1)?,
        max_id: row.try_get(2)?,
        former: former_life(row.try_get(3)?),
        is_segment_tag: row.try_get::<i64, _>(4)? > 0,
        has_own_table: row.try_get::<i64, _>(5)? > 0,
        identity: row.try_get(6)?,
    })
}
