//! The row of a worker id in Redis and etcd: a line of JSON. The worker id itself is in the key.

use std::borrow::Cow;

use leafid::WorkerId;
use leafid::store::{LeaseRecord, StoreError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Row<'a> {
    epoch: u64,
    until_ms: u64,
    #[serde(borrow)]
    holder: Cow<'a, str>,
    #[serde(borrow)]
    address: Cow<'a, str>,
}

/// The row's text.
pub(crate) fn write(record: &LeaseRecord) -> Result<String, StoreError> {
    let row = Row {
        epoch: record.epoch,
        until_ms: record.until_ms,
        holder: record.holder.as_str().into(),
        address: record.address.as_str().into(),
    };
    serde_json::to_string(&row)
        .map_err(|error| StoreError::unavailable("the row cannot be written as JSON", error))
}

/// Parses the row of this worker id.
pub(crate) fn read(worker: &str, text: &str) -> Result<LeaseRecord, StoreError> {
    let bad = |reason: String| StoreError::BadRow {
        message: format!(
            "the row of worker id {worker:?} is damaged ({reason}): repair it by hand"
        ),
    };
    let number: WorkerId = worker.parse().map_err(|_| bad("no number".into()))?;
    let row: Row<'_> = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    if row.epoch.max(row.until_ms) > LeaseRecord::FOREVER {
        return Err(bad("a number is above 2^63 - 1".into()));
    }
    Ok(LeaseRecord {
        worker: number,
        epoch: row.epoch,
        holder: row.holder.into_owned(),
        address: row.address.into_owned(),
        until_ms: row.until_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let record = LeaseRecord {
            worker: WorkerId::new(7),
            epoch: LeaseRecord::FOREVER,
            holder: "6f1c".into(),
            address: "\"epoch\":1, \\ é".into(),
            until_ms: LeaseRecord::FOREVER - 1,
        };
        let text = write(&record).expect("JSON");
        assert!(
            text.starts_with(r#"{"epoch":9223372036854775807,"until_ms":9223372036854775806,"#)
        );
        assert_eq!(read("7", &text).expect(&text), record);
    }

    fn check_damaged(worker: &str, text: &str) {
        let error = read(worker, text).expect_err(text);
        assert!(matches!(error, StoreError::BadRow { .. }), "{error:?}");
    }

    #[test]
    fn damaged_rows_are_named() {
        let row = r#"{"epoch":1,"until_ms":2,"holder":"a","address":""}"#;
        read("0", row).expect(row);
        check_damaged("0x", row);
        check_damaged("0", "");
        check_damaged("0", &row.replace("1,", "-1,"));
        check_damaged("0", &row.replace("2,", "9223372036854775808,"));
        check_damaged("0", &row.replace("2,", "2.5,"));
    }

    /// Guards that no text of a row panics, and that a row is written as it was read.
    #[test]
    fn rows_of_any_text_are_read_or_refused() {
        leafid_fuzz::fuzz("lease-rows", |data| {
            let text = str::from_utf8(data).unwrap_or_default();
            let (worker, row) = text.split_once(' ').unwrap_or_default();
            let Ok(record) = read(worker, row) else {
                return false;
            };
            let again = read(worker, &write(&record).unwrap());
            assert_eq!(again.ok(), Some(record));
            true
        });
    }
}
