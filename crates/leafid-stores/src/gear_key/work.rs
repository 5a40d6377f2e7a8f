//! The statements on `gear_key`.

use leafid::Tag;
use leafid::store::{
    Reserve, Reserved, StoreError, TagKind, TagPatch, TagRecord, TagSettings, TagSpec,
};

use super::bad_rows::Listed;
use super::row::{GearRow, SELECT, mark};
use super::template::Columns;
use crate::row::padded;
use crate::schema::Shape;
use crate::sql::{Dialect, InsertError, Row, Value, Work};
use crate::sql_error::{CallError, SqlError};
use crate::tags::unknown_name;

/// The name as bytes of UTF-8, whatever the column's character set.
const NAME_BYTES: &str = "CAST(CONVERT(key_name USING utf8mb4) AS BINARY)";
/// In characters, as the columns are declared.
const NAME_LEN_MAX: usize = 50;
const AFFIX_LEN_MAX: usize = 20;

pub(super) struct Read {
    pub(super) tags: Vec<Tag>,
    pub(super) zone: String,
}

impl Work for Read {
    type Answer = Vec<TagRecord>;

    async fn run<D: Dialect>(
        self,
        connection: &mut D,
        _: Shape,
    ) -> Result<Vec<TagRecord>, CallError> {
        let Self { mut tags, zone } = self;
        let rows = match rows_of(connection, &tags).await {
            // The column's character set lacks some characters, so it has no tag with them.
            Err(error) if D::is_unknown_name(&error) => {
                tags.retain(|tag| tag.as_str().is_ascii());
                rows_of(connection, &tags).await?
            }
            rows => rows?,
        };
        let mut records = Vec::with_capacity(rows.len());
        for row in rows {
            match row.record(&zone) {
                Ok(record) => records.extend(record.filter(|record| tags.contains(&record.tag))),
                // One invalid row does not spoil the rest; it shows when it is requested alone.
                Err(StoreError::BadRow { .. }) if tags.len() > 1 => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(records)
    }
}

async fn rows_of<D: Dialect>(connection: &mut D, tags: &[Tag]) -> Result<Vec<GearRow>, SqlError> {
    if tags.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<Value> = padded(tags).map(|tag| tag.as_str().into()).collect();
    let marks = vec!["?"; names.len()].join(", ");
    let sql = format!("{SELECT} WHERE key_name IN ({marks})");
    read(&connection.rows(&sql, &names).await?)
}

fn read<R: Row>(rows: &[R]) -> Result<Vec<GearRow>, SqlError> {
    rows.iter().map(GearRow::read).collect()
}

/// The row with this name, byte for byte.
async fn row_of<D: Dialect>(connection: &mut D, tag: &Tag) -> Result<GearRow, CallError> {
    let sql = format!("{SELECT} WHERE key_name = ? AND {NAME_BYTES} = ?");
    let row = connection.row(&sql, &D::name(tag)).await;
    let row = row.map_err(unknown_name::<D>)?;
    Ok(GearRow::read(&row.ok_or(StoreError::UnknownTag)?)?)
}

async fn record_of<D: Dialect>(
    connection: &mut D,
    tag: &Tag,
    zone: &str,
) -> Result<TagRecord, CallError> {
    let row = row_of(connection, tag).await?;
    Ok(row.record(zone)?.ok_or(StoreError::UnknownTag)?)
}

pub(super) struct List {
    pub(super) after: String,
    pub(super) count: u32,
    pub(super) zone: String,
}

impl Work for List {
    type Answer = Listed;

    async fn run<D: Dialect>(self, connection: &mut D, _: Shape) -> Result<Listed, CallError> {
        let (count, mut after) = (self.count as usize, self.after);
        let sql = format!("{SELECT} WHERE {NAME_BYTES} > ? ORDER BY {NAME_BYTES} LIMIT ?");
        let mut listed = Listed::default();
        while listed.records.len() < count {
            let wanted = i64::try_from(count - listed.records.len()).unwrap_or(i64::MAX);
            let values = [Value::Bytes(after.clone().into()), wanted.into()];
            let rows = read(&connection.rows(&sql, &values).await?)?;
            let Some(last) = rows.last() else { break };
            after.clone_from(&last.name);
            for row in rows {
                listed.add(row.record(&self.zone))?;
            }
        }
        Ok(listed)
    }
}

pub(super) struct ReserveSegment(pub(super) Reserve);

impl Work for ReserveSegment {
    type Answer = Reserved;

    /// Each statement commits by itself. The row is changed only if it still is as it was read, so
    /// whoever changes it in between keeps their numbers.
    async fn run<D: Dialect>(self, connection: &mut D, _: Shape) -> Result<Reserved, CallError> {
        let Self(reserve) = self;
        let row = row_of(connection, &reserve.tag).await?;
        let (reserved, value) = row.reserved(&reserve)?;
        let update = "UPDATE gear_key SET key_value = ?, version = ?, \
            updator = COALESCE(NULLIF(updator, ''), ?) WHERE id = ? AND key_value = ? AND version <=> ?";
        let values = [
            value.into(),
            row.next_version().into(),
            row.mark().as_str().into(),
            row.id.into(),
            row.value.into(),
            row.version.into(),
        ];
        if connection.execute(update, &values).await? == 0 {
            let message = format!("another program took a range of {:?}", reserve.tag.as_str());
            let source = "its row has another version".into();
            return Err(StoreError::Conflict { message, source }.into());
        }
        check_kept(connection, &row, &reserved, value).await?;
        Ok(reserved)
    }
}

/// Checks that the row holds the segment, or more if others reserved since: a trigger or a column
/// of another type could have changed what was written.
async fn check_kept<D: Dialect>(
    connection: &mut D,
    row: &GearRow,
    reserved: &Reserved,
    value: i64,
) -> Result<(), CallError> {
    let select = "SELECT CAST(key_value AS SIGNED) FROM gear_key WHERE id = ?";
    let kept = connection.row(select, &[row.id.into()]).await?;
    let kept = kept.map(|row| row.number_or_null(0)).transpose()?.flatten();
    if kept >= Some(value) {
        return Ok(());
    }
    let kept = kept.map_or("null".to_owned(), |kept| kept.to_string());
    let message = format!(
        "the row of tag {:?} has key_value {kept} after {value} was written: look for a trigger on \
        gear_key, for the type of key_value, and for a program that starts again at 1; the segment \
        {} is lost, and none of its ids is issued",
        row.name, reserved.segment
    );
    Err(StoreError::BadRow { message }.into())
}

/// A row to insert.
pub(super) struct Create {
    spec: TagSpec,
    columns: Option<Columns>,
    zone: String,
}

impl Create {
    /// Refuses what the table has no place for.
    pub(super) fn new(spec: &TagSpec, zone: &str) -> Result<Self, CallError> {
        let format = spec.format.as_deref();
        let columns = format.map(|format| columns_of(format, zone)).transpose()?;
        // A format refuses larger numbers by itself.
        let room = columns.as_ref().map(Columns::limit);
        let room = room.filter(|room| *room == spec.settings.limit);
        let plain = TagSettings {
            step: spec.settings.step,
            limit: room.unwrap_or_default(),
            ..TagSettings::default()
        };
        if spec.settings != plain || spec.description.is_some() {
            let message = match spec.settings.kind {
                TagKind::Segment => "a policy, a limit or a description",
                _ => "any kind but segment",
            };
            return Err(no_place_for(message));
        }
        let spec = TagSpec {
            start: spec.start.max(1),
            ..spec.clone()
        };
        spec.check().map_err(StoreError::from)?;
        let is_long = |text: &str, len_max| text.chars().count() > len_max;
        if is_long(spec.tag.as_str(), NAME_LEN_MAX) {
            return Err(no_place_for("a name of more than 50 characters"));
        }
        Ok(Self {
            spec,
            columns,
            zone: zone.to_owned(),
        })
    }
}

fn columns_of(format: &str, zone: &str) -> Result<Columns, CallError> {
    let columns = Columns::of(format, zone).ok_or_else(|| {
        CallError::unsupported(format!(
            "the table gear_key keeps formats such as \
            {{zone {zone}}}TS${{date6}}{{number total=16}}: the zone of the store, literal text \
            with at most one date of it, {{number total=LENGTH}} or {{number radix=36 \
            total=LENGTH}} (or 62), and such a text again"
        ))
    })?;
    let affixes = [&columns.prefix, &columns.suffix];
    match affixes
        .iter()
        .any(|text| text.chars().count() > AFFIX_LEN_MAX)
    {
        true => Err(no_place_for(
            "a prefix or suffix of more than 20 characters",
        )),
        false => Ok(columns),
    }
}

fn no_place_for(what: &str) -> CallError {
    CallError::unsupported(format!("the table gear_key has no place for {what}"))
}

impl Work for Create {
    type Answer = TagRecord;

    async fn run<D: Dialect>(self, connection: &mut D, _: Shape) -> Result<TagRecord, CallError> {
        let Self {
            spec,
            columns,
            zone,
        } = self;
        let insert = "INSERT INTO gear_key (key_name, key_value, key_length, key_cache, \
            key_prefix, key_suffix, key_digit, updator, creator, version) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'leafid', 0)";
        let columns = columns.as_ref();
        let values = [
            spec.tag.as_str().into(),
            i64::try_from(spec.start - 1).unwrap_or(i64::MAX).into(),
            columns.map(|columns| columns.length).into(),
            i64::from(spec.settings.step).into(),
            columns.map(|columns| columns.prefix.as_str()).into(),
            columns.map(|columns| columns.suffix.as_str()).into(),
            columns.map(|columns| columns.digit.as_str()).into(),
            mark(columns).as_str().into(),
        ];
        if let Err(error) = connection.execute(insert, &values).await {
            return Err(match D::insert_error(&error) {
                InsertError::Exists => match row_of(connection, &spec.tag).await {
                    Ok(_) => StoreError::TagExists.into(),
                    Err(CallError::Store(StoreError::UnknownTag)) => taken_for_another(&spec.tag),
                    Err(error) => error,
                },
                InsertError::DoesNotFit => cannot_hold(&spec.tag),
                InsertError::Other => error.into(),
            });
        }
        let record = record_of(connection, &spec.tag, &zone).await?;
        let is_kept = (record.max_id, &record.format) == (spec.start, &spec.format);
        match is_kept && record.settings.step == spec.settings.step {
            true => Ok(record),
            false => Err(cannot_hold(&spec.tag)),
        }
    }
}

fn taken_for_another(tag: &Tag) -> CallError {
    CallError::unsupported(format!(
        "cannot create tag {:?}: the collation of gear_key.key_name considers it equal to an \
        existing name with another spelling; choose another name",
        tag.as_str()
    ))
}

fn cannot_hold(tag: &Tag) -> CallError {
    CallError::unsupported(format!(
        "cannot create tag {:?}: the columns of gear_key cannot hold its name or its format; \
        choose others, or give the columns the character set utf8mb4",
        tag.as_str()
    ))
}

/// A change of the step, which is all that can be changed.
pub(super) struct Update {
    tag: Tag,
    step: Option<u32>,
    zone: String,
}

impl Update {
    /// Refuses what the table has no place for.
    pub(super) fn new(tag: &Tag, patch: &TagPatch, zone: &str) -> Result<Self, CallError> {
        let step_only = TagPatch {
            step: patch.step,
            ..TagPatch::default()
        };
        if *patch != step_only {
            return Err(no_place_for("a policy, a limit or a description"));
        }
        patch.check().map_err(StoreError::from)?;
        Ok(Self {
            tag: tag.clone(),
            step: patch.step,
            zone: zone.to_owned(),
        })
    }
}

impl Work for Update {
    type Answer = TagRecord;

    async fn run<D: Dialect>(self, connection: &mut D, _: Shape) -> Result<TagRecord, CallError> {
        let Self { tag, step, zone } = self;
        let row = row_of(connection, &tag).await?;
        if let Some(step) = step {
            let update = "UPDATE gear_key SET key_cache = ? WHERE id = ?";
            let values = [i64::from(step).into(), row.id.into()];
            connection.execute(update, &values).await?;
        }
        record_of(connection, &tag, &zone).await
    }
}

pub(super) struct Probe;

impl Work for Probe {
    type Answer = ();

    /// Changes no row, and needs all that a reservation needs.
    async fn run<D: Dialect>(self, connection: &mut D, _: Shape) -> Result<(), CallError> {
        let probe = "UPDATE gear_key SET version = version WHERE 1 = 0";
        Ok(connection.execute(probe, &[]).await.map(drop)?)
    }
}
