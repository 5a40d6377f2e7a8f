//! What is refused: rows at their end, bad rows, and what the table has no place for.

use std::sync::{Arc, Mutex};

use leafid::format::{FormatCompiler, IdFormat};
use leafid::store::{StoreError, TagKind, TagPatch, TagSpec};
use leafid::{Formatted, Generators, Limit, Options, StepPolicy};
use leafid_formats::Formats;
use leafid_stores::{OnBadRow, StoreOptions};
use leafid_testbed::shared_mariadb;

use super::{GEAR_SQL, SHIPPED, next, record, with};
use crate::{allowing_weak, open_at, open_with, tag, take, wish};

/// Guards that a row never starts again at 1, as ns4_gear_idgen does.
#[tokio::test]
async fn a_row_ends_at_the_limit() {
    let database = with(shared_mariadb(), &[GEAR_SQL, SHIPPED]);
    let store = open_at(&database.url).await;
    let sql = |statement: &str| shared_mariadb().sql(&database.name, statement);
    let last = Limit::INT64.largest();
    sql(&format!(
        "UPDATE gear_key SET key_value = {last} - 10, key_cache = 1000"
    ));
    let refused = store.reserve(&wish("TEST-KEY", 11)).await.unwrap_err();
    assert!(matches!(refused, StoreError::LimitReached { max_id } if max_id == last - 9));
    assert_eq!(take(&*store, "TEST-KEY", 10).await.end(), last + 1);
    for value in [
        "9223372036854775806",
        "9223372036854775807",
        "99999999999999999999999999999999999999999999999999",
    ] {
        sql(&format!("UPDATE gear_key SET key_value = {value}"));
        let refused = store.reserve(&wish("TEST-KEY", 1)).await.unwrap_err();
        assert!(
            matches!(refused, StoreError::LimitReached { .. }),
            "{refused:?}"
        );
        assert_eq!(record(&*store, "TEST-KEY").await.max_id, last + 1);
        let kept = sql("SELECT key_value FROM gear_key WHERE key_name = 'TEST-KEY'");
        assert_eq!(kept, value);
    }
}

/// Guards that a row which no program can use is named, and spoils no other.
#[tokio::test]
async fn a_bad_row_is_named() {
    let database = with(shared_mariadb(), &[GEAR_SQL, SHIPPED]);
    let store = open_at(&database.url).await;
    let spoil = "UPDATE gear_key SET key_value = NULL WHERE key_name = 'TEST-KEY'; \
        UPDATE gear_key SET key_cache = 0 WHERE key_name = 'TEST-KEY4'; \
        INSERT INTO gear_key (key_value) VALUES (7)";
    shared_mariadb().sql(&database.name, spoil);
    let error = store.reserve(&wish("TEST-KEY", 1)).await.unwrap_err();
    let text = "the row of tag \"TEST-KEY\" has key_value null: it must be 0 or more";
    assert_eq!(error.to_string(), text);
    let error = store.read(&[tag("TEST-KEY4")]).await.unwrap_err();
    let text = "the row of tag \"TEST-KEY4\" has key_cache 0: it must be 1 to 2147483647";
    assert_eq!(error.to_string(), text);
    let tags = ["TEST-KEY", "TEST-KEY4", "TEST-KEY7"].map(tag);
    assert_eq!(store.read(&tags).await.unwrap().len(), 1);
}

/// Guards that a list has all rows but those that no program can use, in full pages, and that those
/// are named once.
#[tokio::test]
async fn a_list_leaves_bad_rows_out() {
    static NAMED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let on_bad_row = OnBadRow(|error| NAMED.lock().unwrap().push(error.to_string()));
    let database = with(shared_mariadb(), &[GEAR_SQL, SHIPPED]);
    let options = StoreOptions::default().with_on_bad_row(on_bad_row);
    let store = open_with(&database.url, options).await;
    let spoil = "UPDATE gear_key SET key_value = NULL WHERE key_name = 'TEST-KEY'; \
        UPDATE gear_key SET key_cache = 0 WHERE key_name = 'TEST-KEY7'";
    shared_mariadb().sql(&database.name, spoil);
    for _ in 0..2 {
        let names = store.list(None, 2).await.unwrap();
        let names: Vec<&str> = names.iter().map(|row| row.tag.as_str()).collect();
        assert_eq!(names, ["TEST-KEY4", "TEST-KEY8"]);
    }
    let named = NAMED.lock().unwrap();
    assert_eq!(named.len(), 2, "{named:?}");
    assert!(
        named[0].contains("\"TEST-KEY\" has key_value null"),
        "{named:?}"
    );
}

/// Guards that a table in which a name may stand twice is refused with the statement that ends
/// this, which leaves the primary key of its programs.
#[tokio::test]
async fn a_table_without_its_unique_key_is_refused() {
    let drop = "ALTER TABLE gear_key DROP KEY key_name_unique";
    let database = with(shared_mariadb(), &[GEAR_SQL, SHIPPED, drop]);
    let store = open_at(&database.url).await;
    let error = store.reserve(&wish("TEST-KEY", 1)).await.unwrap_err();
    assert!(error.weak_store().is_some(), "{error:?}");
    let mend = "ALTER TABLE gear_key ADD UNIQUE KEY key_name_unique (key_name)";
    assert!(error.to_string().contains(mend), "{error}");
    shared_mariadb().sql(&database.name, mend);
    let store = open_at(&database.url).await;
    assert_eq!(take(&*store, "TEST-KEY", 1).await.start(), 520_217);
}

/// Guards that a trigger which changes what is written issues no number twice.
#[tokio::test]
async fn a_trigger_that_clamps_is_noticed() {
    let clamp = "CREATE TRIGGER clamp BEFORE UPDATE ON gear_key FOR EACH ROW \
        SET NEW.key_value = LEAST(NEW.key_value, 520220)";
    let database = with(shared_mariadb(), &[GEAR_SQL, SHIPPED, clamp]);
    let refused = open_at(&database.url).await;
    let error = refused.reserve(&wish("TEST-KEY", 1)).await.unwrap_err();
    assert!(error.weak_store().is_some(), "{error:?}");
    let store = open_with(&database.url, allowing_weak()).await;
    let error = store.reserve(&wish("TEST-KEY", 10)).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("has key_value 520220 after 520226"), "{text}");
    assert!(text.contains("[520217, 520227) is lost"), "{text}");
}

/// Guards that what the table has no place for is refused, and changes nothing.
#[tokio::test]
async fn what_has_no_place_is_refused() {
    let database = with(shared_mariadb(), &[GEAR_SQL, SHIPPED]);
    let store = open_at(&database.url).await;
    let name = tag("TEST-KEY");
    let before = record(&*store, "TEST-KEY").await;
    let is_refused = |refused: Result<(), StoreError>, part: &str| {
        let error = refused.unwrap_err();
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
        assert!(error.to_string().contains(part), "{error}");
    };
    is_refused(store.delete(&name).await, "expect every row to stay");
    let patch = TagPatch {
        limit: Some(Limit::JS53),
        ..TagPatch::default()
    };
    let updated = store.update(&name, &patch).await.map(drop);
    is_refused(updated, "no place for a policy, a limit or a description");
    let spec = |change: fn(&mut TagSpec)| {
        let mut spec = TagSpec::new(tag("new"));
        change(&mut spec);
        spec
    };
    for (spec, part) in [
        (
            spec(|spec| spec.settings.kind = TagKind::Snowflake),
            "any kind but segment",
        ),
        (
            spec(|spec| spec.description = Some("x".into())),
            "a description",
        ),
        (
            spec(|spec| spec.settings.limit = Limit::JS53),
            "no place for a policy, a limit",
        ),
        (
            spec(|spec| spec.tag = tag(&"x".repeat(51))),
            "more than 50 characters",
        ),
        (
            spec(|spec| spec.format = Some("{number}".into())),
            "{zone Asia/Shanghai}TS${date6}{number total=16}",
        ),
        (
            spec(|spec| {
                let prefix = "x".repeat(21);
                let format = format!("{{zone Asia/Shanghai}}{prefix}{{number total=40}}");
                spec.format = Some(format.into());
            }),
            "more than 20 characters",
        ),
        (
            spec(|spec| spec.tag = tag("\u{1F600}")),
            "cannot hold its name",
        ),
        (
            spec(|spec| spec.tag = tag("test-KEY")),
            "considers it equal to an existing name",
        ),
    ] {
        is_refused(store.create(&spec).await.map(drop), part);
    }
    assert_eq!(record(&*store, "TEST-KEY").await, before);
    assert_eq!(store.list(None, 100).await.unwrap().len(), 5);
}

/// Guards that a batch for which a row has no room takes no number, and that what is left goes to
/// smaller ones.
#[tokio::test]
async fn a_batch_beyond_the_room_takes_nothing() {
    let insert = "INSERT INTO gear_key (key_name, key_value, key_length, key_cache, key_prefix) \
        VALUES ('order', 990, 5, 4, 'TS')";
    let database = with(shared_mariadb(), &[GEAR_SQL, insert]);
    let value = || shared_mariadb().sql(&database.name, "SELECT key_value FROM gear_key");
    let store = open_at(&database.url).await;
    let options = Options::default()
        .with_policy(StepPolicy::Fixed)
        .with_formats(Some(FormatCompiler::new(Formats::new())));
    let (generators, driver) = Generators::open(Arc::clone(&store), options);
    let driver = tokio::spawn(driver);
    let all = |_: &dyn IdFormat| Ok(());
    for count in [10, 1000] {
        let refused = generators.next_many_formatted("order", count, all).await;
        assert!(refused.is_err_and(|error| error.is_exhausted()), "{count}");
    }
    assert!(["990", "994", "998", "999"].contains(&&*value()));
    let taken = generators.next_many_formatted("order", 9, all).await;
    let Ok(Formatted::Numbers { ids, .. }) = taken else {
        panic!("{taken:?}")
    };
    let ids: Vec<u64> = ids.ids().map(leafid::Id::get).collect();
    assert_eq!(ids, (991..=999).collect::<Vec<_>>());
    let none = generators.next("order").await.unwrap_err();
    assert!(none.is_exhausted(), "{none}");
    generators.stop();
    driver.await.unwrap();
    assert_eq!(value(), "999");
    // Programs that take plain numbers went on; so do those here.
    shared_mariadb().sql(&database.name, "UPDATE gear_key SET key_value = 1003");
    assert_eq!(record(&*store, "order").await.settings.limit, Limit::INT64);
    assert_eq!(take(&*store, "order", 2).await.start(), 1004);
}

/// Guards that a row whose format is changed by hand gives no texts, to no server, until an
/// operator says that none can repeat.
#[tokio::test]
async fn a_changed_format_is_refused_until_it_is_confirmed() {
    let database = with(shared_mariadb(), &[GEAR_SQL, SHIPPED]);
    let sql = |statement: &str| {
        let statement = format!("{statement} WHERE key_name = 'TEST-KEY9'");
        shared_mariadb().sql(&database.name, &statement)
    };
    let first = open_at(&database.url).await;
    assert_eq!(next(&*first, "TEST-KEY9").await, "TS19101100181687");
    for change in [
        "key_digit = '36'",
        "key_prefix = 'T${date6}'",
        "key_suffix = 'S'",
        "key_length = 20",
        "key_length = NULL",
    ] {
        let columns = "key_digit = '10', key_prefix = 'TS${date6}', key_suffix = NULL";
        sql(&format!("UPDATE gear_key SET {change}"));
        for store in [&first, &open_at(&database.url).await] {
            let refused = store.reserve(&wish("TEST-KEY9", 1)).await.unwrap_err();
            assert!(matches!(refused, StoreError::BadRow { .. }), "{refused:?}");
            assert!(refused.to_string().contains("set updator to NULL"));
            let refused = store.read(&[tag("TEST-KEY9")]).await.unwrap_err();
            assert!(matches!(refused, StoreError::BadRow { .. }), "{refused:?}");
            assert_eq!(store.list(None, 10).await.unwrap().len(), 4);
        }
        sql(&format!("UPDATE gear_key SET {columns}, key_length = 16"));
        take(&*first, "TEST-KEY9", 1).await;
    }
    sql("UPDATE gear_key SET key_length = 20, updator = NULL");
    assert_eq!(next(&*first, "TEST-KEY9").await, "TS191011000000181693");
    sql("UPDATE gear_key SET key_length = 16");
    assert!(first.reserve(&wish("TEST-KEY9", 1)).await.is_err());
    // What others wrote there is theirs.
    sql("UPDATE gear_key SET updator = 'admin'");
    take(&*first, "TEST-KEY9", 1).await;
    assert_eq!(sql("SELECT updator FROM gear_key"), "admin");
}
