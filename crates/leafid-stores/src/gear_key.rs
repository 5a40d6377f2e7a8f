//! The table `gear_key` of ns4_gear_idgen as a store, beside running programs of it.
//!
//! A URL of MySQL or MariaDB with `table=gear_key` opens it: each row is a segment tag whose name is
//! `key_name`, whose step is `key_cache`, and whose next segment starts at `key_value` + 1. A row
//! with a `key_length` has a format, made from its prefix, suffix and digits. `zone=` names the time
//! zone of its dates, such as `zone=Asia/Shanghai`; without it, it is that of this machine, as
//! ns4_gear_idgen takes that of its process. The format names it in any case.
//!
//! - **Unique**: a segment is taken only if the row still has the version and the value that were
//!   read, and raises the version. So no program on the same rows gets the same numbers, whether
//!   Leafid or ns4_gear_idgen. A program that was faster is a [`StoreError::Conflict`], which the
//!   driver retries after a pause.
//! - **No text twice**: a segment marks the row with its format, in `updator` unless something else
//!   is there. A row with another format than its mark is refused.
//! - A row that cannot be used is left out of lists, and named once: see
//!   [`StoreOptions::on_bad_row`].
//! - A row never starts again at 1: [`StoreError::LimitReached`] at 2^63 - 2.
//! - The table has no place for policies, limits, descriptions and deleted tags, so those are
//!   refused, and its programs expect every row to stay.
//!
//! Worker ids and the audit log are in tables of our own in the same database, which
//! [`init`](crate::init) creates; it creates `gear_key` too if it is missing.

mod bad_rows;
mod row;
mod template;
mod work;
mod zone;

use leafid::Tag;
use leafid::store::{
    Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagPatch, TagRecord,
    TagSpec,
};

use crate::StoreOptions;
use crate::backend::Backend as _;
use crate::mysql::Mysql;
use crate::servers::Servers;
use crate::sql::Work;
use crate::sql_error::CallError;
use crate::store::SqlStore;

use bad_rows::BadRows;

/// The table, as ns4_gear_idgen has it but with names and texts compared by their bytes.
///
/// # Example
///
/// ```
/// assert!(leafid_stores::gear_key::TABLE_SQL.contains("key_value DECIMAL(50,0)"));
/// ```
pub const TABLE_SQL: &str = "CREATE TABLE gear_key (\
    id INT NOT NULL AUTO_INCREMENT, \
    key_name VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL, \
    key_value DECIMAL(50,0) DEFAULT NULL, key_length DECIMAL(10,0) DEFAULT NULL, \
    key_cache DECIMAL(20,0) DEFAULT NULL, \
    key_prefix VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL, \
    key_suffix VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL, \
    creator VARCHAR(20) DEFAULT NULL, updator VARCHAR(20) DEFAULT NULL, \
    create_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, \
    update_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, \
    key_digit VARCHAR(5) DEFAULT NULL, version BIGINT DEFAULT NULL, \
    PRIMARY KEY (id), UNIQUE KEY key_name_unique (key_name)) ENGINE=InnoDB";

pub(crate) use zone::is_name as is_zone;

/// A store on the table.
pub(crate) struct GearKeyStore {
    sql: SqlStore<Servers<Mysql>>,
    /// The time zone of dates.
    zone: String,
    bad_rows: BadRows,
}

impl GearKeyStore {
    /// `zone` is that of the URL.
    pub(crate) fn new(
        sql: SqlStore<Servers<Mysql>>,
        zone: Option<&str>,
        options: &StoreOptions,
    ) -> Self {
        let zone = zone.map_or_else(zone::of_machine, str::to_owned);
        Self {
            sql,
            zone,
            bad_rows: BadRows::new(options.on_bad_row),
        }
    }

    async fn reserve_now(&self, reserve: &Reserve) -> Result<Reserved, CallError> {
        let mut pooled = self.sql.pool.take_to_reserve().await?;
        let work = work::ReserveSegment(reserve.clone());
        let backend = self.sql.pool.backend();
        let answer = backend.run(&mut pooled.connection, work).await;
        pooled.give_back(answer)
    }

    /// Runs work that is about one tag.
    fn of_tag<'a, W: Work>(
        &'a self,
        verb: &'static str,
        tag: &'a Tag,
        work: Result<W, CallError>,
    ) -> StoreResult<'a, W::Answer> {
        let what = move || format!("{verb} tag {:?}", tag.as_str());
        let call = async { self.sql.transact(work?).await };
        Box::pin(self.sql.bounded(what, call))
    }
}

impl SegmentStore for GearKeyStore {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        let what = || {
            let tag = reserve.tag.as_str();
            format!("reserve {} ids of tag {tag:?}", reserve.count)
        };
        Box::pin(self.sql.bounded(what, self.reserve_now(reserve)))
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        let what = move || match tags {
            [tag] => format!("read tag {:?}", tag.as_str()),
            tags => format!("read {} tags", tags.len()),
        };
        let zone = self.zone.clone();
        let tags = tags.to_vec();
        Box::pin(self.sql.bounded(what, async move {
            match tags.is_empty() {
                true => Ok(Vec::new()),
                false => self.sql.run(work::Read { tags, zone }).await,
            }
        }))
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        let list = work::List {
            after: after.map_or_else(String::new, |tag| tag.as_str().to_owned()),
            count,
            zone: self.zone.clone(),
        };
        let list = async { Ok(self.bad_rows.leave_out(self.sql.run(list).await?)) };
        Box::pin(self.sql.bounded(|| "list tags".into(), list))
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        self.of_tag("create", &spec.tag, work::Create::new(spec, &self.zone))
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        self.of_tag("change", tag, work::Update::new(tag, patch, &self.zone))
    }

    /// A row stays: how far it went could not be recorded, and running programs need it.
    fn delete<'a>(&'a self, _: &'a Tag) -> StoreResult<'a, ()> {
        Box::pin(async { Err(rows_stay()) })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(async {
            let report = self.sql.inspect().await?;
            Ok(StoreReport {
                product: format!("{} with the table gear_key", report.product),
                ..report
            })
        })
    }

    fn probe(&self) -> StoreResult<'_, String> {
        let probe = async {
            self.sql.run(work::Probe).await?;
            Ok(self.sql.in_use())
        };
        Box::pin(self.sql.bounded(|| "reserve ids".into(), probe))
    }
}

fn rows_stay() -> StoreError {
    StoreError::Unsupported {
        message:
            "the table gear_key has no place for how far a deleted tag went, and its programs \
            expect every row to stay: stop using the tag instead"
                .to_owned(),
    }
}
