//! Reads, lists, creates, changes and deletes tags in a SQL database, the same way in every
//! database.

use leafid::Tag;
use leafid::store::{StoreError, TagPatch, TagRecord, TagSpec};

use crate::row::{KEEP_OWN, OwnColumns, StoredRow, check_created, first_max_id, padded, records};
use crate::schema::Shape;
use crate::sql::{Dialect, InsertError, Need, Row, Value, Work};
use crate::sql_error::{CallError, SqlError};

pub(crate) struct Read(pub(crate) Vec<Tag>);

impl Work for Read {
    type Answer = Vec<TagRecord>;

    /// Our own table records how far a deleted tag went, and must not be skipped.
    fn need(&self) -> Need {
        Need::Look
    }

    async fn run<D: Dialect>(
        self,
        connection: &mut D,
        shape: Shape,
    ) -> Result<Vec<TagRecord>, CallError> {
        let Self(mut tags) = self;
        let rows = match rows_of(connection, shape, &tags).await {
            // The column's character set lacks some characters, so it has no tag with them.
            Err(error) if D::is_unknown_name(&error) => {
                tags.retain(|tag| tag.as_str().is_ascii());
                rows_of(connection, shape, &tags).await?
            }
            rows => rows?,
        };
        records(rows, &tags)
    }
}

async fn rows_of<D: Dialect>(
    connection: &mut D,
    shape: Shape,
    tags: &[Tag],
) -> Result<Vec<StoredRow>, SqlError> {
    if tags.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<Value> = padded(tags).map(|tag| tag.as_str().into()).collect();
    let marks = vec!["?"; names.len()].join(", ");
    let sql = format!("{} WHERE a.biz_tag IN ({marks})", D::select(shape));
    stored(&connection.rows(&sql, &names).await?)
}

pub(crate) struct List {
    pub(crate) after: Option<Tag>,
    pub(crate) count: u32,
}

impl Work for List {
    type Answer = Vec<TagRecord>;

    /// A format in a column that came later must not be skipped.
    fn need(&self) -> Need {
        Need::Look
    }

    async fn run<D: Dialect>(
        self,
        connection: &mut D,
        shape: Shape,
    ) -> Result<Vec<TagRecord>, CallError> {
        let count = self.count as usize;
        let mut after = self
            .after
            .map_or_else(String::new, |tag| tag.as_str().to_owned());
        let mut listed = Vec::new();
        // A row whose name is not a valid tag is skipped.
        while listed.len() < count {
            let wanted = i64::try_from(count - listed.len()).unwrap_or(i64::MAX);
            let (key, value) = D::sort_key(shape, &after);
            let select = D::select(shape);
            let sql = format!("{select} WHERE {key} > ? ORDER BY {key} LIMIT ?");
            let rows = connection.rows(&sql, &[value, wanted.into()]).await?;
            let rows = stored(&rows)?;
            let Some(last) = rows.last() else { break };
            after.clone_from(&last.tag);
            for row in rows {
                listed.extend(row.record()?);
            }
        }
        Ok(listed)
    }
}

pub(crate) struct Create(pub(crate) TagSpec);

impl Work for Create {
    type Answer = TagRecord;

    fn need(&self) -> Need {
        let is_plain = OwnColumns::of(&self.0).is_empty();
        match is_plain {
            true => Need::Sight,
            false => Need::Table(KEEP_OWN),
        }
    }

    async fn run<D: Dialect>(
        self,
        connection: &mut D,
        shape: Shape,
    ) -> Result<TagRecord, CallError> {
        let Self(spec) = self;
        if spec.format.is_some() && !shape.own.has_format {
            return Err(CallError::unsupported(
                "cannot keep a format: leafid_tag is of an older version: call \
                leafid_stores::init",
            ));
        }
        let mut max_id = first_max_id(&spec)?;
        insert(connection, shape, &spec, max_id).await?;
        // Only now: a transaction that deletes the tag holds the lock for which the insert waited.
        if shape.own.exists {
            let deleted = create_own(connection, shape, &spec).await?;
            if let Some(deleted) = deleted.filter(|deleted| *deleted > max_id) {
                let update = "UPDATE leaf_alloc SET max_id = ? WHERE biz_tag = ?";
                let values = [deleted.into(), spec.tag.as_str().into()];
                connection.execute(update, &values).await?;
                max_id = deleted;
            }
        }
        match row_of(connection, shape, &spec.tag).await {
            // Without strict mode MySQL cuts a name silently.
            Err(CallError::Store(StoreError::UnknownTag)) => Err(cannot_hold(&spec.tag)),
            row => {
                let row = row?;
                check_created(&row, max_id, spec.format.as_deref())?;
                record_of(row)
            }
        }
    }
}

/// Writes the tag's row of our own table where it needs one, and returns up to where a former tag of
/// this name went.
async fn create_own<D: Dialect>(
    connection: &mut D,
    shape: Shape,
    spec: &TagSpec,
) -> Result<Option<i64>, CallError> {
    let (tag, own) = (spec.tag.as_str(), OwnColumns::of(spec));
    let row = connection
        .row(&D::deleted(shape.own, begins(spec)), &[tag.into()])
        .await?;
    let (rows, deleted) = match &row {
        Some(row) => (row.number(0)?, row.number_or_null(1)?),
        None => (0, None),
    };
    if let Some(row) = row.filter(|_| rows > 0) {
        let former = OwnColumns::with_kind(row.text_or_null(2)?).kind(tag)?;
        spec.check_former(former, row.text_or_null(3)?.as_deref())?;
    }
    // Our row can exist although the tag was not deleted: someone removed Leaf's row by hand. Then
    // its settings are those of the former tag.
    if rows > 0 || !own.is_empty() || spec.format.is_some() {
        write_own(connection, &spec.tag, &own).await?;
    }
    // Nothing else writes it: a tag keeps its format, even deleted.
    if shape.own.has_format && (rows > 0 || spec.format.is_some()) {
        let update = "UPDATE leafid_tag SET format = ? WHERE tag = ?";
        let values = [spec.format.as_deref().into(), tag.into()];
        connection.execute(update, &values).await?;
    }
    Ok(deleted)
}

/// The hour in which the period of a calendar counter begins, such as 2026112200 for a day's; 0 for
/// any other tag.
fn begins(spec: &TagSpec) -> u64 {
    match spec.period_label() {
        Some(year @ 1000..=9999) => year * 1_000_000 + 10_100,
        Some(month @ 100_000..=999_999) => month * 10_000 + 100,
        Some(day @ 10_000_000..=99_999_999) => day * 100,
        Some(hour @ 1_000_000_000..=9_999_999_999) => hour,
        _ => 0,
    }
}

async fn insert<D: Dialect>(
    connection: &mut D,
    shape: Shape,
    spec: &TagSpec,
    max_id: i64,
) -> Result<(), CallError> {
    let sql = format!(
        "INSERT INTO leaf_alloc (biz_tag, max_id, step, {}) VALUES (?, ?, ?, ?){}",
        column(shape.description),
        D::OR_IGNORE
    );
    let values = [
        spec.tag.as_str().into(),
        max_id.into(),
        i64::from(spec.settings.step).into(),
        spec.description.as_deref().into(),
    ];
    match connection.execute(&sql, &values).await {
        Ok(0) => Err(StoreError::TagExists.into()),
        Ok(_) => Ok(()),
        Err(error) => match D::insert_error(&error) {
            InsertError::Exists => match row_of(connection, shape, &spec.tag).await {
                Ok(_) => Err(StoreError::TagExists.into()),
                Err(CallError::Store(StoreError::UnknownTag)) => Err(taken_for_another(&spec.tag)),
                Err(error) => Err(error),
            },
            InsertError::DoesNotFit => Err(cannot_hold(&spec.tag)),
            InsertError::Other => Err(error.into()),
        },
    }
}

fn taken_for_another(tag: &Tag) -> CallError {
    CallError::unsupported(format!(
        "cannot create tag {:?}: the collation of leaf_alloc.biz_tag considers it equal to an \
        existing tag with another spelling; choose another name, or give the column the collation \
        utf8mb4_bin",
        tag.as_str()
    ))
}

fn cannot_hold(tag: &Tag) -> CallError {
    CallError::unsupported(format!(
        "cannot create tag {:?}: the columns of leaf_alloc cannot hold its name or description; \
        shorten them, or give the columns the character set utf8mb4",
        tag.as_str()
    ))
}

pub(crate) struct Update {
    pub(crate) tag: Tag,
    pub(crate) patch: TagPatch,
}

impl Update {
    fn needs_own(&self) -> bool {
        self.patch.policy.is_some() || self.patch.limit.is_some()
    }
}

impl Work for Update {
    type Answer = TagRecord;

    fn need(&self) -> Need {
        Need::Look
    }

    async fn run<D: Dialect>(
        self,
        connection: &mut D,
        shape: Shape,
    ) -> Result<TagRecord, CallError> {
        lock(connection, &self.tag).await?;
        if !shape.own.exists && self.needs_own() {
            return Err(CallError::no_own_table(KEEP_OWN));
        }
        let mut row = row_of(connection, shape, &self.tag).await?;
        let before = row.clone();
        row.patch(&self.patch);
        if (row.step, &row.description) != (before.step, &before.description) {
            let sql = format!(
                "UPDATE leaf_alloc SET step = ?, {} = ?{} WHERE {}",
                column(shape.description),
                D::TOUCH_TAG,
                D::IS_NAMED
            );
            let mut values = vec![row.step.into(), row.description.as_deref().into()];
            values.extend(D::name(&self.tag));
            connection.execute(&sql, &values).await?;
        }
        if row.own != before.own {
            write_own(connection, &self.tag, &row.own).await?;
        }
        record_of(row_of(connection, shape, &self.tag).await?)
    }
}

pub(crate) struct Delete(pub(crate) Tag);

impl Work for Delete {
    type Answer = ();

    fn need(&self) -> Need {
        Need::Table("delete a tag")
    }

    async fn run<D: Dialect>(self, connection: &mut D, shape: Shape) -> Result<(), CallError> {
        let Self(tag) = self;
        let max_id = lock(connection, &tag).await?;
        let kind = row_of(connection, shape, &tag).await?.own.kind;
        write_own(connection, &tag, &OwnColumns::with_kind(kind)).await?;
        let remember = format!(
            "UPDATE leafid_tag SET deleted_max_id = {}(COALESCE(deleted_max_id, 1), ?) \
            WHERE tag = ?",
            D::GREATEST
        );
        let values = [max_id.into(), tag.as_str().into()];
        connection.execute(&remember, &values).await?;
        let delete = format!("DELETE FROM leaf_alloc WHERE {}", D::IS_NAMED);
        connection.execute(&delete, &D::name(&tag)).await?;
        Ok(())
    }
}

/// Locks the row until the end of the transaction and returns its max id.
async fn lock<D: Dialect>(connection: &mut D, tag: &Tag) -> Result<i64, CallError> {
    let sql = format!(
        "SELECT {} FROM leaf_alloc WHERE {}{}",
        D::number("max_id"),
        D::IS_NAMED,
        D::FOR_UPDATE
    );
    let row = connection.row(&sql, &D::name(tag)).await;
    let row = row.map_err(unknown_name::<D>)?;
    Ok(row.ok_or(StoreError::UnknownTag)?.number(0)?)
}

async fn row_of<D: Dialect>(
    connection: &mut D,
    shape: Shape,
    tag: &Tag,
) -> Result<StoredRow, CallError> {
    let sql = format!("{} WHERE {}", D::select(shape), D::IS_NAMED);
    let row = connection.row(&sql, &D::name(tag)).await;
    let row = row.map_err(unknown_name::<D>)?;
    Ok(StoredRow::read(&row.ok_or(StoreError::UnknownTag)?)?)
}

async fn write_own<D: Dialect>(
    connection: &mut D,
    tag: &Tag,
    own: &OwnColumns,
) -> Result<(), SqlError> {
    let sql = format!(
        "INSERT INTO leafid_tag (tag, policy, step_max, cover_seconds, id_limit, kind) \
        VALUES (?, ?, ?, ?, ?, ?){}",
        D::OR_REPLACE_OWN
    );
    let values = [
        tag.as_str().into(),
        own.policy.as_deref().into(),
        own.step_max.into(),
        own.cover_seconds.into(),
        own.id_limit.into(),
        own.kind.as_deref().into(),
    ];
    connection.execute(&sql, &values).await.map(drop)
}

/// A name that the column's character set cannot hold has no row.
pub(crate) fn unknown_name<D: Dialect>(error: SqlError) -> CallError {
    match D::is_unknown_name(&error) {
        true => StoreError::UnknownTag.into(),
        false => error.into(),
    }
}

fn record_of(row: StoredRow) -> Result<TagRecord, CallError> {
    Ok(row.record()?.ok_or(StoreError::UnknownTag)?)
}

fn stored<R: Row>(rows: &[R]) -> Result<Vec<StoredRow>, SqlError> {
    rows.iter().map(StoredRow::read).collect()
}

/// The description's column without the alias of its table.
fn column(description: &str) -> &str {
    description.trim_start_matches("a.")
}
