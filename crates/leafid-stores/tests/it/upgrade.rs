//! Our own table as an older version created it: servers use it, even beside newer ones, and
//! `leafid store init` adds what is missing, while they run.

use std::sync::Arc;

use leafid::store::{Reserve, SegmentStore, StoreError, TagPatch, TagSpec};
use leafid_stores::{StoreOptions, init};
use leafid_testbed::{shared_mariadb, shared_postgres};
use tempfile::TempDir;

use crate::{check_disjoint, create, open_at, sql_at, tag, url_of, wish};

/// What an older version does not know.
const OLDER: &str = "ALTER TABLE leafid_tag DROP COLUMN segment_max";

/// Databases as this version creates them.
async fn databases(folder: &TempDir) -> [String; 3] {
    let urls = [
        format!("sqlite:{}/leafid.db", folder.path().display()),
        shared_mariadb().create_database().url,
        shared_postgres().create_database().url,
    ];
    for url in &urls {
        init(&url_of(url), &StoreOptions::default()).await.unwrap();
    }
    urls
}

async fn segment_max(store: &dyn SegmentStore) -> Option<u64> {
    store.read(&[tag("order")]).await.unwrap()[0].segment_max
}

fn longest(count: u64) -> Reserve {
    Reserve {
        is_longest: true,
        ..wish("order", count)
    }
}

async fn take(store: &Arc<dyn SegmentStore>, count: u64) -> leafid::Segment {
    store.reserve(&longest(count)).await.unwrap().segment
}

/// Guards that the longest segment is recorded, and only if a caller said that it is the longest.
#[tokio::test]
async fn the_longest_segment_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    for url in databases(&folder).await {
        let (one, two) = (open_at(&url).await, open_at(&url).await);
        create(&*one, "order").await;
        assert_eq!(segment_max(&*one).await, None, "{url}");
        take(&one, 500).await;
        take(&two, 400).await;
        one.reserve(&wish("order", 900)).await.unwrap();
        assert_eq!(segment_max(&*two).await, Some(500), "{url}");
        take(&two, 501).await;
        let page = one.list(None, 1).await.unwrap();
        assert_eq!(page[0].segment_max, Some(501), "{url}");
        let unknown = Reserve {
            tag: tag("unknown"),
            ..longest(10)
        };
        assert!(one.reserve(&unknown).await.is_err());
        let made = one.create(&TagSpec::new(tag("unknown"))).await.unwrap();
        assert_eq!(made.segment_max, None, "{url}");
    }
}

/// Guards that an older table is used and named, and upgraded beside running servers; a session
/// that knows its former shape works beside one that knows the column.
#[tokio::test]
async fn an_older_table_is_made_whole_under_running_servers() {
    let folder = tempfile::tempdir().unwrap();
    let [_, mysql, postgres] = databases(&folder).await;
    for url in [mysql, postgres] {
        sql_at(&url, OLDER.into()).await;
        let before = open_at(&url).await;
        create(&*before, "order").await;
        let mut segments = vec![take(&before, 500).await];
        assert_eq!(segment_max(&*before).await, None);
        let report = before.inspect().await.unwrap();
        assert_eq!(report.missing, ["leafid_tag.segment_max"]);

        let added = async || {
            init(&url_of(&url), &StoreOptions::default())
                .await
                .unwrap()
                .added
        };
        assert_eq!(added().await, ["leafid_tag.segment_max"]);
        assert!(added().await.is_empty());
        segments.push(take(&before, 600).await);
        let after = open_at(&url).await;
        segments.push(take(&after, 300).await);
        assert_eq!(segment_max(&*after).await, Some(300));
        segments.push(take(&before, 700).await);
        assert_eq!(after.inspect().await.unwrap().missing, [""; 0]);

        // An operator downgrades to the older table: one call fails.
        sql_at(&url, OLDER.into()).await;
        assert!(
            after
                .reserve(&longest(800))
                .await
                .unwrap_err()
                .may_recover()
        );
        segments.push(take(&after, 800).await);
        assert_eq!(segment_max(&*after).await, None);
        check_disjoint(segments);
    }
}

/// Guards that a SQLite file is upgraded when it is opened.
#[tokio::test]
async fn an_older_file_is_made_whole_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let [url, ..] = databases(&folder).await;
    let before = open_at(&url).await;
    create(&*before, "order").await;
    sql_at(&url, OLDER.into()).await;
    let after = open_at(&url).await;
    take(&after, 300).await;
    assert_eq!(segment_max(&*after).await, Some(300));
    take(&before, 400).await;
    assert_eq!(segment_max(&*after).await, Some(400));
}

/// Guards that concurrent inits add each column once.
#[tokio::test]
async fn inits_at_once_add_a_column_once() {
    let folder = tempfile::tempdir().unwrap();
    let [_, mysql, postgres] = databases(&folder).await;
    for url in [mysql, postgres] {
        sql_at(&url, OLDER.into()).await;
        let inits = (0..8).map(|_| {
            let url = url_of(&url);
            tokio::spawn(async move { init(&url, &StoreOptions::default()).await })
        });
        for done in inits.collect::<Vec<_>>() {
            done.await.unwrap().unwrap();
        }
        let store = open_at(&url).await;
        create(&*store, "order").await;
        take(&store, 300).await;
        assert_eq!(segment_max(&*store).await, Some(300));
    }
}

/// A tag with a format.
fn formatted(name: &str) -> TagSpec {
    TagSpec {
        format: Some("A{number}".into()),
        ..TagSpec::new(tag(name))
    }
}

async fn format_of(store: &dyn SegmentStore, name: &str) -> Option<String> {
    let row = store.read(&[tag(name)]).await.unwrap().remove(0);
    row.format.map(|format| format.to_string())
}

/// Guards that a table which cannot keep a format refuses one, and that a running server sees the
/// column, and the formats in it, once it is there.
#[tokio::test]
async fn an_older_table_refuses_formats_until_it_is_made_whole() {
    let folder = tempfile::tempdir().unwrap();
    let [_, mysql, postgres] = databases(&folder).await;
    for url in [mysql, postgres] {
        sql_at(&url, "ALTER TABLE leafid_tag DROP COLUMN format".into()).await;
        let before = open_at(&url).await;
        let refused = before.create(&formatted("order")).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "cannot keep a format: leafid_tag is of an older version: call leafid_stores::init"
        );
        create(&*before, "plain").await;
        before.delete(&tag("plain")).await.unwrap();
        create(&*before, "plain").await;
        let report = before.inspect().await.unwrap();
        assert_eq!(report.missing, ["leafid_tag.format"]);

        let added = init(&url_of(&url), &StoreOptions::default()).await.unwrap();
        assert_eq!(added.added, ["leafid_tag.format"]);
        let after = open_at(&url).await;
        let longest = TagSpec {
            format: Some("\u{1F600}".repeat(500).into()),
            ..TagSpec::new(tag("longest"))
        };
        after.create(&longest).await.unwrap();
        let listed = before.list(None, 1).await.unwrap().remove(0);
        assert_eq!(listed.format, longest.format, "{url}");
        let patch = TagPatch {
            description: Some(Some("x".into())),
            ..TagPatch::default()
        };
        let changed = before.update(&tag("longest"), &patch).await.unwrap();
        assert_eq!(changed.format, longest.format, "{url}");
        before.create(&formatted("order")).await.unwrap();
        assert_eq!(
            format_of(&*after, "order").await.as_deref(),
            Some("A{number}")
        );
        assert_eq!(format_of(&*after, "plain").await, None);
    }
}

/// Guards that a format that no version writes is an error, and not plain ids, also in a list.
#[tokio::test]
async fn a_format_that_cannot_be_is_a_bad_row() {
    let folder = tempfile::tempdir().unwrap();
    for url in databases(&folder).await {
        let store = open_at(&url).await;
        store.create(&formatted("order")).await.unwrap();
        let wide = match url.split_once(':') {
            Some(("mysql", _)) => "ALTER TABLE leafid_tag MODIFY format text",
            Some(("postgres", _)) => "ALTER TABLE leafid_tag ALTER COLUMN format TYPE text",
            _ => "",
        };
        sql_at(&url, wide.into()).await;
        let wanted = "it must be 1 to 500 characters, none of them a control character";
        for (format, shown) in [
            ("a".repeat(501), "501 characters long"),
            (String::new(), "0 characters long"),
            ("a\u{7}".into(), r#""a\u{7}""#),
        ] {
            let spoil = format!("UPDATE leafid_tag SET format = '{format}'");
            sql_at(&url, spoil).await;
            let error = store.read(&[tag("order")]).await.unwrap_err();
            assert!(matches!(error, StoreError::BadRow { .. }), "{error:?}");
            let text = format!("the row of tag \"order\" has format {shown}: {wanted}");
            assert_eq!(error.to_string(), text);
            assert!(store.list(None, 10).await.is_err(), "{url}");
        }
    }
}

/// Guards that a format which the column does not keep is not taken for kept.
#[tokio::test]
async fn a_column_that_alters_formats_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let [sqlite, ..] = databases(&folder).await;
    let store = open_at(&sqlite).await;
    let trigger = "CREATE TRIGGER upper AFTER UPDATE ON leafid_tag WHEN NEW.format IS NOT NULL \
        BEGIN UPDATE leafid_tag SET format = lower(format) WHERE tag = NEW.tag; END";
    sql_at(&sqlite, trigger.into()).await;
    let refused = store.create(&formatted("order")).await.unwrap_err();
    assert!(matches!(refused, StoreError::BadRow { .. }), "{refused:?}");
    assert!(
        refused
            .to_string()
            .contains("does not have the format that was written")
    );
    assert!(store.read(&[tag("order")]).await.unwrap().is_empty());
}
