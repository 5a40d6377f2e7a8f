//! SQLite.

use leafid::Family;
use leafid::store::{Reserve, StoreError, TagKind, TagPatch, TagSpec};
use leafid_stores::{Knowledge, RestoreOptions, StoreOptions, backup, init, restore};
use tempfile::TempDir;

use crate::{
    chain, check_conforms, check_disjoint, create, open_at, runtime, sql_at, tag, take, url_of,
    wish,
};

fn url_in(folder: &TempDir) -> String {
    format!("sqlite:{}/deep/leafid.db", folder.path().display())
}

/// Guards the contract.
#[test]
fn sqlite_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let number = std::sync::atomic::AtomicU32::new(0);
    check_conforms(|| {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let url = format!("sqlite:{}/{number}/leafid.db", folder.path().display());
        async { url }
    });
}

/// Guards that reservations survive closing and reopening the file.
#[tokio::test]
async fn a_file_keeps_what_was_reserved() {
    let folder = tempfile::tempdir().unwrap();
    let url = url_in(&folder);
    let store = open_at(&url).await;
    create(&*store, "order").await;
    assert_eq!(take(&*store, "order", 10).await.to_string(), "[1, 11)");
    let identity = store.inspect().await.unwrap().identity;
    drop(store);
    let store = open_at(&url).await;
    assert_eq!(take(&*store, "order", 10).await.to_string(), "[11, 21)");
    assert_eq!(store.inspect().await.unwrap().identity, identity);
}

/// Guards that a version that knows of kinds and not of formats issues no numbers of a tag with one:
/// it reserves of kind `segment` only, and a kind that it does not know is a bad row for it.
#[tokio::test]
async fn a_format_is_seen_by_versions_without_formats() {
    let folder = tempfile::tempdir().unwrap();
    let url = url_in(&folder);
    let store = open_at(&url).await;
    let spec = |name: &str, kind, format: Option<&str>| {
        let mut spec = TagSpec::new(tag(name));
        spec.settings.kind = kind;
        spec.format = format.map(Into::into);
        spec
    };
    let format = Some("{number radix=36}");
    let kinds = [
        ("plain", TagKind::Segment, None, None),
        ("order", TagKind::Segment, format, Some("segment+text")),
        ("trace", TagKind::Snowflake, format, Some("snowflake+text")),
        ("flake", TagKind::Snowflake, None, Some("snowflake")),
        (
            "session",
            TagKind::Family(Family::Uuid7),
            Some("s-{id}"),
            Some("uuid7"),
        ),
    ];
    for (name, kind, format, _) in kinds {
        store.create(&spec(name, kind, format)).await.unwrap();
        let records = store.read(&[tag(name)]).await.unwrap();
        let record = &records[0];
        assert_eq!(
            (record.settings.kind, record.format.as_deref()),
            (kind, format)
        );
    }
    assert_eq!(take(&*store, "order", 10).await.to_string(), "[1, 11)");
    // Deleted and made again, it has the same kind and format.
    store.delete(&tag("order")).await.unwrap();
    store
        .create(&spec("order", TagKind::Segment, format))
        .await
        .unwrap();
    assert_eq!(take(&*store, "order", 10).await.to_string(), "[11, 21)");
    let file = rusqlite::Connection::open(url_of(&url).file().unwrap()).unwrap();
    for (name, _, _, kind) in kinds {
        let written = file.query_row(
            "SELECT max(kind) FROM leafid_tag WHERE tag = ?",
            [name],
            |row| row.get::<_, Option<String>>(0),
        );
        assert_eq!(written.unwrap().as_deref(), kind, "{name}");
    }
    let forget = "UPDATE leafid_tag SET format = NULL WHERE tag = 'order'";
    file.execute(forget, []).unwrap();
    let error = store.read(&[tag("order")]).await.unwrap_err();
    assert!(matches!(error, StoreError::BadRow { .. }), "{error}");
}

/// Guards that fifty first starts at once on one file end in one file with everything in it.
#[test]
fn many_first_starts_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = url_in(&folder);
    let runtime = runtime();
    let segments = runtime.block_on(async {
        let starts = (0..50).map(|_| {
            let url = url.clone();
            tokio::spawn(async move {
                let store = open_at(&url).await;
                match store.create(&TagSpec::new(tag("order"))).await {
                    Ok(_) | Err(StoreError::TagExists) => {}
                    Err(error) => panic!("{}", chain(&error)),
                }
                take(&*store, "order", 7).await
            })
        });
        let mut segments = Vec::new();
        for start in starts.collect::<Vec<_>>() {
            segments.push(start.await.unwrap());
        }
        segments
    });
    check_disjoint(segments);
}

/// Guards that the file is flushed at every commit and says so.
#[tokio::test]
async fn a_file_is_durable_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let report = open_at(&url_in(&folder)).await.inspect().await.unwrap();
    assert!(report.product.starts_with("SQLite 3."), "{report:?}");
    let settings: Vec<&str> = report
        .weaknesses
        .iter()
        .map(|weak| weak.setting.as_str())
        .collect();
    assert!(!settings.contains(&"synchronous"), "{report:?}");
    assert!(!settings.contains(&"journal_mode"), "{report:?}");
}

/// Guards that the error of an invalid row names its tag and column, that other tags work, and that
/// the row can be corrected.
#[tokio::test]
async fn a_bad_row_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_at(&url_in(&folder)).await;
    for name in ["good", "low", "negative"] {
        create(&*store, name).await;
    }
    let spoil = "UPDATE leaf_alloc SET step = 0 WHERE biz_tag = 'low'; \
        UPDATE leaf_alloc SET max_id = -5 WHERE biz_tag = 'negative'";
    sql_at(&url_in(&folder), spoil.into()).await;

    let bad = store.read(&[tag("low")]).await.unwrap_err();
    assert!(matches!(bad, StoreError::BadRow { .. }), "{bad:?}");
    assert_eq!(
        bad.to_string(),
        "the row of tag \"low\" has step 0: it must be 1 to 2147483647"
    );
    let bad = store.reserve(&wish("negative", 1)).await.unwrap_err();
    assert_eq!(
        bad.to_string(),
        "the row of tag \"negative\" has max_id -5: it must be 0 or more"
    );
    let read = store
        .read(&[tag("good"), tag("low"), tag("negative")])
        .await
        .unwrap();
    assert_eq!(read.len(), 1);

    let patch = TagPatch {
        step: Some(9),
        ..Default::default()
    };
    assert_eq!(
        store
            .update(&tag("low"), &patch)
            .await
            .unwrap()
            .settings
            .step,
        9
    );
}

/// Guards that a path where no file can be created is reported at once, with the reason.
#[tokio::test]
async fn a_file_that_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    std::fs::write(&path, "x".repeat(5000)).unwrap();
    let open = async |url: String| {
        let opened = leafid_stores::open(&url_of(&url), &StoreOptions::default()).await;
        chain(&opened.err().unwrap())
    };
    let text = open(format!("sqlite:{}", path.display())).await;
    assert!(text.contains("the file is not a SQLite database"), "{text}");
    let text = open(format!("sqlite:{}/x/leafid.db", path.display())).await;
    assert!(text.contains("cannot make the folder"), "{text}");
}

/// Guards that a mark of which no record can be read does not count as a missing one: an older copy
/// of the database would go unnoticed.
#[tokio::test]
async fn a_damaged_mark_is_refused_until_it_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let url = url_of(&url_in(&folder));
    let options = StoreOptions::default();
    init(&url, &options).await.unwrap();
    let mark = folder.path().join("deep/leafid.db-mark");
    let bytes = std::fs::read(&mark).unwrap();
    let damaged: Vec<u8> = bytes.iter().map(|byte| byte ^ 0x11).collect();
    std::fs::write(&mark, damaged).unwrap();
    let error = leafid_stores::open(&url, &options).await.err().unwrap();
    assert!(!error.may_recover(), "{error:?}");
    let text = chain(&error);
    for part in [
        &*mark.display().to_string(),
        "neither of its two records",
        "delete this file",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // One that is empty was never written.
    for content in [None, Some("")] {
        std::fs::remove_file(&mark).unwrap();
        if let Some(content) = content {
            std::fs::write(&mark, content).unwrap();
        }
        leafid_stores::open(&url, &options).await.unwrap();
    }
}

/// Guards that `init` reports what it did.
#[tokio::test]
async fn init_reports_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let url = url_of(&url_in(&folder));
    let first = init(&url, &StoreOptions::default()).await.unwrap();
    assert_eq!(
        first.to_string(),
        "created leaf_alloc, leafid_tag, leafid_worker, leafid_pool, leafid_audit"
    );
    let second = init(&url, &StoreOptions::default()).await.unwrap();
    assert_eq!(
        second.to_string(),
        "found leaf_alloc, leafid_tag, leafid_worker, leafid_pool, leafid_audit"
    );
}

/// Guards that what Leaf's columns cannot hold is refused alike in every store.
#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_at(&url_in(&folder)).await;
    let mut steep = TagSpec::new(tag("order"));
    steep.settings.step = 0;
    let wordy = TagSpec {
        description: Some("é".repeat(257)),
        ..TagSpec::new(tag("order"))
    };
    for spec in [steep, wordy] {
        let error = store.create(&spec).await.unwrap_err();
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
    }
    let formatted = TagSpec {
        format: Some("é".repeat(501).into()),
        ..TagSpec::new(tag("order"))
    };
    let error = store.create(&formatted).await.unwrap_err();
    assert!(matches!(error, StoreError::BadField(_)), "{error:?}");
    create(&*store, "order").await;
    let patch = TagPatch {
        step: Some(u32::MAX),
        ..TagPatch::default()
    };
    let error = store.update(&tag("order"), &patch).await.unwrap_err();
    assert_eq!(error.to_string(), "a step is a number from 1 to 2147483647");
}

/// Guards that a tag which was deleted, and whose row an operator created again, continues above
/// its former ids, even for a caller that had seen fewer of them.
#[tokio::test]
async fn a_row_created_again_by_hand_continues_above_its_former_ids() {
    let folder = tempfile::tempdir().unwrap();
    let url = url_in(&folder);
    let (store, other) = (open_at(&url).await, open_at(&url).await);
    create(&*store, "order").await;
    let mut segments = vec![take(&*store, "order", 10).await];
    segments.push(take(&*other, "order", 5000).await);
    store.delete(&tag("order")).await.unwrap();
    let insert = "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 1, 10)";
    sql_at(&url, insert.into()).await;
    let behind = Reserve {
        floor: Some(11),
        margin: 100,
        ..wish("order", 10)
    };
    let reserved = store.reserve(&behind).await.unwrap();
    assert_eq!(reserved.previous, 5011, "nothing was lost");
    segments.push(reserved.segment);
    segments.push(take(&*other, "order", 10).await);
    check_disjoint(segments);
}

/// Guards that a restore knows the formats, and the kind, that tags got after the copy was made, so
/// that none of their ids repeats; the replaced file may be too old to have formats.
#[tokio::test]
async fn a_restore_keeps_formats_that_are_newer_than_the_copy() {
    for is_older in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (url, options) = (url_of(&url_in(&folder)), StoreOptions::default());
        let copy = folder.path().join("copy.db");
        let store = open_at(&url_in(&folder)).await;
        store
            .create(&formatted("copied", "A{number}"))
            .await
            .unwrap();
        create(&*store, "turned").await;
        let mut swapped = formatted("swapped", "S{number}");
        store.create(&swapped).await.unwrap();
        backup(&url, &copy, &options).await.unwrap();
        store
            .create(&formatted("later", "L{number}"))
            .await
            .unwrap();
        store.delete(&tag("turned")).await.unwrap();
        let mut turned = formatted("turned", "u_{id}");
        turned.settings.kind = TagKind::Family(Family::Uuid7);
        store.create(&turned).await.unwrap();
        store.delete(&tag("swapped")).await.unwrap();
        swapped.settings.kind = TagKind::Snowflake;
        store.create(&swapped).await.unwrap();
        drop(store);
        if is_older {
            let older = "ALTER TABLE leafid_tag DROP COLUMN format";
            sql_at(&url_in(&folder), older.into()).await;
        }

        let how = RestoreOptions::default();
        let report = restore(&url, &copy, &how, &options).await.unwrap();
        assert_ne!(report.knowledge, Knowledge::Nothing, "{report:?}");
        let kinds = rusqlite::Connection::open(url.file().unwrap()).unwrap();
        let kind = "SELECT kind FROM leafid_tag WHERE tag = 'swapped'";
        let kind: String = kinds.query_row(kind, [], |row| row.get(0)).unwrap();
        assert_eq!(kind, "snowflake+text");
        let store = open_at(&url_in(&folder)).await;
        let read = store.read(&[tag("copied")]).await.unwrap().remove(0);
        assert_eq!(read.format.as_deref(), Some("A{number}"));
        let read = store.read(&[tag("turned")]).await.unwrap().remove(0);
        assert_eq!(read.settings.kind, turned.settings.kind);
        if is_older {
            continue;
        }
        assert_eq!(read.format, turned.format);
        let refused = store.create(&TagSpec::new(tag("later"))).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a deleted tag of this name had the format \"L{number}\", and its ids could repeat: \
            choose another name, or create it with that format"
        );
        store
            .create(&formatted("later", "L{number}"))
            .await
            .unwrap();
    }
}

/// Guards that a restore which knows nothing of the replaced file spends the numbers of all periods,
/// which a server whose clock was ahead may have begun; and, where that is ruled out, only of those
/// that begin soon.
#[tokio::test]
async fn a_restore_spends_all_periods_or_those_that_begin_soon() {
    let folder = tempfile::tempdir().unwrap();
    let (url, options) = (url_of(&url_in(&folder)), StoreOptions::default());
    let copy = folder.path().join("copy.db");
    let store = open_at(&url_in(&folder)).await;
    let counter = formatted("invoice", "{date %Y}-{number width=5 restart=year}");
    let counter = store.create(&counter).await.unwrap();
    backup(&url, &copy, &options).await.unwrap();
    drop(store);
    std::fs::remove_file(url.file().unwrap()).unwrap();
    let report = restore(&url, &copy, &RestoreOptions::default(), &options).await;
    let report = report.unwrap();
    assert_eq!(report.knowledge, Knowledge::Nothing);
    assert_eq!(report.raised_counters, ["invoice"]);
    let store = open_at(&url_in(&folder)).await;
    let later = counter.period(2999).unwrap();
    assert_eq!(store.create(&later).await.unwrap().max_id, 100_000_001);
    drop(store);
    // The file of the earlier restore is known, and what it buried can be spared.
    let how = RestoreOptions::default().with_spares_later_periods(true);
    restore(&url, &copy, &how, &options).await.unwrap();
    let store = open_at(&url_in(&folder)).await;
    let later = counter.period(2998).unwrap();
    assert_eq!(store.create(&later).await.unwrap().max_id, 1);
    drop(store);
    // The write-ahead log stays, and is none of the restored file's.
    std::fs::remove_file(url.file().unwrap()).unwrap();
    let how = RestoreOptions::default().with_spares_later_periods(true);
    let report = restore(&url, &copy, &how, &options).await.unwrap();
    assert!(report.raised_counters.is_empty());
    let store = open_at(&url_in(&folder)).await;
    for label in [2999, 299_912, 29_991_231, 2_999_123_123] {
        let period = counter.period(label).unwrap();
        assert_eq!(store.create(&period).await.unwrap().max_id, 1, "{label}");
    }
    // A copy of that store does not spare them again.
    let later_copy = folder.path().join("later.db");
    backup(&url, &later_copy, &options).await.unwrap();
    let other = leafid_stores::StoreUrl::sqlite(folder.path().join("other.db"));
    let how = RestoreOptions::default();
    restore(&other, &later_copy, &how, &options).await.unwrap();
    let other = open_at(&other.to_string()).await;
    let later = counter.period(2998).unwrap();
    assert_eq!(other.create(&later).await.unwrap().max_id, 200_000_001);
    // Of the past, of no calendar that is known, and one that somebody may have created by hand.
    let by_hand = TagSpec::new(tag("other@29991231"));
    let labels = [2026, 202_601, 20_260_101, 2_026_010_100, 5, 29_991];
    let specs = labels.map(|label| counter.period(label).unwrap());
    for spec in specs.into_iter().chain([by_hand]) {
        let created = store.create(&spec).await.unwrap();
        assert_eq!(created.max_id, 100_000_001, "{}", spec.tag);
    }
}

fn formatted(name: &str, format: &str) -> TagSpec {
    TagSpec {
        format: Some(format.into()),
        ..TagSpec::new(tag(name))
    }
}
