//! Compares what two versions wrote: whatever a line of the release says must also be said now.
//! Numbers and names that are drawn at random are not compared.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// Checks that each line of `then` has a line in the same text of `now` that says the same, and
/// perhaps more: an `INSERT` may have more columns, a line of JSON more fields.
pub(super) fn check_all_there(then: &[String], now: &[String], release: &Path) {
    for (then, now) in then.iter().zip(now) {
        let now: Vec<_> = now.lines().map(cells).collect();
        let is_gone = |line: &&str| !now.iter().any(|other| other.is_superset(&cells(line)));
        let gone: Vec<&str> = then.lines().filter(is_gone).collect();
        let release = release.display();
        assert!(
            gone.is_empty(),
            "written by {release}, and not now: {gone:#?}"
        );
    }
}

/// What a line says, as parts that stand for themselves.
fn cells(line: &str) -> BTreeSet<String> {
    let line = line.trim().trim_end_matches(',');
    if let Some((table, columns, values)) = insert(line) {
        let columns = columns.split(", ").zip(values.split(", "));
        let cells = columns.map(|(column, value)| format!("{table}.{column}={}", plain(value)));
        return cells.collect();
    }
    if let Ok(words) = serde_json::from_str::<Vec<String>>(line) {
        return words.iter().flat_map(|word| word_cells(word)).collect();
    }
    BTreeSet::from([plain(line)])
}

/// Table, columns and values.
fn insert(line: &str) -> Option<(&str, &str, &str)> {
    let (table, rest) = line.strip_prefix("INSERT INTO ")?.split_once(" (")?;
    let (columns, values) = rest.split_once(") VALUES (")?;
    Some((table, columns, values.strip_suffix(");")?))
}

/// A word, or if it is an object of JSON, its fields.
fn word_cells(word: &str) -> Vec<String> {
    match serde_json::from_str(word) {
        Ok(Value::Object(fields)) => {
            let fields = fields.iter();
            fields
                .map(|(name, value)| plain(&format!("{name}={value}")))
                .collect()
        }
        _ => vec![plain(word)],
    }
}

/// Without numbers: each run of hexadecimal digits that has a decimal one is `#`.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut run = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_hexdigit() {
            run.push(c);
            continue;
        }
        match run.contains(|c: char| c.is_ascii_digit()) || run.len() >= 8 {
            true => plain.push('#'),
            false => plain.push_str(&run),
        }
        run.clear();
        plain.push(c);
    }
    plain.trim_end().to_owned()
}

#[test]
fn what_is_gone_is_noticed() {
    let check = |then: &str, now: &str| {
        let texts = [then, now].map(|text| [text.to_owned()]);
        let check = || check_all_there(&texts[0], &texts[1], Path::new("0.1.0"));
        std::panic::catch_unwind(check).is_ok()
    };
    assert!(check("a 17\nb", "b\na 18\nc"));
    assert!(!check("a 17\nb", "a 17"));
    let row = |columns: &str, values: &str| format!("INSERT INTO t ({columns}) VALUES ({values});");
    assert!(check(
        &row("a, b", "'x', 1"),
        &row("a, c, b", "'x', NULL, 2")
    ));
    assert!(!check(&row("a, b", "'x', 1"), &row("a, b", "'y', 1")));
    assert!(!check(&row("a, b", "'x', 1"), &row("a", "'x'")));
    let keys = [
        r#"["/k/1","{\"until_ms\":5}"]"#,
        r#"["/k/2","{\"new\":1,\"until_ms\":6}"]"#,
    ];
    assert!(check(keys[0], keys[1]));
    assert!(!check(keys[1], keys[0]));
}
