//! One `[[quota]]` of an access file: a tag or the server, and a number.

use leafid::Tag;
use toml::de::DeTable;

use super::quota::QuotaScope;
use super::reader::Reader;

const KEYS: [&str; 3] = ["tag", "server", "ids_per_second"];
const WANTED: &str = "set either tag = \"NAME\" or server = true";

pub(super) fn quota(
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    start: usize,
) -> Option<(QuotaScope, u64)> {
    reader.check_keys(table, &KEYS);
    let scope = scope(reader, table, start);
    if !table.contains_key("ids_per_second") {
        let message = "a quota has no ids_per_second: set a number, 0 to block all ids";
        reader.mistake(start, message);
    }
    let per_second = reader.ids_per_second(table);
    Some((scope?, per_second?))
}

fn scope(reader: &mut Reader<'_>, table: &DeTable<'_>, start: usize) -> Option<QuotaScope> {
    let (has_tag, has_server) = (table.contains_key("tag"), table.contains_key("server"));
    let is_server = reader.switch(table, "server");
    match (has_tag, is_server) {
        (true, None) => reader.value(table, "tag", |value| {
            Tag::new(value.as_str().unwrap_or_default()).map(QuotaScope::Tag)
        }),
        (false, Some(true)) => Some(QuotaScope::Server),
        (true, Some(_)) => {
            let message = format!("a quota names both a tag and the server: {WANTED}");
            reader.mistake(start, message);
            None
        }
        // A `server` that is neither true nor false is a mistake already.
        (false, None) if has_server => None,
        (false, _) => {
            reader.mistake(
                start,
                format!("a quota names neither a tag nor the server: {WANTED}"),
            );
            None
        }
    }
}
