//! Raises tags and worker ids in a copy before a server may use it.

use std::collections::{BTreeMap, BTreeSet};

use leafid::{Layout, Limit};
use rusqlite::{Connection, Row, Transaction};

use super::MarkRecord;
use crate::backup::{Knowledge, RaisedTag, RestoreOptions, RestoreReport};
use crate::leases::IDENTITY;
use crate::sql_error::CallError;
use crate::sqlite::schema::own_table;

/// This many worker ids above the largest known one may have been claimed since.
const WORKERS_MORE: u32 = 32;
/// The row for all tags that neither file knows.
pub(in crate::sqlite) const ANY_TAG: &str = "";

/// What is known of the replaced file.
#[derive(Default)]
pub(super) struct Former {
    /// `None` if it is missing, or cannot be read.
    pub(super) rows: Option<Rows>,
    pub(super) state: Option<MarkRecord>,
    pub(super) marked: Option<MarkRecord>,
}

/// The numbers in a file.
#[derive(Default)]
pub(super) struct Rows {
    /// By tag: up to where ids were reserved, or had been when it was deleted.
    tags: BTreeMap<String, Kept>,
    /// By pool: the layout, and the rows by worker id.
    pools: BTreeMap<String, (String, BTreeMap<u32, Held>)>,
}

#[derive(Clone, Default)]
struct Kept {
    max_id: Option<u64>,
    deleted: Option<u64>,
    limit: Option<u64>,
    kind: Option<String>,
    format: Option<String>,
}

/// The numbers of a worker id's row.
#[derive(Clone, Copy, Default)]
struct Held {
    epoch: u64,
    until_ms: u64,
}

impl Former {
    /// Whether it has all that was ever acknowledged.
    fn knowledge(&self) -> Knowledge {
        match &self.rows {
            None => Knowledge::Nothing,
            Some(_) if self.is_up_to_date() => Knowledge::Everything,
            Some(_) => Knowledge::Something,
        }
    }

    /// As a server that starts on it would find.
    fn is_up_to_date(&self) -> bool {
        let (Some(state), Some(marked)) = (&self.state, &self.marked) else {
            return false;
        };
        state.identity == marked.identity && state.generation >= marked.generation
    }
}

impl Kept {
    fn highest(&self) -> u64 {
        self.max_id.max(self.deleted).unwrap_or(1).max(1)
    }
}

type OwnRow = (
    String,
    Option<i64>,
    Option<i64>,
    Option<String>,
    Option<String>,
);

/// Reads the numbers of a file; an invalid row, or a missing table, is left out.
pub(super) fn rows_of(connection: &Connection) -> rusqlite::Result<Rows> {
    let mut rows = Rows::default();
    let select = "SELECT biz_tag, max_id FROM leaf_alloc";
    let tags: Vec<(String, i64)> = all(connection, select)?;
    for (tag, max_id) in tags {
        rows.tags.entry(tag).or_default().max_id = u64::try_from(max_id).ok();
    }
    // The replaced file may be of an older version.
    let format = match own_table(connection)?.has_format {
        true => "format",
        false => "NULL",
    };
    let select = format!("SELECT tag, deleted_max_id, id_limit, kind, {format} FROM leafid_tag");
    let own: Vec<OwnRow> = all(connection, &select)?;
    let number = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
    for (tag, deleted, limit, kind, format) in own {
        let kept = rows.tags.entry(tag).or_default();
        (kept.deleted, kept.limit) = (number(deleted), number(limit));
        (kept.kind, kept.format) = (kind, format);
    }
    let select = "SELECT pool, layout FROM leafid_pool";
    let pools: Vec<(String, String)> = all(connection, select)?;
    // The row with the registry's identity is not a pool.
    for (pool, layout) in pools.into_iter().filter(|(pool, _)| pool != IDENTITY) {
        rows.pools.entry(pool).or_default().0 = layout;
    }
    let select = "SELECT pool, worker, epoch, until_ms FROM leafid_worker";
    let workers: Vec<(String, i64, i64, i64)> = all(connection, select)?;
    for (pool, worker, epoch, until_ms) in workers {
        if let Ok(worker) = u32::try_from(worker) {
            let held = Held {
                epoch: epoch.unsigned_abs(),
                until_ms: until_ms.unsigned_abs(),
            };
            rows.pools.entry(pool).or_default().1.insert(worker, held);
        }
    }
    Ok(rows)
}

/// All rows of a statement.
fn all<T>(connection: &Connection, select: &str) -> rusqlite::Result<Vec<T>>
where
    T: for<'a> TryFrom<&'a Row<'a>, Error = rusqlite::Error>,
{
    let mut statement = connection.prepare(select)?;
    let rows = statement.query_map([], |row| T::try_from(row))?;
    rows.collect()
}

/// Raises all that is in a copy, in one transaction.
pub(super) fn raise(
    connection: &mut Connection,
    former: &Former,
    options: &RestoreOptions,
) -> Result<RestoreReport, CallError> {
    let rows = rows_of(connection)?;
    let transaction = connection.transaction()?;
    let knowledge = former.knowledge();
    let mut raised_counters = Vec::new();
    let tags = raise_tags(&transaction, &rows, former, options)?;
    if knowledge != Knowledge::Everything {
        let start = options.margin.saturating_add(1);
        bury(&transaction, ANY_TAG, start)?;
        if !options.spares_later_periods {
            include_later_periods(&transaction)?;
            raised_counters = counters(&transaction)?;
        }
    }
    // Also what an earlier restore has buried.
    if options.spares_later_periods {
        except_later_periods(&transaction, options.now_ms)?;
    }
    let workers = raise_workers(&transaction, &rows, former, options)?;
    rename(&transaction, former)?;
    transaction.commit()?;
    Ok(RestoreReport {
        tags,
        workers,
        raised_counters,
        knowledge,
        aside: None,
    })
}

fn raise_tags(
    transaction: &Transaction<'_>,
    rows: &Rows,
    former: &Former,
    options: &RestoreOptions,
) -> Result<Vec<RaisedTag>, CallError> {
    let known = former.rows.as_ref();
    let mut raised = Vec::new();
    let names = known.into_iter().flat_map(|rows| rows.tags.keys());
    let names: BTreeSet<&String> = rows.tags.keys().chain(names).collect();
    for tag in names {
        let of = |rows: &Rows| rows.tags.get(tag).cloned().unwrap_or_default();
        let (copy, last) = (of(rows), known.map(of).unwrap_or_default());
        let wanted = copy
            .highest()
            .max(last.highest())
            .saturating_add(options.margin);
        let has_new_kind = last.kind.is_some() && last.kind != copy.kind;
        if has_new_kind || copy.format.is_none() && last.format.is_some() {
            keep_kind(transaction, tag, &last)?;
        }
        let Some(from) = copy.max_id else {
            // Deleted, or created after the copy: if it is created again, it continues from there.
            bury(transaction, tag, wanted)?;
            continue;
        };
        let limit = copy.limit.unwrap_or(Limit::INT64.largest());
        // At the limit it issues nothing more, which is the safe side.
        let to = wanted.min(limit.saturating_add(1)).max(from);
        let update = "UPDATE leaf_alloc SET max_id = ? WHERE biz_tag = ?";
        transaction.execute(update, (whole(to), tag))?;
        raised.push(RaisedTag {
            tag: tag.clone(),
            from,
            to,
            is_spent: to > limit,
        });
    }
    Ok(raised)
}

/// Records how far a tag without a row went.
fn bury(transaction: &Transaction<'_>, tag: &str, max_id: u64) -> Result<(), CallError> {
    let upsert = "INSERT INTO leafid_tag (tag, deleted_max_id) VALUES (?, ?) \
        ON CONFLICT (tag) DO UPDATE SET \
        deleted_max_id = max(coalesce(deleted_max_id, 1), excluded.deleted_max_id)";
    transaction.execute(upsert, (tag, whole(max_id)))?;
    Ok(())
}

/// What an earlier restore spared may have begun since.
fn include_later_periods(transaction: &Transaction<'_>) -> Result<(), CallError> {
    let update = "UPDATE leafid_tag SET segment_max = NULL WHERE tag = ?";
    transaction.execute(update, [ANY_TAG])?;
    Ok(())
}

/// The calendar counters.
fn counters(transaction: &Transaction<'_>) -> Result<Vec<String>, CallError> {
    let select = "SELECT tag FROM leafid_tag WHERE format LIKE '%{number%restart=%' \
        AND tag IN (SELECT biz_tag FROM leaf_alloc) ORDER BY tag";
    let mut statement = transaction.prepare(select)?;
    let tags = statement.query_map([], |row| row.get(0))?;
    Ok(tags.collect::<Result<_, _>>()?)
}

/// Lets periods of calendar counters start at 1 that begin two days from now or later: whoever asks
/// for that says that nobody has begun one. Two days are enough for any zone, and for a server whose clock is a day ahead. The
/// time is the latest of those that are known, should one of the clocks be behind.
fn except_later_periods(transaction: &Transaction<'_>, now_ms: u64) -> Result<(), CallError> {
    let update = "UPDATE leafid_tag SET segment_max = max(coalesce(segment_max, 0), \
        CAST(strftime('%Y%m%d%H', max(?, unixepoch() * 1000, \
            coalesce((SELECT max(update_time) FROM leaf_alloc), 0)) / 1000, \
            'unixepoch', '+2 days') AS INTEGER)) WHERE tag = ?";
    transaction.execute(update, (whole(now_ms), ANY_TAG))?;
    Ok(())
}

/// Records the kind and the format that a tag got after the copy was made: it has issued such ids
/// since, of which no row knows.
fn keep_kind(transaction: &Transaction<'_>, tag: &str, last: &Kept) -> Result<(), CallError> {
    let upsert = "INSERT INTO leafid_tag (tag, kind, format) VALUES (?, ?, ?) \
        ON CONFLICT (tag) DO UPDATE SET kind = excluded.kind, format = excluded.format";
    transaction.execute(upsert, (tag, &last.kind, &last.format))?;
    Ok(())
}

/// Prevents claims of worker ids before the longest lease would have ended that was extended or
/// claimed at the last moment. A file that knows everything has the leases themselves.
fn raise_workers(
    transaction: &Transaction<'_>,
    rows: &Rows,
    former: &Former,
    options: &RestoreOptions,
) -> Result<u64, CallError> {
    let known = former.rows.as_ref();
    let is_complete = former.knowledge() == Knowledge::Everything;
    let lease_ms = u64::try_from(options.lease.as_millis()).unwrap_or(u64::MAX);
    let until_min = match is_complete {
        true => 0,
        false => options.now_ms.saturating_add(lease_ms),
    };
    let mut count = 0;
    let pools = known.into_iter().flat_map(|rows| rows.pools.keys());
    let pools: BTreeSet<&String> = rows.pools.keys().chain(pools).collect();
    for pool in pools {
        let none = (String::new(), BTreeMap::new());
        let (layout, copy) = rows.pools.get(pool).unwrap_or(&none);
        let (last_layout, last) = known.and_then(|rows| rows.pools.get(pool)).unwrap_or(&none);
        let layout = if layout.is_empty() {
            last_layout
        } else {
            layout
        };
        let keep = "INSERT INTO leafid_pool (pool, layout) VALUES (?, ?) ON CONFLICT DO NOTHING";
        transaction.execute(keep, (pool, layout))?;
        let mut workers: BTreeSet<u32> = copy.keys().chain(last.keys()).copied().collect();
        if !is_complete {
            let most = layout.parse().map_or(u32::MAX, Layout::worker_max);
            let more = workers.last().map_or(0, |last| last.saturating_add(1));
            workers.extend(
                0..more
                    .saturating_add(WORKERS_MORE)
                    .min(most.saturating_add(1)),
            );
        }
        for worker in workers {
            let of = |held: &BTreeMap<u32, Held>| held.get(&worker).copied().unwrap_or_default();
            let (copy, last) = (of(copy), of(last));
            let held = Held {
                epoch: copy.epoch.max(last.epoch).saturating_add(1),
                until_ms: copy.until_ms.max(last.until_ms).max(until_min),
            };
            keep_out(transaction, pool, worker, held)?;
            count += 1;
        }
    }
    Ok(count)
}

fn keep_out(
    transaction: &Transaction<'_>,
    pool: &str,
    worker: u32,
    held: Held,
) -> Result<(), CallError> {
    let upsert = "INSERT INTO leafid_worker (pool, worker, epoch, holder, address, until_ms) \
        VALUES (?, ?, ?, 'restored', '', ?) ON CONFLICT (pool, worker) DO UPDATE SET \
        epoch = excluded.epoch, holder = excluded.holder, address = excluded.address, \
        until_ms = excluded.until_ms, updated = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
    let values = (pool, worker, whole(held.epoch), whole(held.until_ms));
    transaction.execute(upsert, values)?;
    Ok(())
}

/// It is another database and another registry from now on, further than any that was here: no
/// journal may take a lease in it for its own.
fn rename(transaction: &Transaction<'_>, former: &Former) -> Result<(), CallError> {
    let known = [&former.state, &former.marked].into_iter().flatten();
    let known = known.map(|record| record.generation).max().unwrap_or(0);
    transaction.execute_batch("UPDATE leafid_file SET identity = lower(hex(randomblob(16)))")?;
    transaction.execute("DELETE FROM leafid_pool WHERE pool = ?", [IDENTITY])?;
    let further = "UPDATE leafid_generation SET generation = max(generation, ?) + 1";
    transaction.execute(further, [whole(known)])?;
    Ok(())
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
