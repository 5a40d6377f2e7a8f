//! Reserves a segment: one transaction in one round trip, even through a pooler.

use leafid::store::{Reserve, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::row::{Bounds, ReserveOutcome, SideTables, check_kept, former_life, refusal};
use crate::servers::identity_sql;
use crate::sql_error::CallError;

/// The row is locked first and then read, so that `old` is the value that the update changes,
/// however many others wait for the row. If the row was created again after a tag of this name was
/// deleted, the statement sees what was recorded of that tag.
pub(super) async fn reserve(
    connection: &mut PgConnection,
    begin: &str,
    SideTables { own, has_identity }: SideTables,
    reserve: &Reserve,
) -> Result<ReserveOutcome, CallError> {
    let name = name_of(reserve);
    let (former, is_segment) = match own.exists {
        true => (
            format!("(SELECT max(deleted_max_id) FROM leafid_tag WHERE tag = {name})"),
            format!(
                "COALESCE((SELECT max(kind) FROM leafid_tag WHERE tag = {name}), 'segment') \
                IN ('segment', 'segment+text')"
            ),
        ),
        false => ("NULL".into(), "true".into()),
    };
    if let Some(bounds) = Bounds::of(reserve, 0) {
        let change = change(&name, &former, &is_segment, bounds, has_identity);
        let keep = match reserve.is_longest && own.has_segment_max {
            true => keep_longest(&name, reserve.count),
            false => String::new(),
        };
        let statements = format!("{begin}; {change}; {keep}COMMIT");
        if let Some(row) = only_row(connection, statements).await? {
            let (previous, max_id): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            // The statement changes no row that holds less.
            let reserved = reserve.reserved(u64::try_from(previous).unwrap_or(0))?;
            check_kept(reserve, &reserved, max_id)?;
            let has_own_table: bool = row.try_get(2)?;
            return Ok(ReserveOutcome {
                reserved,
                came_since: has_own_table && !own.exists,
                identity: row.try_get(3)?,
            });
        }
    }
    let select = format!(
        "SELECT max_id::bigint, {former}::bigint FROM leaf_alloc \
        WHERE biz_tag = {name} AND {is_segment}"
    );
    let row = only_row(connection, select).await?;
    let row = row.ok_or(StoreError::UnknownTag)?;
    let former = former_life(row.try_get(1)?);
    Err(refusal(reserve, row.try_get(0)?, former))
}

/// Reserves, and returns what the row held before and after.
fn change(
    name: &str,
    former: &str,
    is_segment: &str,
    bounds: Bounds,
    has_identity: bool,
) -> String {
    let identity = match has_identity {
        true => format!("({})", identity_sql::<PgConnection>()),
        false => "NULL::text".into(),
    };
    let Bounds {
        floor,
        jump,
        count,
        start_max,
    } = bounds;
    format!(
        "WITH old AS MATERIALIZED \
        (SELECT biz_tag, max_id, GREATEST(max_id, {former}::bigint) AS top \
        FROM leaf_alloc WHERE biz_tag = {name} FOR UPDATE) \
        UPDATE leaf_alloc a SET update_time = now(), \
        max_id = CASE WHEN old.top < {floor} THEN {jump} ELSE old.top END + {count} \
        FROM old WHERE a.biz_tag = old.biz_tag AND old.max_id >= 0 \
        AND {is_segment} AND CASE WHEN old.top < {floor} THEN {jump} ELSE old.top END <= {start_max} \
        RETURNING old.top::bigint, a.max_id::bigint, to_regclass('leafid_tag') IS NOT NULL, {identity}"
    )
}

/// Records the length; shorter ones are ignored. The row of the tag is locked meanwhile.
fn keep_longest(name: &str, count: u64) -> String {
    format!(
        "INSERT INTO leafid_tag (tag) SELECT {name} FROM leaf_alloc WHERE biz_tag = {name} \
        AND NOT EXISTS (SELECT 1 FROM leafid_tag WHERE tag = {name}) ON CONFLICT DO NOTHING; \
        UPDATE leafid_tag SET segment_max = GREATEST(segment_max, {count}) WHERE tag = {name}; "
    )
}

/// The name as hexadecimal digits, so that none of it can be SQL.
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
